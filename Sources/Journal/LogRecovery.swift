import Ledger
import Lifecycle

/// Reads the newest segment from its checkpoint on, and tells a torn tail from damage.
///
/// Only one commit is ever on its way to the disk, so a commit that can't be read is a torn one only if it is the
/// last; a valid one with a higher number behind it proves that it was once whole.
final class LogRecovery {
    private let log: Log
    private var scan: CommitScan
    private var rows: [SegmentRecord] = []
    /// Lines that are not as they were written. Those of events that are done are being erased.
    private var changed: [SeqRange] = []
    private(set) var index: [LogTable.IndexEntry] = []

    init(log: Log, slot: Log.Slot, generation: UInt64) {
        self.log = log
        scan = CommitScan(slot: slot, generation: generation)
    }

    /// Folds all commits into the log's ledger, and sets its position.
    /// - Returns: the live segments, the newest last.
    func run() throws(JournalError) -> [SegmentRecord] {
        log.position = UInt64(SegmentHeader.byteCount)
        var header = try commit(at: log.position)
        guard header != nil else { throw damaged("its first commit changed while it was read") }
        while let current = header, current.number == log.nextCommit {
            let records: [StoredRecord]
            do { records = try scan.records(of: current) } catch { throw damaged(error.what) }
            let bad = try changedLines(of: records, at: log.position)
            let next = try commit(at: log.position + UInt64(current.total))
            let isLast = next?.number != current.number + 1
            // Lines of the last commit are never erased: those that differ never reached the disk.
            if isLast && !bad.isEmpty { break }
            changed += bad
            try fold(records)
            log.position += UInt64(current.total)
            log.nextCommit += 1
            header = next
        }
        try refuseDamage()
        log.live[0].slot.residue = Log.Residue(
            start: log.position, end: scan.slot.capacity, newestMs: .min)
        return rows
    }

    private func fold(_ records: [StoredRecord]) throws(JournalError) {
        var first: JournalSeq?
        for (place, record) in records.enumerated() {
            switch record {
            case .checkpoint(let checkpoint):
                guard rows.isEmpty, place == 0, let last = checkpoint.segments.last else {
                    throw damaged("a checkpoint that is not at its beginning")
                }
                rows = checkpoint.segments
                log.ledger = checkpoint.ledger
                log.purging = checkpoint.isPurging ? .emptied : .none
                log.live = [Log.Segment(record: last, slot: scan.slot)]
            case .entry(let entry, _):
                if case .block(let stamp) = entry, first == nil { first = stamp.range.first }
                log.take(entry)
            case .retired(let through):
                rows.removeAll { $0.facts.number <= through }
            case .purge:
                log.purging = .recorded
            case .purged:
                log.purging = .none
            }
        }
        if let first { note(first) }
    }

    private func note(_ seq: JournalSeq) {
        if let last = index.last, last.offset + LogTable.indexBytes > log.position { return }
        index.append(LogTable.IndexEntry(seq: seq, offset: log.position, commit: log.nextCommit))
    }

    private func refuseDamage() throws(JournalError) {
        if let bad = changed.first(where: { !log.ledger.isDone($0) }) {
            throw damaged("events \(bad.first) to \(bad.last) are not as they were written")
        }
        let holds = try log.attempt { () throws(StorageError) in
            try CommitScan.holdsCommit(
                beyond: log.nextCommit, in: scan.slot, from: log.position, generation: scan.generation,
                byteCount: scan.slot.capacity)
        }
        if holds {
            throw damaged(
                "commit \(log.nextCommit), at byte \(log.position), can't be read, and later ones can")
        }
    }

    /// Which lines of a commit, whose header and records the scan has read, are not as they were written.
    private func changedLines(
        of records: [StoredRecord], at offset: UInt64
    ) throws(JournalError) -> [SeqRange] {
        var bad: [SeqRange] = []
        let buffer = scan.buffer
        let meta = buffer.count
        var lines = offset + UInt64(meta)
        for case .entry(.block(let stamp), .some(let table)) in records {
            buffer.resize(to: meta)
            let slot = scan.slot
            let read = try log.attempt { () throws(StorageError) in
                try buffer.append(stamp.byteCount, of: slot.file, at: lines)
            }
            lines += UInt64(stamp.byteCount)
            var at = meta
            for index in 0..<table.count {
                let length = table.length(index, in: buffer.bytes) + 1
                let whole = at + length <= meta + read
                let line = UnsafeRawBufferPointer(rebasing: buffer.bytes[at..<(whole ? at + length : at)])
                if !whole || !table.verifies(index, in: buffer.bytes, line: line) {
                    Self.append(stamp.range.first.advanced(by: UInt64(index)), to: &bad)
                }
                at += length
            }
        }
        buffer.resize(to: meta)
        return bad
    }

    private static func append(_ seq: JournalSeq, to ranges: inout [SeqRange]) {
        if let last = ranges.last, last.last.next == seq {
            ranges[ranges.count - 1] = SeqRange(first: last.first, count: last.count + 1)
        } else {
            ranges.append(SeqRange(first: seq, count: 1))
        }
    }

    private func commit(at offset: UInt64) throws(JournalError) -> CommitHeader? {
        let scan = scan
        return try log.attempt { () throws(StorageError) in try scan.commit(at: offset) }
    }

    private func damaged(_ what: String) -> JournalError { .damaged(file: scan.slot.name, what: what) }
}

extension Ledger {
    /// Whether nobody reads any of these events again, so that their lines may be erased.
    func isDone(_ range: SeqRange) -> Bool { Self.isDone(range, through: doneThrough, discarded: discarded) }

    static func isDone(_ range: SeqRange, through done: JournalSeq, discarded: [SeqRange]) -> Bool {
        guard let rest = SeqRange(first: max(range.first, done.next), through: range.last) else {
            return true
        }
        // Discarded ranges are merged: what they cover, one of them covers.
        return discarded.contains { $0.contains(rest.first) && $0.contains(rest.last) }
    }
}
