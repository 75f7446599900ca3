/// How often something was how large: counts between fixed bounds, so that looking costs nothing and two looks
/// can be subtracted.
public struct Histogram: Hashable, Sendable {
    /// Ascending. A value is counted at the first bound that it is no larger than.
    public let bounds: [UInt64]
    /// One more than bounds: the last one has what is larger than all of them. Not cumulative.
    public private(set) var counts: [UInt64]
    /// Of all values, in their unit.
    public private(set) var sum: UInt64 = 0

    public init(bounds: [UInt64]) {
        precondition(!bounds.isEmpty && zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
        self.bounds = bounds
        counts = [UInt64](repeating: 0, count: bounds.count + 1)
    }

    /// Allocates nothing.
    public mutating func observe(_ value: UInt64) {
        var low = 0
        var high = bounds.count
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] >= value { high = middle } else { low = middle + 1 }
        }
        counts[low] += 1
        sum &+= value
    }
}

/// What `stats` shows beside its numbers; names are those on the wire, with the unit last.
public struct Histograms: Hashable, Sendable {
    /// One commit's write and sync.
    public var commitUs = Histogram(bounds: [
        50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
        2_000_000, 5_000_000,
    ])
    /// What it put on disk.
    public var commitBytes = Histogram(bounds: [
        256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20, 16 << 20,
    ])
    /// Events in it; acks and the like go with none.
    public var commitEvents = Histogram(bounds: [
        0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000,
    ])
    /// How long holds took to settle, those that ran out of time included.
    public var drainMs = Histogram(bounds: [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 3_600_000,
    ])

    public init() {}

    /// By their names on the wire.
    public var named: [(name: String, histogram: Histogram)] {
        [
            ("commitUs", commitUs), ("commitBytes", commitBytes), ("commitEvents", commitEvents),
            ("drainMs", drainMs),
        ]
    }
}
