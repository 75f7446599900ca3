import Ledger
import Lifecycle
import Wire

/// How far erasing has come.
struct EraseCursor {
    /// Everything up to here is erased; a new process begins at 0 again, which does no harm.
    var through = JournalSeq.zero
    /// The segment that is being looked at, its next commit, and where that begins.
    var generation: UInt64 = 0
    var offset: UInt64 = 0
    var commit: UInt64 = 0
}

/// Taking delivered events' bytes off the disk before their segment is used again.
extension Log {
    /// Overwrites the lines of blocks at or before `through` and before all cursors with spaces, and what earlier
    /// lives of the files left behind with zeros, as far as it was read before `arrivedBeforeMs` (since 1970); syncs.
    ///
    /// - Returns: whether there is more to do. About 1 MiB is done at a time: call it again.
    public func erase(through: JournalSeq, arrivedBeforeMs: Int64) throws(JournalError) -> Bool {
        try checkUsable()
        if purging != .none { return false }
        let done = min(through, ledger.doneThrough)
        if try eraseLines(through: done, arrivedBeforeMs) { return true }
        return try cleanResidue(arrivedBeforeMs)
    }

    private func eraseLines(
        through done: JournalSeq, _ beforeMs: Int64
    ) throws(JournalError) -> Bool {
        var budget = Self.zeroBytes
        for at in live.indices {
            guard live[at].record.facts.firstSeq <= done else { break }
            let following = at + 1 < live.count ? live[at + 1].record : nil
            // All in it is erased already.
            if let following, following.facts.firstSeq.raw <= eraser.through.raw + 1 { continue }
            let end = following?.firstCommit ?? nextCommit
            let finished = try eraseLines(of: live[at], end: end, through: done, beforeMs, &budget)
            guard finished else { return budget <= 0 }
        }
        return false
    }

    /// False if there is something in the segment that may not be erased yet, or the budget is used up.
    private func eraseLines(
        of segment: Segment, end: UInt64, through done: JournalSeq, _ beforeMs: Int64, _ budget: inout Int
    ) throws(JournalError) -> Bool {
        if eraser.generation != segment.record.generation {
            eraser.generation = segment.record.generation
            eraser.offset = UInt64(SegmentHeader.byteCount)
            eraser.commit = segment.record.firstCommit
        }
        var scan = CommitScan(slot: segment.slot, generation: segment.record.generation)
        var hasWritten = false
        var finished = true
        commits: while eraser.commit < end {
            let header = try attempt { [eraser] () throws(StorageError) in try scan.commit(at: eraser.offset)
            }
            guard let header, header.number == eraser.commit else {
                throw .damaged(file: segment.slot.name, what: "commit \(eraser.commit) can't be read")
            }
            let records: [StoredRecord]
            do throws(BadRecord) { records = try scan.records(of: header) } catch {
                throw .damaged(file: segment.slot.name, what: error.what)
            }
            var lines = eraser.offset + UInt64(header.linesOffset)
            for case .entry(.block(let stamp), let table) in records {
                guard stamp.range.last <= done, stamp.arrivalMs < beforeMs, budget > 0 else {
                    finished = false
                    break commits
                }
                if let table {
                    if stamp.range.last > eraser.through {
                        guard try isFollowed(header) else {
                            finished = false
                            break commits
                        }
                        try blank(table, in: scan.buffer, stamp: stamp, at: lines, of: segment.slot)
                        budget -= stamp.byteCount
                        hasWritten = true
                    }
                    lines += UInt64(stamp.byteCount)
                }
                eraser.through = max(eraser.through, stamp.range.last)
            }
            eraser.offset += UInt64(header.total)
            eraser.commit += 1
        }
        if hasWritten { try sync(segment.slot.file) }
        return finished
    }

    /// The last commit's lines stay as they are, so that recovery can tell whether all of them reached the disk:
    /// before they are erased, an empty commit takes its place. False if there is no room for one.
    private func isFollowed(_ header: CommitHeader) throws(JournalError) -> Bool {
        guard header.number + 1 == nextCommit else { return true }
        guard position + reserveBytes <= active.slot.capacity else { return false }
        try commitControl { _ in }
        return true
    }

    /// Writes spaces over a block's lines. The line feeds stay.
    private func blank(
        _ table: LineTable, in commit: ReadBuffer, stamp: BlockStamp, at offset: UInt64, of slot: Slot
    ) throws(JournalError) {
        let blanks = ReadBuffer(capacity: stamp.byteCount)
        blanks.resize(to: stamp.byteCount)
        let bytes = blanks.mutableBytes
        bytes.initializeMemory(as: UInt8.self, repeating: 0x20)
        var at = 0
        for index in 0..<table.count {
            at += table.length(index, in: commit.bytes) + 1
            bytes[at - 1] = 0x0A
        }
        try withExtendedLifetime(blanks) { () throws(JournalError) in
            try attempt { () throws(StorageError) in try slot.file.write([blanks.bytes], at: offset) }
        }
    }

    private func cleanResidue(_ beforeMs: Int64) throws(JournalError) -> Bool {
        for at in free.indices where free[at].residue.map({ $0.newestMs < beforeMs }) ?? false {
            try clean(&free[at])
            return true
        }
        for at in live.indices where live[at].slot.residue.map({ $0.newestMs < beforeMs }) ?? false {
            if at == live.count - 1, let residue = live[at].slot.residue {
                live[at].slot.residue?.start = max(residue.start, position)
            }
            try clean(&live[at].slot)
            return true
        }
        return false
    }

    /// Zeroes the last piece of what is left.
    private func clean(_ slot: inout Slot) throws(JournalError) {
        guard let residue = slot.residue, residue.start < residue.end else {
            slot.residue = nil
            return
        }
        let start = residue.end - min(residue.end - residue.start, UInt64(Self.zeroBytes))
        try zero(slot, from: start, to: residue.end)
        slot.residue?.end = start
        if start == residue.start { slot.residue = nil }
    }
}
