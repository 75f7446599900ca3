import Platform
import Wire
import ZeroMQ

/// Requests to `control`, one at a time, each answered or given up within its time. Blocks the calling
/// thread.
///
/// A request that is safe to repeat is sent again, on a fresh socket, while no reply comes: a query, or a
/// lifecycle command under its `key`, which the host executes once. The sockets of earlier attempts stay open
/// until then: any of them may bring the reply.
public struct ControlConnection: Sendable {
    /// The host's address, `tcp://host:port` or `ipc:///path`.
    public let endpoint: String

    /// Nil: those of the environment, if there are any.
    public let credentials: Credentials?

    public init(endpoint: String, credentials: Credentials? = nil) {
        self.endpoint = endpoint
        self.credentials = credentials
    }

    /// Attempts of one exchange, the first included.
    static let attemptLimit = 8

    /// Sends `request` and waits for its reply.
    ///
    /// - Parameters:
    ///   - request: its `id` is replaced; a lifecycle command without `key` gets a random one.
    ///   - timeoutMs: for all attempts together.
    ///   - attemptMs: after so long without a reply the next attempt is made; nil: a third of the time.
    ///   - cancel: ends the wait with `cancelled` once readable.
    /// - Throws: what the host answered; `noAnswer`; `invalidReply`; `cancelled`.
    public func exchange(
        _ request: ControlRequest, timeoutMs: Int64, attemptMs: Int64? = nil, cancel: EventFD? = nil
    ) throws(HoldgateError) -> Answer {
        var request = request
        request.id = JSONValue.string(Random.name()).text
        if request.command.isLifecycle, request.key == nil { request.key = Random.name() }
        var writer = JSONWriter()
        request.write(into: &writer)
        var exchange = Exchange(
            endpoint: endpoint, credentials: try credentials.orOfProcess(), payload: writer.bytes,
            id: request.id, cancel: cancel,
            attempts: request.isRepeatable ? Self.attemptLimit : 1)
        do {
            return try exchange.run(timeoutMs: timeoutMs, attemptMs: max(attemptMs ?? timeoutMs / 3, 50))
        } catch {
            guard error.code == .noAnswer, !request.isRepeatable else { throw error }
            let message = "\(error.message); whether it was done is unknown: look before sending it again"
            throw HoldgateError(.noAnswer, message, retryable: false)
        }
    }
}

extension ControlRequest {
    /// Whether it may be sent again without knowing what became of the first: queries, and lifecycle
    /// commands, which go under a key. An app's report may not: a copy that comes late would put its phase over a
    /// newer one's. Nor may `endLaunch`, whose key is of the launch that it ends, unless it names that launch: a
    /// copy would end the next one, too.
    var isRepeatable: Bool {
        switch command {
        case .endLaunch: expect?.launch != nil
        case .startOperation, .holdOperation, .kill, .initialize, .initializeWithHoldingOperations,
            .state, .isOperating, .ping, .commands, .configuration, .history, .plugins, .deadLetters, .stats,
            .reload:
            true
        case .configure, .forget, .requeue, .request, .plugin, .appLifecycle: false
        }
    }
}

/// One request's attempts, and the wait for whichever is answered first.
private struct Exchange {
    let endpoint: String
    let credentials: Credentials?
    let payload: [UInt8]
    let id: String?
    let cancel: EventFD?
    let attempts: Int
    /// The last answer that said "outcome unknown, ask again".
    private var unsettled: HoldgateError?

    init(
        endpoint: String, credentials: Credentials?, payload: [UInt8], id: String?, cancel: EventFD?,
        attempts: Int
    ) {
        self.endpoint = endpoint
        self.credentials = credentials
        self.payload = payload
        self.id = id
        self.cancel = cancel
        self.attempts = attempts
    }

