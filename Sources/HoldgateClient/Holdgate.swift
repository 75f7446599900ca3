import Platform
import Wire

/// Commands to a host.
///
/// ```swift
/// let holdgate = Holdgate(source: "consent-service")
/// try await holdgate.holdOperation(wait: .seconds(30), gatedEvents: .discard, reason: "TICKET-123")
/// print(try await holdgate.state().status.state)      // onHold
/// ```
///
/// Every call ends within its time, whatever the host does, and is repeated safely while no reply comes (see
/// `ControlConnection`). The asynchronous methods run on a thread of their own; `performBlocking` on the
/// caller's. All throw `HoldgateError`: the host's refusal, or `noAnswer`.
public struct Holdgate: Sendable {
    public var connection: ControlConnection
    /// The host's `stream`, for `stateChanges`.
    public var stream = Endpoints().stream
    /// How long a call waits for its reply, all attempts together.
    public var timeout: Duration
    /// Who asks, for the history: a role or a service, not a person.
    public var source: String?

    /// - Parameters:
    ///   - endpoint: the host's `control`.
    ///   - credentials: nil: those of the environment, if there are any.
    ///   - timeout: without the time that a `holdOperation(wait:)` waits on top.
    public init(
        endpoint: String = Endpoints().control, timeout: Duration = .seconds(5), source: String? = nil,
        credentials: Credentials? = nil
    ) {
        connection = ControlConnection(endpoint: endpoint, credentials: credentials)
        self.timeout = timeout
        self.source = source
    }

    public init(
        endpoints: Endpoints, timeout: Duration = .seconds(5), source: String? = nil,
        credentials: Credentials? = nil
    ) {
        self.init(
            endpoint: endpoints.control, timeout: timeout, source: source, credentials: credentials)
        stream = endpoints.stream
    }

    /// Performs a command on the calling thread, which waits.
    public func performBlocking<Result>(
        _ command: Command<Result>, cancel: EventFD? = nil
    ) throws(HoldgateError) -> Result {
        var request = command.request
        if request.source == nil { request.source = source }
        // A wait that is overtaken by a crash is asked for again before it is over.
        let attemptMs = command.waitMs.map { _ in timeout.milliseconds }
        let totalMs = timeout.milliseconds + (command.waitMs ?? 0)
        let answer = try connection.exchange(
            request, timeoutMs: totalMs, attemptMs: attemptMs.map { max($0, totalMs / 7) }, cancel: cancel)
        return try command.read(answer)
    }

    /// Performs a command on a thread of its own. Cancelling the task ends the wait, not what the host does.
    public func perform<Result: Sendable>(_ command: Command<Result>) async throws(HoldgateError) -> Result {
        let cancel: EventFD
        do {
            cancel = try EventFD()
        } catch {
            throw HoldgateError(.unavailable, error.description)
        }
        return try await onThread("holdgate-call", cancel: cancel) { () throws(HoldgateError) -> Result in
            try performBlocking(command, cancel: cancel)
        }
    }

    /// Sends any request and returns the reply as it is.
    public func request(_ request: ControlRequest) async throws(HoldgateError) -> Answer {
        try await perform(Command(request) { answer in answer })
    }
}

/// Runs `body` on a thread of its own and waits for it without holding a thread of the task pool.
func onThread<Result: Sendable>(
    _ name: String, cancel: EventFD? = nil, _ body: @escaping @Sendable () throws(HoldgateError) -> Result
) async throws(HoldgateError) -> Result {
    let outcome: Swift.Result<Result, HoldgateError> = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            do {
                _ = try Thread.spawn(name: name) {
                    continuation.resume(returning: Swift.Result { () throws(HoldgateError) in try body() })
                }
            } catch {
                continuation.resume(
                    returning: .failure(HoldgateError(.unavailable, "no thread: \(error)")))
            }
        }
    } onCancel: {
        cancel?.signal()
    }
    return try outcome.get()
}

extension Duration {
    /// Whole milliseconds, rounded up.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
