import Ledger
import Lifecycle

/// One pass over the commits of one segment, for one call of a reader.
///
/// The buffer holds one stretch of the file; in the middle of a large commit it holds that commit's header and
/// records first, and then the stretch from the wanted lines on.
struct LogWalk {
    /// The commit that comes next.
    var place: LogTable.Place
    let from: JournalSeq
    let through: JournalSeq
    let budgetBytes: Int
    let buffer: ReadBuffer
    var launches: LaunchCache

    private(set) var slices: [BlockSlice] = []
    private(set) var found: [LogTable.IndexEntry] = []
    /// A block beyond `through` was met.
    private(set) var passedEnd = false
    /// If it stopped within a commit: header and records of it, and where the lines that come next begin.
    private(set) var stopMeta = 0
    private(set) var stopLines: UInt64 = 0

    private var usedBytes = 0
    /// Bytes at the buffer's beginning that belong to the file from `metaStart` on.
    private var metaBytes = 0
    private var metaStart: UInt64 = 0
    /// The rest of the buffer is the file from here on.
    private var stretchStart: UInt64 = 0
    private var isFull = false

    init(
        place: LogTable.Place, from: JournalSeq, through: JournalSeq, budgetBytes: Int, buffer: ReadBuffer,
        launches: LaunchCache
    ) {
        self.place = place
        self.from = from
        self.through = through
        self.budgetBytes = budgetBytes
        self.buffer = buffer
        self.launches = launches
    }

    mutating func run(resumingMeta meta: Int, lines: UInt64) throws(JournalError) {
        try load(resumingMeta: meta, lines: lines)
        while !isFull && place.commit < place.end.commit {
            guard let header = try header() else { return }
            try take(header)
            if isFull { return }
            place.offset += UInt64(header.total)
            place.commit += 1
        }
    }

    private mutating func load(resumingMeta meta: Int, lines: UInt64) throws(JournalError) {
        buffer.reset()
        stretchStart = place.offset
        if meta > 0 {
            metaStart = place.offset
            metaBytes = meta
            try append(meta, at: place.offset)
            stretchStart = lines
        }
        let end = place.end.offset
        guard stretchStart < end else { return }
        let wanted = min(UInt64(budgetBytes + budgetBytes / 4 + 4096), end - stretchStart)
        try append(Int(wanted), at: stretchStart)
    }

    private func append(_ count: Int, at offset: UInt64) throws(JournalError) {
        do { try buffer.append(count, of: place.file, at: offset) } catch { throw JournalError(error) }
    }

    /// Where byte `offset` of the file lies in the buffer.
    private func at(_ offset: UInt64) -> Int {
        if metaBytes > 0 && offset >= metaStart && offset < metaStart + UInt64(metaBytes) {
            return Int(offset - metaStart)
        }
        return Int(offset - stretchStart) + metaBytes
    }

    /// Whether the buffer holds the file up to `end`, for which more is read only while there is nothing to return.
    private func holds(through end: UInt64) throws(JournalError) -> Bool {
        let missing = (end <= stretchStart ? 0 : at(end)) - buffer.count
        if missing <= 0 { return true }
        guard slices.isEmpty else { return false }
        guard end <= place.end.offset else { throw damaged() }
        let stretch = UInt64(buffer.count - metaBytes)
        try append(missing, at: stretchStart + stretch)
        guard at(end) <= buffer.count else { throw damaged() }
        return true
    }

    /// The next commit's header, its records verified and in the buffer; nil if they aren't there yet.
    private func header() throws(JournalError) -> CommitHeader? {
        if metaBytes == 0 || place.offset != metaStart {
            // A long way without a block that is wanted: begin anew from here.
            if slices.isEmpty && at(place.offset) > budgetBytes { return nil }
            guard try holds(through: place.offset + UInt64(CommitHeader.byteCount)) else { return nil }
        }
        let start = at(place.offset)
        guard let header = CommitHeader(buffer.bytes, at: start, room: place.end.offset - place.offset),
            header.generation == place.generation, header.number == place.commit
        else { throw damaged() }
        if metaBytes == 0 || place.offset != metaStart {
            guard try holds(through: place.offset + UInt64(header.linesOffset)) else { return nil }
        }
        guard header.verifies(buffer.bytes, at: start) else { throw damaged() }
        return header
    }

