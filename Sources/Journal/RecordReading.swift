import Ledger
import Lifecycle

extension RecordCodec {
    /// Hands the records of one commit to `visit`, in order.
    ///
    /// - Parameters:
    ///   - bytes: The commit from its first byte on; at least its header and its meta.
    ///   - launches: Names that were read before; most blocks share one.
    static func read<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, header: CommitHeader, launches: inout LaunchCache,
        visit: (StoredRecord) throws(Failure) -> Void, bad: (BadRecord) -> Failure
    ) throws(Failure) {
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[..<header.linesOffset]))
        var lineBytes = 0
        do throws(BadRecord) { try reader.skip(CommitHeader.byteCount) } catch { throw bad(error) }
        while true {
            let record: StoredRecord?
            do throws(BadRecord) { record = try next(&reader, &launches) } catch { throw bad(error) }
            guard let record else { break }
            if case .entry(.block(let stamp), .some) = record { lineBytes += stamp.byteCount }
            try visit(record)
        }
        guard header.total == (header.linesOffset + lineBytes + 7) & ~7 else {
            throw bad(BadRecord(what: "a commit's length is not that of its records"))
        }
    }

    private static func next(
        _ reader: inout ByteReader, _ launches: inout LaunchCache
    ) throws(BadRecord) -> StoredRecord? {
        var number: UInt8 = 0
        while number == 0 {
            if reader.isAtEnd { return nil }
            number = try reader.take(UInt8.self)
        }
        guard let kind = RecordKind(rawValue: number) else {
            throw BadRecord(what: "a record of an unknown kind, \(number)")
        }
        switch kind {
        case .block: return try takeBlock(&reader, &launches)
        case .batch: return .entry(.batch(try takeBatch(&reader)), table: nil)
        case .known:
            let collector = try reader.takeString()
            return .entry(.known(collector: collector, cursor: JournalSeq(try reader.take())), table: nil)
        case .done:
            let collector = try reader.takeString()
            return .entry(.done(collector: collector, through: JournalSeq(try reader.take())), table: nil)
        case .forgotten: return .entry(.forgotten(collector: try reader.takeString()), table: nil)
        case .discarded:
            let reason = try reason(try reader.take())
            return .entry(.discarded(try takeRange(&reader), reason), table: nil)
        case .head: return .entry(.head(try takeHead(&reader)), table: nil)
        case .app: return .entry(.app(try takeApp(&reader)), table: nil)
        case .checkpoint: return .checkpoint(try Checkpoint(&reader))
        case .retired: return .retired(through: try reader.take())
        case .purge: return .purge
        case .purged: return .purged
        }
    }

    private static func takeBlock(
        _ reader: inout ByteReader, _ launches: inout LaunchCache
    ) throws(BadRecord) -> StoredRecord {
        let flags = try reader.take(UInt8.self)
        guard flags & ~7 == 0 else { throw BadRecord(what: "a block with unknown flags") }
        try reader.skip(2)
        let count = UInt64(try reader.take(UInt32.self))
        let range = try range(first: try reader.take(), count: count)
        let arrivalMs = try reader.take(Int64.self)
        let launch = launches.launch(high: try reader.take(), low: try reader.take())
        let under = TransitionSeq(try reader.take())
        let byteCount = Int(try reader.take(UInt32.self))
        let batch = flags & 4 != 0 ? try takeBatch(&reader) : nil
        let kept = flags & 2 != 0
        let table = kept ? LineTable(offset: reader.at, count: Int(count)) : nil
        if kept { try skipTable(&reader, count: Int(count), byteCount: byteCount) }
        let stamp = BlockStamp(
            range: range, arrivalMs: arrivalMs, launch: launch, under: under, gated: flags & 1 != 0,
            kept: kept,
            batch: batch, byteCount: byteCount)
        return .entry(.block(stamp), table: table)
    }

    /// Checks that the table's lines are the block's bytes.
    private static func skipTable(
        _ reader: inout ByteReader, count: Int, byteCount: Int
    ) throws(BadRecord) {
        let start = reader.at
        try reader.skip(count * LineTable.entryBytes)
        var sum = 0
        for index in 0..<count {
            let length = reader.bytes.loadUnaligned(
                fromByteOffset: start + index * LineTable.entryBytes, as: UInt32.self)
            sum += Int(UInt32(littleEndian: length)) + 1
        }
        guard sum == byteCount else { throw BadRecord(what: "a block's lines are not its bytes") }
    }

    static func takeBatch(_ reader: inout ByteReader) throws(BadRecord) -> ProducerBatch {
        let producer = try reader.takeString()
        let run = try reader.takeString()
        return ProducerBatch(producer: producer, run: run, batch: try reader.take())
    }

    static func takeHead(_ reader: inout ByteReader) throws(BadRecord) -> HistoryHead {
        let n = try reader.take(UInt64.self)
        return HistoryHead(n: n, hash: try reader.takeString())
    }

    static func takeRange(_ reader: inout ByteReader) throws(BadRecord) -> SeqRange {
        let first = try reader.take(UInt64.self)
        return try range(first: first, count: try reader.take())
    }

    private static func range(first: UInt64, count: UInt64) throws(BadRecord) -> SeqRange {
        guard first > 0, count > 0, !first.addingReportingOverflow(count).overflow else {
            throw BadRecord(what: "a range that holds nothing")
        }
        return SeqRange(first: JournalSeq(first), count: count)
    }
}

/// The last launch's name that was read: making one costs an allocation.
struct LaunchCache {
    private var high: UInt64 = 0
    private var low: UInt64 = 0
    private var last: LaunchID?

    mutating func launch(high: UInt64, low: UInt64) -> LaunchID {
        if let last, self.high == high, self.low == low { return last }
        let launch = LaunchID(high: high, low: low)
        (self.high, self.low, last) = (high, low, launch)
        return launch
    }
}