    mutating func run(timeoutMs: Int64, attemptMs: Int64) throws(HoldgateError) -> Answer {
        var sockets = AttemptSockets(context: try ClientContext.get())
        let parser = JSONParser(maxNesting: JSONParser.nestingCeiling)
        let end = Clock.monotonicMs() + timeoutMs
        var nextAttempt = Clock.monotonicMs()
        while true {
            let now = Clock.monotonicMs()
            if now >= end { throw unsettled ?? noAnswer(timeoutMs) }
            if now >= nextAttempt, sockets.count < attempts {
                try sockets.attempt(endpoint, credentials, payload)
                nextAttempt = now + attemptMs
            }
            let wake = sockets.count < attempts ? min(end, nextAttempt) : end
            if try sockets.wait(ms: wake - now, cancel) {
                throw HoldgateError(
                    .cancelled, "the call was cancelled; its outcome is unknown", retryable: true)
            }
            if let answer = try take(from: &sockets, parser) { return answer }
        }
    }

    private mutating func take(
        from sockets: inout AttemptSockets, _ parser: JSONParser
    ) throws(HoldgateError) -> Answer? {
        while let text = try sockets.receive() {
            let reply = try text.withUTF8Bytes { bytes throws(HoldgateError) in
                try DecodedReply.read(bytes, with: parser)
            }
            guard reply.id == id || reply.id == nil else { continue }
            // A host that is failing: the next one knows, by the key, what was done.
            if let error = reply.error, error.code == .internalError, attempts > 1 {
                unsettled = HoldgateError(error, state: reply.status.state, reply: text)
                continue
            }
            return try reply.get(text)
        }
        return nil
    }

    private func noAnswer(_ timeoutMs: Int64) -> HoldgateError {
        HoldgateError(
            .noAnswer,
            "no host answered at \(endpoint) within \(timeoutMs) ms"
                + Credentials.hint(endpoint, credentials),
            retryable: true)
    }
}

/// The sockets of one exchange.
private struct AttemptSockets: ~Copyable {
    private let context: Context
    private var attempts: [SocketBox] = []
    private var frame = Frame()

    init(context: Context) { self.context = context }

    var count: Int { attempts.count }

    mutating func attempt(
        _ endpoint: String, _ credentials: Credentials?, _ payload: [UInt8]
    ) throws(HoldgateError) {
        do {
            let socket = try Socket(.dealer, in: context, .linger(ms: 0), .reconnectInterval(ms: 20))
            try socket.connect(endpoint, credentials)
            // A DEALER that connects always has room for the first message.
            _ = try socket.send(payload)
            attempts.append(SocketBox(socket))
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
    }

    /// True when `cancel` became readable.
    borrowing func wait(ms: Int64, _ cancel: EventFD?) throws(HoldgateError) -> Bool {
        var polls = PollSet()
        let cancelled = cancel.map { polls.add(fileDescriptor: $0.fileDescriptor) }
        for attempt in attempts { polls.add(socket: attempt.socket) }
        do {
            _ = try polls.wait(timeoutMs: Int(clamping: max(0, min(ms, 1 << 30))))
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
        return cancelled.map { polls.isReadable($0) } ?? false
    }

    /// The first frame of the next message that waits at any of them.
    mutating func receive() throws(HoldgateError) -> String? {
        do {
            for attempt in attempts {
                guard try attempt.socket.receive(into: &frame) else { continue }
                let text = String(decoding: frame)
                while frame.more, try attempt.socket.receive(into: &frame) {}
                return text
            }
            return nil
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
    }
}

extension String {
    func withUTF8Bytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let bytes = Array(utf8)
        let result: Swift.Result<Result, Failure> = bytes.withUnsafeBytes { bytes in
            Swift.Result { () throws(Failure) in try body(bytes) }
        }
        return try result.get()
    }
}

/// A socket that can be an array's element, or absent.
final class SocketBox {
    let socket: Socket
    init(_ socket: consuming Socket) { self.socket = socket }
}

extension HoldgateError {
    init(zeroMQ error: ZeroMQError) {
        switch error.code {
        case .invalidArgument, .noSuchEndpoint, .addressNotAvailable:
            let what = error.endpoint.map { "\"\($0)\" is no address that can be used" } ?? "\(error)"
            self.init(.invalidArgument, "\(what): write tcp://host:port or ipc:///path")
        default: self.init(.unavailable, error.description)
        }
    }
}

/// Names that nobody else has.
enum Random {
    /// 128 random bits as 32 hexadecimal digits.
    static func name() -> String {
        var generator = SystemRandomNumberGenerator()
        return LaunchID(high: generator.next(), low: generator.next()).raw
    }
}
