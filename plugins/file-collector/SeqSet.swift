import HoldgateClient

/// A set of seqs as ranges: sorted, apart, merged. Events come in order, so it stays short.
struct SeqSet: Hashable, Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    var first: UInt64? { ranges.first?.lowerBound }

    mutating func insert(_ range: SeqRange) {
        let (low, high) = (range.first.raw, range.last.raw)
        // The usual case: behind everything.
        if let last = ranges.last, low > last.upperBound {
            if low == last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...high
            } else {
                ranges.append(low...high)
            }
            return
        }
        var merged = low...high
        var rest: [ClosedRange<UInt64>] = []
        for each in ranges {
            let touches = each.lowerBound <= merged.upperBound + 1 && merged.lowerBound <= each.upperBound + 1
            if touches {
                let bounds = (
                    min(each.lowerBound, merged.lowerBound), max(each.upperBound, merged.upperBound)
                )
                merged = bounds.0...bounds.1
            } else {
                rest.append(each)
            }
        }
        let place = rest.firstIndex { $0.lowerBound > merged.upperBound } ?? rest.count
        rest.insert(merged, at: place)
        ranges = rest
    }

    /// What of `range` is not in the set.
    func missing(in range: SeqRange) -> [SeqRange] {
        var result: [SeqRange] = []
        var next = range.first.raw
        let end = range.last.raw
        // Ranges are sorted: only those that reach `range` matter, and they are the last ones as a rule.
        let start = ranges.lastIndex { $0.lowerBound <= next } ?? 0
        for each in ranges[min(start, ranges.count)...] {
            if each.upperBound < next { continue }
            if each.lowerBound > end || next > end { break }
            if each.lowerBound > next { result.append(Self.range(next, each.lowerBound - 1)) }
            next = each.upperBound + 1
        }
        if next <= end { result.append(Self.range(next, end)) }
        return result
    }

    private static func range(_ low: UInt64, _ high: UInt64) -> SeqRange {
        SeqRange(first: JournalSeq(low), count: high - low + 1)
    }
}
