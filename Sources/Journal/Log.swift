import Ledger
import Lifecycle
import Wire

/// One record to be committed.
public enum LogRecord: Sendable {
    /// A block of events. Its lines are written only if `stamp.kept`, and lie in the block without gaps.
    case block(BlockStamp, LineBlock)
    /// Anything else; a block only if it is not kept.
    case entry(Entry)
}

/// What became of a commit.
public struct CommitReceipt: Hashable, Sendable {
    /// The commit's number: one more each time, over the log's whole life.
    public let number: UInt64
    /// The last event's number, all in all.
    public let lastSeq: JournalSeq
    /// Bytes that went to disk.
    public let byteCount: Int
}

/// The events' log: an endless sequence of commits in segment files of a fixed size.
///
/// A commit is one write and one sync, and is there wholly or not at all. Each segment begins with a *checkpoint*, the
/// fold of all before, so that opening reads one segment, whatever is queued. Files are zeroed ahead and used again
/// once all in them is done. A failed sync is final: every call after it throws.
///
/// Single-threaded, and deterministic given `random`. Other threads read through `reader()`.
public final class Log {
    public struct Configuration: Hashable, Sendable {
        /// Bytes of a segment file; a multiple of 4,096 in production, at least 2,048.
        public var segmentBytes = 64 << 20
        /// Files without live events that are kept for later.
        public var freeSegments = 2
        /// Producers whose last batch is remembered.
        public var producerLimit = 10_000
        public init() {}
    }

    /// A file that holds a segment, or may.
    struct Slot {
        let name: String
        let file: any StorageFile
        let capacity: UInt64
        /// Nil if it is known to hold no bytes of an earlier life.
        var residue: Residue?
    }

    /// A part of a file that may still hold bytes of old events.
    struct Residue {
        var start: UInt64
        var end: UInt64
        /// When the newest of them was read; `Int64.min` where that is not known.
        var newestMs: Int64
    }

    /// How far a kill has come.
    enum PurgeStage: Hashable {
        case none
        /// The newest segment ends in a `purge` record.
        case recorded
        /// The newest segment is an emptied one; bytes of the others may still be there.
        case emptied
    }

    struct Segment {
        var record: SegmentRecord
        var slot: Slot
    }

    let storage: any Storage
    let configuration: Configuration
    let random: () -> UInt64
    let table = LogTable()

    /// What all commits so far add up to.
    public internal(set) var ledger: Ledger
    /// Oldest first; the last one is written to.
    var live: [Segment] = []
    var free: [Slot] = []
    /// The file that is being zeroed for later, and how far that is.
    var making: (slot: Slot, through: UInt64)?
    /// Where the next commit goes.
    var position: UInt64 = 0
    var nextCommit: UInt64 = 1
    var purging = PurgeStage.none
    /// Committed since `prepare()` was called last.
    var unpreparedBytes = 0
    var eraser = EraseCursor()
    var failure: JournalError?

    private let writer = ByteWriter()
    let control = ByteWriter()
    private var parts: [UnsafeRawBufferPointer] = []
    private let zeros = LineBlock(capacity: 8)

    init(storage: any Storage, configuration: Configuration, random: @escaping () -> UInt64) {
        precondition(configuration.segmentBytes >= 2048 && configuration.segmentBytes % 8 == 0)
        precondition(configuration.segmentBytes <= 1 << 30 && configuration.freeSegments >= 1)
        self.storage = storage
        self.configuration = configuration
        self.random = random
        ledger = Ledger(producerLimit: configuration.producerLimit)
    }

    /// Room at each segment's end that only small commits without blocks may use, so that a hold can be recorded
    /// when the disk is full.
    var reserveBytes: UInt64 { UInt64(min(64 << 10, configuration.segmentBytes / 8)) }
    /// The reserve's last part, kept for a kill.
    var purgeReserveBytes: UInt64 { 128 }
    /// The part before it, kept for what lets segments be used again: an ack, or a collector that is forgotten. Without
    /// it, whatever else is noted on a full disk could leave no room for the one entry that makes room.
    var releaseReserveBytes: UInt64 { reserveBytes < 1024 ? 0 : min(4 << 10, reserveBytes / 4) }
    /// What the record of segments that are free takes.
    var retiredBytes: UInt64 { 64 }

