/// What a batch is, measured against those that were taken before.
public enum BatchVerdict: Hashable, Sendable {
    case next
    /// Taken before; `last` is the highest taken batch of this run.
    case duplicate(last: UInt64)
    /// Not the one after `last`: something before it is missing.
    case outOfOrder(last: UInt64)
    /// The producer has begun a newer run.
    case superseded
}

/// The last batch of each producer, for at most `limit` producers: the least recently heard goes.
public struct ProducerTable: Hashable, Sendable {
    public struct Row: Hashable, Sendable {
        public var run: String
        public var batch: UInt64
        /// Earlier runs, the newest last; at most `ProducerTable.rememberedRuns`.
        public var superseded: [String]
        /// Grows with each batch that the table takes.
        public var heard: UInt64
        public init(run: String, batch: UInt64, superseded: [String], heard: UInt64) {
            self.run = run
            self.batch = batch
            self.superseded = superseded
            self.heard = heard
        }
    }

    /// How many earlier runs of a producer are recognised.
    public static let rememberedRuns = 4

    public let limit: Int
    public private(set) var rows: [String: Row] = [:]
    private var clock: UInt64 = 0

    public init(limit: Int) {
        precondition(limit > 0)
        self.limit = limit
    }

    public func verdict(on batch: ProducerBatch) -> BatchVerdict {
        guard let row = rows[batch.producer] else { return .next }
        if row.run == batch.run {
            if batch.batch <= row.batch { return .duplicate(last: row.batch) }
            return batch.batch == row.batch + 1 ? .next : .outOfOrder(last: row.batch)
        }
        return row.superseded.contains(batch.run) ? .superseded : .next
    }

    /// Takes a batch that `verdict(on:)` called `.next`.
    public mutating func take(_ batch: ProducerBatch) {
        clock += 1
        if var row = rows[batch.producer] {
            if row.run != batch.run {
                row.superseded.append(row.run)
                if row.superseded.count > Self.rememberedRuns { row.superseded.removeFirst() }
                row.run = batch.run
            }
            row.batch = batch.batch
            row.heard = clock
            rows[batch.producer] = row
            return
        }
        if rows.count >= limit, let oldest = rows.min(by: { $0.value.heard < $1.value.heard }) {
            rows[oldest.key] = nil
        }
        rows[batch.producer] = Row(run: batch.run, batch: batch.batch, superseded: [], heard: clock)
    }

    /// Puts back a row that a checkpoint held.
    public mutating func restore(_ producer: String, _ row: Row) {
        rows[producer] = row
        clock = max(clock, row.heard)
    }
}
