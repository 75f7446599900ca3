import Engine
import Journal
import Ledger
import Lifecycle
import Wire

/// What goes into one delivery: places in the read buffer, and what they are.
package struct Outgoing {
    package private(set) var ranges: [SeqRange] = []
    package private(set) var held: [DeliverHeader.Held] = []
    /// Lines with their line feeds, neighbours merged.
    package private(set) var pieces: [Range<Int>] = []
    package private(set) var byteCount = 0

    /// A whole slice.
    package mutating func take(_ slice: BlockSlice, opening: Opening) {
        add(slice.bytes, slice.stamp.range, slice.stamp.heldMs(opening))
    }

    mutating func take(line: Range<Int>, seq: JournalSeq, _ stamp: BlockStamp, opening: Opening) {
        add(line, SeqRange(first: seq, count: 1), stamp.heldMs(opening))
    }

    private mutating func add(_ bytes: Range<Int>, _ range: SeqRange, _ heldMs: Int64?) {
        byteCount += bytes.count
        if let last = pieces.last, last.upperBound == bytes.lowerBound {
            pieces[pieces.count - 1] = last.lowerBound..<bytes.upperBound
        } else {
            pieces.append(bytes)
        }
        Self.merge(range, into: &ranges)
        guard let heldMs else { return }
        if let last = held.last, last.range.last.next == range.first {
            held[held.count - 1] = .init(
                range: SeqRange(first: last.range.first, count: last.range.count + range.count),
                ms: min(last.ms, heldMs))
        } else {
            held.append(.init(range: range, ms: heldMs))
        }
    }

    private static func merge(_ range: SeqRange, into ranges: inout [SeqRange]) {
        if let last = ranges.last, last.last.next == range.first {
            ranges[ranges.count - 1] = SeqRange(first: last.first, count: last.count + range.count)
        } else {
            ranges.append(range)
        }
    }
}

extension BlockStamp {
    /// How long the gate held these events; nil where they were not gated. Never negative, whatever the clock did.
    package func heldMs(_ opening: Opening) -> Int64? { gated ? max(0, opening.wallMs - arrivalMs) : nil }
}