    /// A commit must not take more, as `cost(of:)` counts, 64 bytes aside.
    public var maxCommitBytes: Int { configuration.segmentBytes / 2 }

    /// Bytes of lines that a block may always have: its table takes 12 bytes a line, and an event with all that
    /// CloudEvents require has more than 48. The names of producer and run may have 1 KiB each.
    public var maxBlockBytes: Int { maxCommitBytes / 4 * 3 - min(4096, maxCommitBytes / 8) }

    /// Bytes that a record takes in a commit, at most; a commit takes 64 more.
    public static func cost(of record: LogRecord) -> Int {
        switch record {
        case .block(let stamp, _): RecordCodec.overhead(of: stamp) + (stamp.kept ? stamp.byteCount : 0)
        case .entry(let entry): cost(of: entry)
        }
    }

    private static func cost(of entry: Entry) -> Int {
        switch entry {
        case .block(let stamp): RecordCodec.overhead(of: stamp)
        case .batch(let batch): 32 + batch.producer.utf8.count + batch.run.utf8.count
        case .known(let collector, _), .done(let collector, _), .forgotten(let collector):
            16 + collector.utf8.count
        case .discarded: 24
        case .head: 80
        case .app(let report): 16 + report.app.utf8.count
        }
    }

    /// The segments that may still hold events, oldest first.
    public var segments: [SegmentFacts] { live.map(\.record.facts) }

    /// A reader of what is committed, for any one thread.
    public func reader() -> LogReader { LogReader(table: table) }

    /// Writes the records and syncs; once it returns they are durable and readers see them.
    ///
    /// - Parameters:
    ///   - doneThrough: Segments wholly at or before it, and before all cursors, may be used again.
    /// - Throws: `.full` when there is no room: the log is as it was and goes on. Any other error is final.
    @discardableResult
    public func commit(
        _ records: [LogRecord], doneThrough: JournalSeq = JournalSeq(.max)
    ) throws(JournalError) -> CommitReceipt {
        try checkUsable()
        if purging != .none { try finishPurge() }
        var holdsBlocks = false
        parts.removeAll(keepingCapacity: true)
        writer.reset()
        CommitHeader.reserve(in: writer)
        var lineBytes = 0
        for record in records {
            switch record {
            case .block(let stamp, let block):
                holdsBlocks = true
                RecordCodec.write(stamp, lines: block, to: writer)
                if stamp.kept { lineBytes += stamp.byteCount }
            case .entry(let entry):
                if case .block = entry { holdsBlocks = true }
                if case .batch = entry { holdsBlocks = true }
                RecordCodec.write(entry, to: writer)
            }
        }
        RecordCodec.pad(writer)
        let total = UInt64((writer.count + lineBytes + 7) & ~7)
        precondition(total <= UInt64(maxCommitBytes), "a commit is bounded by its caller")
        try makeRoom(for: total, records, small: !holdsBlocks, doneThrough: doneThrough)
        let receipt = try write(records, lineBytes: lineBytes)
        return receipt
    }

    private func makeRoom(
        for total: UInt64, _ records: [LogRecord], small: Bool, doneThrough: JournalSeq
    ) throws(JournalError) {
        if position + total + reserveBytes <= active.slot.capacity { return }
        do {
            try rotate(doneThrough: doneThrough)
        } catch {
            guard error == .full, small else { throw error }
            var kept = purgeReserveBytes
            if releaseReserveBytes > 0 {
                kept += releases(records, doneThrough: doneThrough) ? retiredBytes : releaseReserveBytes
            }
            guard position + total + kept <= active.slot.capacity else { throw error }
        }
    }

    /// Whether a segment can be used again once these are there.
    private func releases(_ records: [LogRecord], doneThrough: JournalSeq) -> Bool {
        guard live.count > 1 else { return false }
        var after = ledger
        for case .entry(let entry) in records { after.apply(entry) }
        return canRetire(1, through: min(doneThrough, after.doneThrough))
    }

