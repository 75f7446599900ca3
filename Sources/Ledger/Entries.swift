import Lifecycle

/// One producer's batch, the unit of safe retries.
public struct ProducerBatch: Hashable, Sendable {
    public let producer: String
    /// Random for each producer process.
    public let run: String
    public let batch: UInt64
    public init(producer: String, run: String, batch: UInt64) {
        self.producer = producer
        self.run = run
        self.batch = batch
    }
}

/// What is recorded of a block of events, its lines aside.
public struct BlockStamp: Hashable, Sendable {
    public let range: SeqRange
    /// When the block was read, in milliseconds since 1970 (UTC).
    public let arrivalMs: Int64
    public let launch: LaunchID
    /// The transition that was in force when it was read.
    public let under: TransitionSeq
    /// Whether the gate was closed then.
    public let gated: Bool
    /// False: nobody durable wanted the lines, which are not in the journal; only the numbers are taken.
    public let kept: Bool
    public let batch: ProducerBatch?
    /// Bytes of the lines, each with its line feed.
    public let byteCount: Int

    public init(
        range: SeqRange, arrivalMs: Int64, launch: LaunchID, under: TransitionSeq, gated: Bool, kept: Bool,
        batch: ProducerBatch?, byteCount: Int
    ) {
        self.range = range
        self.arrivalMs = arrivalMs
        self.launch = launch
        self.under = under
        self.gated = gated
        self.kept = kept
        self.batch = batch
        self.byteCount = byteCount
    }
}

/// Why events left the journal without being delivered. The raw value is the name in the history and in the metrics.
public enum DiscardReason: String, Hashable, Sendable, CaseIterable {
    /// The hold's policy was `discard`.
    case policy
    /// Older than `gatedMaxAgeMs` while gated.
    case aged
    /// Killed.
    case killed
    /// Numbers that were given to a block which was never written: no event was lost with them.
    case unwritten
}

/// One record of the journal, lines aside.
public enum Entry: Hashable, Sendable {
    case block(BlockStamp)
    /// A batch whose events were discarded by the gate's policy counts as taken.
    case batch(ProducerBatch)
    /// A durable collector is known; `cursor` is the last event before the first that is kept for it.
    case known(collector: String, cursor: JournalSeq)
    /// A durable collector is done with everything up to `through`.
    case done(collector: String, through: JournalSeq)
    case forgotten(collector: String)
    case discarded(SeqRange, DiscardReason)
    /// The history's newest record.
    case head(HistoryHead)
}

/// The newest record of the history: its number and its hash (64 lowercase hexadecimal digits).
public struct HistoryHead: Hashable, Sendable {
    public let n: UInt64
    public let hash: String
    public init(n: UInt64, hash: String) {
        self.n = n
        self.hash = hash
    }
}
