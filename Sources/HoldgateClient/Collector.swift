import Platform
import Wire
import ZeroMQ

/// Receives events from a host's `plugin` endpoint: at least once, in order, from its cursor on.
///
/// ```swift
/// let collector = try Collector(.init(name: "warehouse"))
/// let ending = try collector.run { deliveries in
///     for delivery in deliveries { try store(delivery) }     // durably: the host forgets what is
///     acknowledged return []
/// }
/// ```
///
/// It attaches again by itself whenever the host was away. A second collector of the same name takes its
/// place, and then this one ends with `superseded`.
public final class Collector: Sendable {
    public struct Options: Sendable {
        /// The host's `plugin`.
        public var endpoint = Endpoints().plugin
        /// The cursor belongs to this name.
        public var name: String
        public var version = "0"
        /// What it takes, and how many bytes may be unacknowledged.
        public var collect = CollectRequest()
        /// At most so many bytes of waiting deliveries are handed over at once (at least one delivery).
        public var gatherBytes = 8 << 20

        public init(name: String) { self.name = name }
    }

    /// Why `run` returned.
    public enum Ending: Hashable, Sendable {
        /// `stop` was called; the host knows.
        case stopped
        /// A newer holder of the name took over. Don't come back by yourself: exit 0.
        case superseded
    }

    /// What the collector tells beside deliveries, on the collector's thread.
    public enum Notice: Hashable, Sendable {
        /// The host knows the collector. `cursor`: the last event that it has acknowledged; nil if not
        /// durable.
        case attached(cursor: JournalSeq?, HostStatus)
        /// The connection is made anew.
        case detached
        case state(StateBody, seq: TransitionSeq, launch: LaunchID)
        /// The host did not like something; the attachment goes on.
        case problem(HoldgateError)
    }

    /// Takes deliveries in order, and returns those of their events that it will never take, for the dead
    /// letters. When it returns, all of them are acknowledged; when it throws, none, and `run` throws the
    /// same.
    public typealias Handler = ([Delivery]) throws -> [Reject]

    private let options: Options
    private let context: Context
    private let wake: EventFD
    private let isStopped = Locked(false)

