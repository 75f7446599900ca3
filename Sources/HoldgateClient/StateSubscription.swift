import Platform
import Wire
import ZeroMQ

/// Every change of the gate's state, once each and in order, as it happens.
///
/// ```swift
/// let subscription = try StateSubscription()
/// for await change in subscription.changes { print(change.state) }
/// ```
///
/// The stream may lose messages: while the host or the network is away, or where the subscriber is slow. Gaps
/// are noticed by the numbers and by heartbeats, and filled from the history over `control`.
public final class StateSubscription: Sendable {
    private let endpoints: Endpoints
    private let credentials: Credentials?
    private let after: StateChange.Place?
    private let context: Context
    private let wake: EventFD
    private let isStopped = Locked(false)
    /// For one page of the history.
    private static let pageTimeoutMs: Int64 = 2000

    /// - Parameters:
    ///   - endpoints: `stream`, and `control` for catching up.
    ///   - after: the last change that is known from before, as a logger has it in its file; nil: the present
    ///     state comes first.
    /// - Throws: `invalidArgument` for an address of `stream` that is none.
    public init(
        endpoints: Endpoints = Endpoints(), after: StateChange.Place? = nil, credentials: Credentials? = nil
    ) throws(HoldgateError) {
        self.endpoints = endpoints
        self.credentials = try credentials.orOfProcess()
        self.after = after
        context = try ClientContext.get()
        // An address that is none is said here: the sequence of changes could only end.
        do {
            let attempt = try Socket(.sub, in: context, .linger(ms: 0))
            try attempt.connect(endpoints.stream)
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
        do {
            wake = try EventFD()
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    /// Makes `run` return. Any thread.
    public func stop() {
        isStopped.withLock { $0 = true }
        wake.signal()
    }

    /// Hands changes to `handler` until stopped; blocks the calling thread, on which `handler` runs.
    public func run(_ handler: (StateChange) throws -> Void) throws {
        let socket = try Self.open(context, endpoints.stream, credentials)
        var follower = StateFollower(after: after)
        var walk = HistoryWalk()
        var frame = Frame()
        let parser = JSONParser()
        var polls = PollSet()
        polls.add(fileDescriptor: wake.fileDescriptor)
        polls.add(socket: socket)
        while !isStopped.withLock({ $0 }) {
            _ = try polls.wait(timeoutMs: -1)
            wake.drain()
            while let message = try Self.message(socket, &frame), !isStopped.withLock({ $0 }) {
                switch step(message, &follower, parser) {
                case .none: break
                case .yield(let change): try handler(change)
                case .catchUp(let change):
                    let recovered = follower.last.flatMap { recover(&walk, after: $0) }
                    for each in follower.caughtUp(recovered, change) { try handler(each) }
                }
            }
        }
    }

    /// The changes as an asynchronous sequence; it ends with `stop`. Take it once.
    public var changes: AsyncStream<StateChange> {
        AsyncStream { continuation in
            continuation.onTermination = { _ in self.stop() }
            let spawned = try? Thread.spawn(name: "holdgate-states") {
                try? self.run { continuation.yield($0) }
                continuation.finish()
            }
            if spawned == nil { continuation.finish() }
        }
    }

    private static func open(
        _ context: Context, _ endpoint: String, _ credentials: Credentials?
    ) throws(HoldgateError) -> Socket {
        do {
            let socket = try Socket(
                .sub, in: context, .linger(ms: 0), .heartbeatInterval(ms: 1000), .heartbeatTimeout(ms: 5000))
            try socket.subscribe(to: "state")
            try socket.subscribe(to: "heartbeat")
            try socket.connect(endpoint, credentials)
            return socket
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
    }

    /// The next whole message; messages of another shape are passed over.
    private static func message(
        _ socket: borrowing Socket, _ frame: inout Frame
    ) throws -> (topic: String, header: [UInt8], body: [UInt8])? {
        while try socket.receive(into: &frame) {
            var frames = [[UInt8](copying: frame)]
            while frame.more, try socket.receive(into: &frame) { frames.append([UInt8](copying: frame)) }
            guard frames.count == 3 else { continue }
            return (String(decoding: frames[0], as: UTF8.self), frames[1], frames[2])
        }
        return nil
    }

    private func step(
        _ message: (topic: String, header: [UInt8], body: [UInt8]), _ follower: inout StateFollower,
        _ parser: JSONParser
    ) -> StateFollower.Step {
        let header = message.header.withUnsafeBytes { try? StreamHeader.parse($0, with: parser) }
        guard let header else { return .none }
        return message.body.withUnsafeBytes { bytes in
            // Subscriptions are prefixes: `state` alone is the topic.
            if message.topic == "state", let body = try? StateBody.parse(bytes, with: parser) {
                return follower.heard(StateChange(header, body))
            }
            if message.topic == "heartbeat", let body = try? HeartbeatBody.parse(bytes, with: parser) {
                return follower.heard(heartbeatOf: header.launch, stateHead: body.stateHead)
            }
            return .none
        }
    }

    private func recover(_ walk: inout HistoryWalk, after place: StateChange.Place) -> [StateChange]? {
        let connection = ControlConnection(endpoint: endpoints.control, credentials: credentials)
        let changes = try? walk.transitions(after: place) { after, limit throws(HoldgateError) in
            let request = ControlRequest(.history(after: after, limit: limit))
            return try HistoryRecord.records(
                of: connection.exchange(request, timeoutMs: Self.pageTimeoutMs, cancel: wake))
        }
        return changes ?? nil
    }
}