    private func write(_ records: [LogRecord], lineBytes: Int) throws(JournalError) -> CommitReceipt {
        let total = CommitHeader.finish(
            in: writer, number: nextCommit, generation: active.record.generation, lineBytes: lineBytes)
        parts.append(writer.bytes)
        for case .block(let stamp, let block) in records where stamp.kept {
            // The block keeps its bytes in place as long as it lives, and `records` holds it until after the write.
            parts.append(block.withBytes { $0 })
        }
        let padding = total - writer.count - lineBytes
        if padding > 0 {
            parts.append(zeros.withMutableCapacity { UnsafeRawBufferPointer(rebasing: $0[..<padding]) })
        }
        try withExtendedLifetime(records) { () throws(JournalError) in try writeAndSync(parts) }
        let entry = fold(records, offset: position)
        advance(by: UInt64(total))
        table.publish(entry, end: end, ledger: ledger)
        return CommitReceipt(number: nextCommit - 1, lastSeq: ledger.lastSeq, byteCount: total)
    }

    /// One commit without lines, in the newest segment; used for the log's own records.
    func commitControl(_ body: (ByteWriter) -> Void) throws(JournalError) {
        control.reset()
        CommitHeader.reserve(in: control)
        body(control)
        RecordCodec.pad(control)
        let total = CommitHeader.finish(
            in: control, number: nextCommit, generation: active.record.generation, lineBytes: 0)
        guard position + UInt64(total) <= active.slot.capacity else { throw .full }
        try writeAndSync([control.bytes])
        advance(by: UInt64(total))
        table.publish(nil, end: end, ledger: ledger)
    }

    private func writeAndSync(_ parts: [UnsafeRawBufferPointer]) throws(JournalError) {
        let file = active.slot.file
        let position = position
        do {
            try attempt { () throws(StorageError) in try file.write(parts, at: position) }
        } catch {
            // Part of it may stay behind the last commit, where nothing reads it.
            let capacity = active.slot.capacity
            live[live.count - 1].slot.residue = Residue(start: position, end: capacity, newestMs: .min)
            throw error
        }
        try sync(file)
    }

    private func fold(_ records: [LogRecord], offset: UInt64) -> LogTable.IndexEntry? {
        var first: JournalSeq?
        for record in records {
            switch record {
            case .block(let stamp, _):
                if first == nil { first = stamp.range.first }
                take(.block(stamp))
            case .entry(let entry):
                if case .block(let stamp) = entry, first == nil { first = stamp.range.first }
                take(entry)
            }
        }
        return first.map { LogTable.IndexEntry(seq: $0, offset: offset, commit: nextCommit) }
    }

    /// Folds one entry into the ledger and into what is known of the newest segment.
    func take(_ entry: Entry) {
        if case .block(let stamp) = entry {
            let last = live.count - 1
            let facts = live[last].record.facts
            live[last].record.facts.firstArrivalMs = facts.firstArrivalMs ?? stamp.arrivalMs
            live[last].record.facts.newestArrivalMs = max(facts.newestArrivalMs ?? .min, stamp.arrivalMs)
        }
        ledger.apply(entry)
    }

    private func advance(by total: UInt64) {
        position += total
        nextCommit += 1
        unpreparedBytes += Int(total)
    }

    var active: Segment { live[live.count - 1] }
    var end: LogTable.End { LogTable.End(offset: position, commit: nextCommit) }

    func checkUsable() throws(JournalError) {
        if let failure { throw failure }
    }

    /// A call after whose failure, unless there is just no room, the log is used no more.
    func attempt<Result>(
        _ body: () throws(StorageError) -> Result
    ) throws(JournalError) -> Result {
        do throws(StorageError) {
            return try body()
        } catch {
            let wrapped = JournalError(error)
            if wrapped != .full { failure = wrapped }
            throw wrapped
        }
    }

    /// Syncs; a failure is final.
    func sync(_ file: any StorageFile) throws(JournalError) {
        do throws(StorageError) {
            try file.sync()
        } catch {
            failure = .syncFailed(error)
            throw .syncFailed(error)
        }
    }

    func syncDirectory() throws(JournalError) {
        do throws(StorageError) {
            try storage.syncDirectory()
        } catch {
            failure = .syncFailed(error)
            throw .syncFailed(error)
        }
    }
}
