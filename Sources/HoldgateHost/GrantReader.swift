import Engine
import Journal
import Ledger
import Lifecycle
import Wire

/// Reads out of the journal what a grant allows, and what is to be buried. Socket or simulator, the same is sent.
///
/// Not to be shared between threads.
package final class GrantReader {
    package enum Outcome {
        /// Send this; the journal was read up to `through`. Its pieces lie in `buffer` until the next read.
        case delivery(Outgoing, through: JournalSeq)
        /// Nothing up to `through` is for this collector.
        case nothing(through: JournalSeq)
        /// The next block exceeds the window's room.
        case noRoom
        /// The journal has forgotten what lies up to here; a durable collector's events it never does.
        case missing(through: JournalSeq)
        /// The journal can't be read, or lacks what it must have: the host can't go on.
        case failed(String)
    }

    package let buffer = ReadBuffer()
    private let reader: LogReader
    private let scanner: EventScanner
    private let lines = LineBlock()
    /// The filters of those who don't take all, by what they asked for.
    private var filters: [[String]: TypeFilter] = [:]
    /// As many as there may be plugins.
    private static let filterLimit = 1024

    package init(_ reader: LogReader, maxNesting: Int) {
        self.reader = reader
        scanner = EventScanner(maxNesting: maxNesting)
    }

    package func read(_ grant: Grant, isDurable: Bool) -> Outcome {
        let slices: [BlockSlice]
        do throws(LogReadError) {
            slices = try reader.read(
                from: grant.from, through: grant.through, budgetBytes: grant.budgetBytes, into: buffer)
        } catch {
            if case .gone(let first) = error, !isDurable {
                return .missing(through: JournalSeq(max(grant.from.raw, first.raw - 1)))
            }
            return .failed("\(error)")
        }
        guard let first = slices.first, let last = slices.last else {
            return .failed("events \(grant.from) to \(grant.through) are not there")
        }
        if first.bytes.count > grant.budgetBytes, !grant.mayExceed { return .noRoom }
        var delivery = Outgoing()
        do throws(WireError) {
            if grant.takesAll {
                for slice in slices where slice.hasLines { delivery.take(slice, opening: grant.opening) }
            } else {
                try select(slices, grant, into: &delivery)
            }
        } catch {
            return .failed("stored events are not as they came: \(error)")
        }
        let through = last.stamp.range.last
        return delivery.ranges.isEmpty ? .nothing(through: through) : .delivery(delivery, through: through)
    }

    /// Cuts the events that the collector asked for out of their blocks.
    private func select(
        _ slices: [BlockSlice], _ grant: Grant, into delivery: inout Outgoing
    ) throws(WireError) {
        let filter = try filter(of: grant)
        for slice in slices where slice.hasLines {
            try scan(slice, into: lines)
            for index in lines.lines.indices where lines.matches(filter, at: index) {
                let line = lines.lines[index]
                let start = slice.bytes.lowerBound + Int(line.offset)
                delivery.take(
                    line: start..<(start + Int(line.length) + 1),
                    seq: slice.stamp.range.first.advanced(by: UInt64(index)), slice.stamp,
                    opening: grant.opening)
            }
        }
    }

    private func filter(of grant: Grant) throws(WireError) -> TypeFilter {
        if let known = filters[grant.types] { return known }
        if filters.count >= Self.filterLimit { filters = [:] }
        let filter = try TypeFilter(grant.types)
        filters[grant.types] = filter
        return filter
    }

    private func scan(_ slice: BlockSlice, into block: LineBlock) throws(WireError) {
        try buffer.withBytes { (bytes) throws(WireError) in
            try scanner.rescan(bytes: UnsafeRawBufferPointer(rebasing: bytes[slice.bytes]), into: block)
        }
    }

    /// Reads what was released, for the stream, and gives it block by block.
    ///
    /// - Returns: the last event that was read, and the bytes.
    package func read(
        _ range: SeqRange, budgetBytes: Int,
        visit: (LineBlock, _ stamp: BlockStamp) throws -> Void
    ) throws -> (through: JournalSeq, bytes: Int) {
        let slices = try reader.read(
            from: range.first, through: range.last, budgetBytes: budgetBytes, into: buffer)
        guard let last = slices.last else {
            throw WireError(.internalError, "events \(range.first) to \(range.last) are not there")
        }
        for slice in slices where slice.hasLines {
            try scan(slice, into: lines)
            try visit(lines, slice.stamp)
        }
        return (last.stamp.range.last, buffer.count)
    }

    /// Rejected events, in the order of their seqs, as they are buried. One that the journal has forgotten is
    /// left out: of a passing collector's events it keeps none.
    package func letters(
        _ rejects: [Reject], of collector: String, wallMs: Int64
    ) throws(LogReadError) -> [DeadLetter] {
        var letters: [DeadLetter] = []
        var rest = rejects[...]
        while let first = rest.first, let last = rest.last {
            let slices: [BlockSlice]
            do throws(LogReadError) {
                // One block at a time, and all of its rejects.
                slices = try reader.read(from: first.seq, through: last.seq, budgetBytes: 1, into: buffer)
            } catch {
                guard case .gone(let available) = error, available > first.seq else { throw error }
                rest = rest.drop { $0.seq < available }
                continue
            }
            guard let slice = slices.first else { break }
            let through = slice.stamp.range.last
            if slice.hasLines {
                for (reject, event) in events(of: rest.prefix { $0.seq <= through }, in: slice) {
                    letters.append(
                        DeadLetter(
                            seq: reject.seq, collector: collector, reason: reject.reason, wallMs: wallMs,
                            event: event))
                }
            }
            rest = rest.drop { $0.seq <= through }
        }
        return letters
    }

    private func events(of rejects: ArraySlice<Reject>, in slice: BlockSlice) -> [(Reject, String)] {
        var events: [(Reject, String)] = []
        var index = 0
        var start = slice.bytes.lowerBound
        for reject in rejects where reject.seq >= slice.stamp.range.first {
            let wanted = Int(reject.seq.raw - slice.stamp.range.first.raw)
            while index < wanted {
                start += slice.lineLength(index, in: buffer) + 1
                index += 1
            }
            let line = start..<(start + slice.lineLength(index, in: buffer))
            events.append((reject, buffer.withBytes { String(decoding: $0[line], as: UTF8.self) }))
        }
        return events
    }
}
