import Platform
import Wire

/// Batches to `ingest` from many threads over one connection, each answered by itself, any number under way.
///
/// ```swift
/// let channel = try IngestChannel(.init())
/// channel.send([Array(line.utf8)]) { result in … }
/// ```
///
/// For programs that carry others' events, each of which hears at once what became of its own: an HTTP door, for example.
/// A batch is sent once. Whoever must send it again gives it a `Batch`, by which the host knows it. `Producer` is
/// what a program with events of its own wants.
public final class IngestChannel: Sendable {
    public struct Options: Hashable, Sendable {
        /// The host's `ingest`.
        public var endpoint = Endpoints().ingest
        /// Nil: those of the environment, if there are any.
        public var credentials: Credentials?
        /// Batches that wait or are under way; what comes on top is `overloaded`. The host loses replies above 1,000.
        public var batches = 512
        /// Bytes of them.
        public var bytes = 64 << 20
        /// For the reply, from the call on.
        public var timeout = Duration.seconds(5)

        public init() {}
    }

    /// What the host tells a batch by.
    public struct Batch: Hashable, Sendable {
        /// 1 to 128 bytes.
        public var producer: String
        public var run: String
        public var number: UInt64

        public init(producer: String, run: String, number: UInt64) {
            self.producer = producer
            self.run = run
            self.number = number
        }
    }

    /// Called once, on the channel's thread, which must not be kept waiting; or, for a batch that is not taken in, on the
    /// caller's.
    ///
    /// - `noAnswer` with `isOutcomeUnknown`: it was sent, and may have been taken.
    /// - `noAnswer` without: no host was there; nothing was sent.
    /// - `overloaded`: too much is under way here; nothing was sent.
    public typealias Reply = @Sendable (Result<IngestReply, HoldgateError>) -> Void

    private let queue: IngestQueue

    /// Starts the channel's thread. The host need not be there yet.
    public init(_ options: Options) throws(HoldgateError) {
        var options = options
        options.credentials = try options.credentials.orOfProcess()
        queue = try IngestQueue(options)
        let line = IngestLine.Start(queue: queue, options: options, context: try ClientContext.get())
        do {
            _ = try Thread.spawn(name: "holdgate-ingest") { line.run() }
        } catch {
            throw HoldgateError(.unavailable, "no thread: \(error)")
        }
    }

    deinit { queue.stop() }

    /// Sends the frames of one message, events in JSON one after another, and answers `reply`.
    public func send(_ frames: [[UInt8]], as batch: Batch? = nil, reply: @escaping Reply) {
        queue.add(IngestQueue.Item(frames: frames, batch: batch, reply: reply))
    }

    /// Ends the channel: what is under way is answered with `closed`.
    public func stop() { queue.stop() }

    /// Batches that wait or are under way.
    public var count: Int { queue.count }
}

/// What callers and the channel's thread share.
final class IngestQueue: Sendable {
    struct Item: Sendable {
        let frames: [[UInt8]]
        let batch: IngestChannel.Batch?
        let reply: IngestChannel.Reply
        var sinceMs: Int64 = 0
        var byteCount: Int { frames.reduce(0) { $0 + $1.count } }
    }

    private struct State {
        var waiting: [Item] = []
        /// With those under way.
        var count = 0
        var bytes = 0
        var isStopped = false
        var failure: HoldgateError?
    }

    let wake: EventFD
    private let options: IngestChannel.Options
    private let state = Locked(State())

    init(_ options: IngestChannel.Options) throws(HoldgateError) {
        self.options = options
        do {
            wake = try EventFD()
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    var count: Int { state.withLock { $0.count } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    func add(_ item: Item) {
        var item = item
        item.sinceMs = Clock.monotonicMs()
        let added = item
        let bytes = item.byteCount
        let refusal = state.withLock { state -> HoldgateError? in
            if let failure = state.failure { return failure }
            if state.isStopped { return HoldgateError(.closed, "the channel was closed") }
            guard state.count < options.batches, state.bytes + bytes <= options.bytes else {
                return HoldgateError(
                    .overloaded, "\(state.count) batches of \(state.bytes) bytes are under way already",
                    retryable: true)
            }
            state.waiting.append(added)
            state.count += 1
            state.bytes += bytes
            return nil
        }
        if let refusal { return item.reply(.failure(refusal)) }
        wake.signal()
    }

    /// What waits, in its order.
    func take() -> [Item] {
        state.withLock { state in
            defer { state.waiting.removeAll(keepingCapacity: true) }
            return state.waiting
        }
    }

    func settle(_ item: Item, _ result: Result<IngestReply, HoldgateError>) {
        let bytes = item.byteCount
        state.withLock { state in
            state.count -= 1
            state.bytes -= bytes
        }
        item.reply(result)
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        wake.signal()
    }

    func fail(_ error: HoldgateError) { state.withLock { $0.failure = error } }
}
