import HoldgateClient

/// A histogram of the host's, as `stats` answers it, or the difference of two.
struct HistogramReport: Hashable, Sendable {
    let bounds: [UInt64]
    /// One more than bounds, not cumulative.
    let counts: [UInt64]
    let sum: UInt64

    init(bounds: [UInt64], counts: [UInt64], sum: UInt64) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    /// Nil: this is none.
    init?(_ value: JSONValue?) {
        guard let value, let sum = value["sum"]?.asUInt64,
            let bounds = value["bounds"]?.asArray?.compactMap(\.asUInt64),
            let counts = value["counts"]?.asArray?.compactMap(\.asUInt64), counts.count == bounds.count + 1
        else { return nil }
        self.init(bounds: bounds, counts: counts, sum: sum)
    }

    /// How many values there are.
    var count: UInt64 { counts.reduce(0, +) }

    /// A bound that so much of the values is within; nil where there are none.
    enum Quantile: Hashable {
        case atMost(UInt64)
        /// Beyond the last bound.
        case over(UInt64)
    }

    func quantile(_ hundredths: UInt64) -> Quantile? {
        let count = count
        guard count > 0, let last = bounds.last else { return nil }
        let wanted = max(1, (count * hundredths + 99) / 100)
        var seen: UInt64 = 0
        for (bound, count) in zip(bounds, counts) {
            seen += count
            if seen >= wanted { return .atMost(bound) }
        }
        return .over(last)
    }

    /// What came since `earlier`; nil where that is another process's.
    func since(_ earlier: HistogramReport) -> HistogramReport? {
        guard earlier.bounds == bounds, zip(counts, earlier.counts).allSatisfy({ $0 >= $1 }),
            sum >= earlier.sum
        else { return nil }
        return HistogramReport(
            bounds: bounds, counts: zip(counts, earlier.counts).map { $0 - $1 }, sum: sum - earlier.sum)
    }
}

extension HistogramReport.Quantile {
    /// `at most 500 µs`
    func text(_ value: (UInt64) -> String) -> String {
        switch self {
        case .atMost(let bound): "at most \(value(bound))"
        case .over(let bound): "over \(value(bound))"
        }
    }
}

/// Numbers with their units, short.
enum Quantity {
    /// Of a member whose name ends in its unit; nil where the bare number says all.
    static func text(_ count: UInt64, of name: String) -> String? {
        if name.hasSuffix("Us") { return microseconds(count) }
        if name.hasSuffix("Ms") { return count < 2000 ? nil : Durations.text(ms: Int64(clamping: count)) }
        if name.hasSuffix("Bytes") || name.hasPrefix("bytes") {
            return count < 1024 ? nil : Table.bytes(count)
        }
        return nil
    }

    static func microseconds(_ count: UInt64) -> String {
        if count < 1000 { return "\(count) µs" }
        if count < 1_000_000 { return "\(tenths(count, 1000)) ms" }
        return "\(tenths(count, 1_000_000)) s"
    }

    /// With one digit behind the point where that is not 0.
    private static func tenths(_ count: UInt64, _ unit: UInt64) -> String {
        let tenth = count % unit * 10 / unit
        return tenth == 0 ? "\(count / unit)" : "\(count / unit).\(tenth)"
    }
}
