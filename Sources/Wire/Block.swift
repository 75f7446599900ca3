import Lifecycle

/// The header of an ingest message; all nil without one.
public struct IngestHeader: Hashable, Sendable {
    public var id: String?
    public var producer: String?
    public var run: String?
    public var batch: UInt64?
    public init(id: String? = nil, producer: String? = nil, run: String? = nil, batch: UInt64? = nil) {
        self.id = id
        self.producer = producer
        self.run = run
        self.batch = batch
    }
}

/// What the engine needs to know of a block of events; the bytes stay where they are.
public struct BlockSummary: Hashable, Sendable {
    /// Events in the block.
    public var count: Int
    /// Bytes of all lines once each is followed by one line feed.
    public var byteCount: Int
    public init(count: Int, byteCount: Int) {
        self.count = count
        self.byteCount = byteCount
    }
}