    /// - Throws: `invalidArgument`, `unavailable`.
    public init(_ options: Options) throws(HoldgateError) {
        guard (1...WireBounds.nameBytes).contains(options.name.utf8.count) else {
            throw HoldgateError(.invalidArgument, "a collector's name has 1 to \(WireBounds.nameBytes) bytes")
        }
        self.options = options
        context = try ClientContext.get()
        do {
            wake = try EventFD()
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    /// Makes `run` return once the handler has. Any thread.
    public func stop() {
        isStopped.withLock { $0 = true }
        wake.signal()
    }

    /// Attaches, and hands over deliveries until stopped; blocks the calling thread, on which `handler` runs.
    ///
    /// - Parameter notice: told of attachments, state changes and problems, as they happen.
    /// - Throws: the handler's error; a `HoldgateError` where the host refuses for good or libzmq fails.
    public func run(
        notice: (Notice) -> Void = { _ in }, handler: Handler
    ) throws -> Ending {
        var line = CollectorLine(options, context: context)
        while !isStopped.withLock({ $0 }) {
            if let ending = try line.turn(wake, notice: notice, handler: handler) { return ending }
        }
        line.leave()
        return .stopped
    }

    /// As `run`, on a thread of its own. Cancelling the task stops it.
    public func run(
        notice: @escaping @Sendable (Notice) -> Void = { _ in },
        handler: @escaping @Sendable ([Delivery]) throws -> [Reject]
    ) async throws -> Ending {
        let outcome = try await withTaskCancellationHandler {
            try await onThread("holdgate-collect") { () throws(HoldgateError) in
                Result<Ending, any Error> { try self.run(notice: notice, handler: handler) }
            }
        } onCancel: {
            self.stop()
        }
        return try outcome.get()
    }
}

/// The state of the thread that runs a collector: owns the socket, and does what `CollectorCore` says.
private struct CollectorLine: ~Copyable {
    private let options: Collector.Options
    private let context: Context
    private var core = CollectorCore(now: Clock.monotonicMs())
    private var link: SocketBox?
    private var gathered: [Delivery] = []
    private var gatheredBytes = 0
    private var ending: Collector.Ending?
    private let parser = JSONParser()
    private var writer = JSONWriter()
    private var effects: [CollectorCore.Effect] = []
    private var notices: [Collector.Notice] = []

    init(_ options: Collector.Options, context: Context) {
        self.options = options
        self.context = context
    }

    /// One wait, and what came of it.
    mutating func turn(
        _ wake: EventFD, notice: (Collector.Notice) -> Void, handler: Collector.Handler
    ) throws -> Collector.Ending? {
        if link == nil { try open() }
        try wait(wake)
        var isMore = true
        while isMore {
            isMore = try receive()
            // What came before another message is acknowledged before that is looked at.
            try handOver(handler)
            tell(notice)
            if let ending { return ending }
        }
        core.tick(now: Clock.monotonicMs(), into: &effects)
        try perform(frames: [])
        tell(notice)
        return ending
    }

    /// Says goodbye as well as it can.
    mutating func leave() {
        guard let link else { return }
        writer.reset()
        PluginMessage.bye.write(into: &writer)
        // Linger, so that the bye leaves: an attachment that is not ended lasts until its connection is
        // missed.
        try? link.socket.set(.linger(ms: 200))
        _ = try? link.socket.send(writer.bytes)
        self.link = nil
    }

    private mutating func open() throws(HoldgateError) {
        do {
            let socket = try Socket(
                .dealer, in: context, .linger(ms: 0), .receiveHighWaterMark(0), .heartbeatInterval(ms: 1000),
                .heartbeatTimeout(ms: 5000))
            try socket.connect(options.endpoint)
            link = SocketBox(socket)
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
        core.opened(now: Clock.monotonicMs(), into: &effects)
        try perform(frames: [])
    }

    private borrowing func wait(_ wake: EventFD) throws {
        let now = Clock.monotonicMs()
        let end = core.deadline ?? now + 1000
        var polls = PollSet()
        polls.add(fileDescriptor: wake.fileDescriptor)
        if let link { polls.add(socket: link.socket) }
        _ = try polls.wait(timeoutMs: Int(max(0, min(end - now, 1000))))
        wake.drain()
    }

    /// Reads messages until none is left, enough is gathered, or one that is no delivery has come. False:
    /// none left.
    private mutating func receive() throws -> Bool {
        while let link, gatheredBytes < options.gatherBytes {
            var frame = Frame()
            guard try link.socket.receive(into: &frame) else { return false }
            let isMore = frame.more
            let message = frame.withBytes { bytes in
                Result { () throws(WireError) in try HostMessage.parse(bytes, with: parser) }
            }
            let frames = isMore ? try rest(link) : []
            switch message {
            case .success(let message?):
                core.heard(message, now: Clock.monotonicMs(), into: &effects)
                // One after a delivery waits until that is handled, but for another delivery.
                if case .deliver = message { try perform(frames: frames) } else { return true }
            case .success(nil): break
            case .failure(let error): notices.append(.problem(HoldgateError(error, state: nil)))
            }
        }
        return link != nil
    }

    private func rest(_ link: SocketBox) throws(ZeroMQError) -> [EventsFrame] {
        var frames: [EventsFrame] = []
        while true {
            var frame = Frame()
            guard try link.socket.receive(into: &frame) else { return frames }
            let isMore = frame.more
            if !frame.isEmpty { frames.append(EventsFrame(frame)) }
            if !isMore { return frames }
        }
    }

    private mutating func handOver(_ handler: Collector.Handler) throws {
        if let last = gathered.map(\.last).max() {
            let deliveries = gathered
            gathered = []
            gatheredBytes = 0
            let rejects = try handler(deliveries)
            try send(.ack(through: last, rejects: rejects))
        }
        try perform(frames: [])
    }

    private mutating func tell(_ notice: (Collector.Notice) -> Void) {
        let waiting = notices
        notices = []
        for each in waiting { notice(each) }
    }

    private mutating func perform(frames: [EventsFrame]) throws(HoldgateError) {
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .sendHello:
                let hello = PluginMessage.Hello(
                    name: options.name, version: options.version, collect: options.collect)
                try send(.hello(hello))
            case .sendHeartbeat: try send(.heartbeat)
            case .reconnect:
                link = nil
                gathered = []
                gatheredBytes = 0
                notices.append(.detached)
            case .deliver(let header):
                let delivery = Delivery(header: header, frames: frames)
                gathered.append(delivery)
                gatheredBytes += delivery.byteCount
            case .state(let body, let seq, let launch):
                notices.append(.state(body, seq: seq, launch: launch))
            case .attached(let cursor, let status): notices.append(.attached(cursor: cursor, status))
            case .report(let error): notices.append(.problem(HoldgateError(error, state: nil)))
            case .ended(let error):
                guard error.code == .superseded else { throw HoldgateError(error, state: nil) }
                ending = .superseded
            }
        }
    }

    private mutating func send(_ message: PluginMessage) throws(HoldgateError) {
        guard let link else { return }
        writer.reset()
        message.write(into: &writer)
        do {
            // No room means that the host is away: the silence will be noticed.
            _ = try link.socket.send(writer.bytes)
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
        core.sent(now: Clock.monotonicMs())
    }
}