    private mutating func take(_ header: CommitHeader) throws(JournalError) {
        let start = at(place.offset)
        let commit = UnsafeRawBufferPointer(
            rebasing: buffer.bytes[start..<start + header.linesOffset])
        var blocks: [(BlockStamp, LineTable?)] = []
        let bad = damaged()
        try RecordCodec.read(
            commit, header: header, launches: &launches,
            visit: { (record) throws(JournalError) in
                if case .entry(.block(let stamp), let table) = record { blocks.append((stamp, table)) }
            }, bad: { _ in bad })
        if let first = blocks.first { note(first.0.range.first) }
        var lines = place.offset + UInt64(header.linesOffset)
        for (stamp, table) in blocks {
            if stamp.range.first > through {
                passedEnd = true
                return stop(header, at: lines)
            }
            let size = stamp.kept ? UInt64(stamp.byteCount) : 0
            if stamp.range.last >= from {
                let over = usedBytes + Int(size) > budgetBytes
                if !slices.isEmpty && over { return stop(header, at: lines) }
                guard try holds(through: lines + size) else { return stop(header, at: lines) }
                slices.append(try cut(stamp, table, commit: start, lines: at(lines)))
                usedBytes += Int(size)
                if stamp.range.last > through {
                    passedEnd = true
                    return stop(header, at: lines)
                }
            }
            lines += size
        }
    }

    private mutating func stop(_ header: CommitHeader, at lines: UInt64) {
        isFull = true
        stopMeta = header.linesOffset
        stopLines = lines
    }

    private mutating func note(_ seq: JournalSeq) {
        if let last = found.last, last.offset + LogTable.indexBytes > place.offset { return }
        found.append(LogTable.IndexEntry(seq: seq, offset: place.offset, commit: place.commit))
    }

    /// The part of a block that is wanted, its lines verified.
    private func cut(
        _ stamp: BlockStamp, _ table: LineTable?, commit: Int, lines: Int
    ) throws(JournalError) -> BlockSlice {
        guard
            let range = SeqRange(first: max(stamp.range.first, from), through: min(stamp.range.last, through))
        else { preconditionFailure("a block that is not wanted") }
        guard let table else {
            return BlockSlice(stamp: stamp.cut(to: range, 0), bytes: 0..<0, table: 0, isWhole: true)
        }
        let bytes = buffer.bytes
        let inBuffer = LineTable(offset: commit + table.offset, count: table.count)
        let skipped = Int(range.first.raw - stamp.range.first.raw)
        var first = lines
        for index in 0..<skipped { first += inBuffer.length(index, in: bytes) + 1 }
        var at = first
        var isWhole = true
        for index in skipped..<skipped + Int(range.count) {
            let end = at + inBuffer.length(index, in: bytes) + 1
            if !inBuffer.verifies(index, in: bytes, line: UnsafeRawBufferPointer(rebasing: bytes[at..<end])) {
                let seq = stamp.range.first.advanced(by: UInt64(index))
                let one = SeqRange(first: seq, count: 1)
                guard Ledger.isDone(one, through: place.doneThrough, discarded: place.discarded) else {
                    throw .damaged(file: place.name, what: "event \(seq) is not as it was written")
                }
                isWhole = false
            }
            at = end
        }
        return BlockSlice(
            stamp: stamp.cut(to: range, at - first), bytes: first..<at,
            table: inBuffer.offset + skipped * LineTable.entryBytes, isWhole: isWhole)
    }

    private func damaged() -> JournalError {
        .damaged(file: place.name, what: "commit \(place.commit), at byte \(place.offset), can't be read")
    }
}

extension BlockStamp {
    fileprivate func cut(to range: SeqRange, _ byteCount: Int) -> BlockStamp {
        BlockStamp(
            range: range, arrivalMs: arrivalMs, launch: launch, under: under, gated: gated, kept: kept,
            batch: batch, byteCount: range == self.range ? self.byteCount : byteCount)
    }
}
