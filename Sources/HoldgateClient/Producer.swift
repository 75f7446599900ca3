import Platform
import Wire

/// Sends events to a host's `ingest` in batches, and sees to it that each is taken exactly once, over any
/// number of lost connections and restarts of the host.
///
/// ```swift
/// let producer = try Producer(.init(name: "web-1"))
/// try producer.send(#"{"specversion":"1.0","id":"1","source":"/web","type":"demo.clicked"}"#)
/// try await producer.flush()
/// try await producer.close()
/// ```
///
/// Batches are made by need: an event that finds nothing under way goes at once, and while batches are under
/// way the next one fills. `send` waits while too many are unacknowledged. What the host refuses for good is
/// left out, and reported by `flush` and `takeFailures`; the events around it are taken.
///
/// `name` belongs to one producer at a time: a second one with the same name ends the first (`superseded`).
public final class Producer: Sendable {
    public struct Options: Hashable, Sendable {
        /// The host's `ingest`.
        public var endpoint = Endpoints().ingest
        /// Nil: those of the environment, if there are any.
        public var credentials: Credentials?
        /// Names this producer at the host, which tells retries by it; 1 to 128 bytes.
        public var name: String
        /// Events a batch, at most 65,536.
        public var batchEvents = 8192
        /// Bytes a batch, line feeds included; an event that is larger goes alone.
        public var batchBytes = 256 << 10
        /// Batches that wait or are under way; `send` waits beyond.
        public var unacknowledgedBatches = 16
        /// Without an answer for so long, the connection is made anew and everything unacknowledged goes
        /// again.
        public var replyTimeout = Duration.seconds(5)
        /// Without any batch taken for so long, all is given up and every call throws; nil: never.
        public var giveUp: Duration?

        public init(name: String) { self.name = name }
    }

    /// What became of the events so far.
    public struct Report: Hashable, Sendable {
        /// Events taken, gated ones included.
        public var accepted = 0
        /// Those of them that wait for a start.
        public var gated = 0
        /// Events that the host's policy dropped.
        public var discarded = 0
        /// Events of batches whose first answer was lost: taken once, and answered as duplicates.
        public var duplicate = 0
        /// Events that the host refused for good.
        public var refused = 0
        /// Accepted events that no durable collector is there for: published, and gone.
        public var unkept = 0
        /// Bytes of everything that is settled.
        public var bytes = 0
        /// Batches that went more than once.
        public var resentBatches = 0

        public init() {}

        /// Events that were answered, one way or the other.
        public var settled: Int { accepted + discarded + duplicate + refused }
    }

    /// Events that the host will not take.
    public struct Failure: Hashable, Sendable {
        /// The first one's place in the order of sending, from 0.
        public let index: Int
        public let count: Int
        public let error: HoldgateError
    }

    /// How many failures are kept for `takeFailures`; beyond, they are counted alone.
    public static let failureLimit = 1000

    private let shared: ProducerQueue

    /// Starts the producer's thread. The host need not be there yet.
    ///
    /// - Throws: `invalidArgument` for options out of bounds or a bad address; `unavailable`.
    public init(_ options: Options) throws(HoldgateError) {
        guard (1...WireBounds.nameBytes).contains(options.name.utf8.count) else {
            throw HoldgateError(.invalidArgument, "a producer's name has 1 to \(WireBounds.nameBytes) bytes")
        }
        guard options.unacknowledgedBatches > 0, options.batchBytes > 0,
            (1...WireLimits().maxEventsPerMessage).contains(options.batchEvents)
        else { throw HoldgateError(.invalidArgument, "a producer's bounds are at least 1") }
        var options = options
        options.credentials = try options.credentials.orOfProcess()
        shared = try ProducerQueue(options)
        var seed = SystemRandomNumberGenerator()
        let worker = ProducerWorker(shared, options, context: try ClientContext.get(), seed: seed.next())
        do {
            _ = try Thread.spawn(name: "holdgate-produce") { worker.run() }
        } catch {
            throw HoldgateError(.unavailable, "no thread: \(error)")
        }
    }

    deinit { shared.stop() }

    /// Takes one event: a CloudEvent in JSON without a line break. Waits while too much is unacknowledged.
    ///
    /// - Throws: why the producer is at its end: `superseded`, `closed`, or it gave up.
    public func send(_ event: String) throws(HoldgateError) {
        try event.withUTF8Bytes { bytes throws(HoldgateError) in try send(lines: bytes) }
    }

    /// Takes the events of a piece of NDJSON, one a line, blank lines left out. Waits as `send` does.
    public func send(lines bytes: UnsafeRawBufferPointer) throws(HoldgateError) {
        var lines = Lines(bytes)
        try shared.append(&lines)
    }

    /// Sends what is left and waits until the host has answered for all; blocks the calling thread.
    ///
    /// - Throws: the first refusal since the last flush, or why the producer is at its end.
    public func flushBlocking() throws(HoldgateError) { try shared.flush() }

    /// As `flushBlocking`, on a thread of its own.
    public func flush() async throws(HoldgateError) {
        let shared = shared
        try await onThread("holdgate-flush") { () throws(HoldgateError) in
            try shared.flush()
        }
    }

    /// Flushes, and ends the producer; later sends throw `closed`.
    public func closeBlocking() throws(HoldgateError) {
        defer { shared.stop() }
        try shared.flush()
    }

    /// As `closeBlocking`, on a thread of its own.
    public func close() async throws(HoldgateError) {
        defer { shared.stop() }
        try await flush()
    }

    /// What became of the events so far.
    public var report: Report { shared.report }

    /// The failures since the last call, and forgets them.
    public func takeFailures() -> [Failure] { shared.takeFailures() }
}
