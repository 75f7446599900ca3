import Ledger
import Lifecycle
import Wire

/// What the files of a state directory hold, read as opening them reads it, with not a byte written.
public enum Inspection {
    /// A live segment of the log.
    public struct Segment: Hashable, Sendable {
        public let file: String
        public let byteCount: UInt64
        /// Where its commits end.
        public let usedBytes: UInt64
        public let firstSeq: JournalSeq
        /// Before `firstSeq`: it has no events.
        public let lastSeq: JournalSeq
    }

    /// The log, and a look at its lines.
    public struct Journal {
        private let log: Log
        public let segments: [Segment]
        /// Of a commit that was being written: the next start drops them.
        public let tornBytes: UInt64

        public var ledger: Ledger { log.ledger }
        /// Over the log's whole life.
        public var commits: UInt64 { log.nextCommit - 1 }
        /// A kill has begun, and the next start finishes it.
        public var isPurging: Bool { log.purging != .none }
        public var newestFile: String { log.active.slot.name }

        init(_ log: Log) throws(JournalError) {
            self.log = log
            let ends = log.segmentEnds
            segments = log.live.indices.map { at in
                let segment = log.live[at]
                let last =
                    at + 1 < log.live.count
                    ? log.live[at + 1].record.facts.firstSeq.raw - 1 : log.ledger.lastSeq.raw
                return Segment(
                    file: segment.slot.name, byteCount: segment.slot.capacity,
                    usedBytes: at < ends.count ? UInt64(ends[at]) : segment.slot.capacity,
                    firstSeq: segment.record.facts.firstSeq, lastSeq: JournalSeq(last))
            }
            tornBytes = try Self.tornBytes(log)
        }

        /// Bytes of an earlier use of the file may lie there as well: they are of another generation.
        private static func tornBytes(_ log: Log) throws(JournalError) -> UInt64 {
            let slot = log.active.slot
            let buffer = ReadBuffer()
            let position = log.position
            _ = try disk(try buffer.append(CommitHeader.byteCount, of: slot.file, at: position))
            guard let header = CommitHeader(buffer.bytes, room: slot.capacity - min(position, slot.capacity)),
                header.generation == log.active.record.generation
            else { return 0 }
            return UInt64(header.total)
        }

        /// Reads every event of every segment, as it is read to be delivered.
        public func verifyEvents() throws(JournalError) {
            guard let first = segments.first, log.purging == .none else { return }
            let reader = log.reader()
            let buffer = ReadBuffer()
            var next = first.firstSeq
            while true {
                do throws(LogReadError) {
                    let slices = try reader.read(
                        from: next, through: ledger.lastSeq, budgetBytes: 1 << 20, into: buffer)
                    guard let last = slices.last else { return }
                    next = last.stamp.range.last.next
                } catch {
                    switch error {
                    case .failed(let fault): throw fault
                    case .gone(let available): next = max(available, next.next)
                    }
                }
            }
        }
    }

    /// The history, verified.
    public struct History {
        private let scan: HistoryScan
        private let reader: HistoryReader
        public let byteCount: UInt64
        /// Of a record that was being written: the next start drops them.
        public let tornBytes: UInt64

        public var head: HistoryHead? { scan.head }
        public var fileCount: Int { scan.index.files.count }
        public var newestFile: String { HistoryFormat.fileName(max(scan.fileNumber, 1)) }

        init(_ scan: HistoryScan, last: (any StorageFile)?) throws(JournalError) {
            self.scan = scan
            reader = HistoryReader(scan.index)
            var end: UInt64 = 0
            if let last { end = try disk(try last.byteCount()) }
            byteCount = scan.index.files.dropLast().reduce(end) { $0 + $1.byteCount }
            // A last line that lacks its line feed alone is whole.
            tornBytes = end - min(end, scan.byteCount)
        }

        /// As `History.verify`.
        public func verify(journalHead: HistoryHead?) throws(JournalError) {
            try WrittenHistory.verify(
                journalHead, head: head, reader: reader, fileNumber: max(scan.fileNumber, 1))
        }
    }

    /// The log in `storage`; nil where there is none.
    public static func journal(_ storage: any Storage) throws(JournalError) -> Journal? {
        guard let log = try Log.readOnly(storage) else { return nil }
        return try Journal(log)
    }

    /// The history in `storage`; the parameters are those of `History.open`.
    public static func history(
        _ storage: any Storage, answered: UInt64?,
        visit: (HistoryRecord) throws(FormatFault) -> Void
    ) throws(JournalError) -> History {
        let (scan, last) = try WrittenHistory.read(storage, answered: answered, visit: visit)
        return try History(scan, last: last)
    }

    /// How many dead letters there are, and the bytes of a torn end.
    public static func deadLetters(
        _ storage: any Storage, producers: ProducerTable
    ) throws(JournalError) -> (count: Int, tornBytes: UInt64) {
        guard let (letters, torn) = try DeadLetters.readOnly(storage, producers: producers) else {
            return (0, 0)
        }
        return (letters.count, torn)
    }

    /// The internal configuration; nil where there is none.
    public static func configuration(_ storage: any Storage) throws(JournalError) -> JSONValue? {
        try InternalConfiguration(storage: storage).read()
    }

    /// The versions that this host reads and writes.
    public static let formats: [(name: String, version: UInt64)] = [
        ("state", StateDirectory.version), ("journal", UInt64(SegmentHeader.version)),
        ("history", HistoryFormat.version), ("deadLetters", DeadLetterLine.version),
        ("configuration", InternalConfiguration.version),
    ]
}

/// The name is taken within `Inspection`.
private typealias WrittenHistory = History
