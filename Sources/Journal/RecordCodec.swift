import Ledger
import Lifecycle
import Wire

/// The numbers of the records' kinds on disk. 0 is padding.
enum RecordKind: UInt8 {
    case block = 1
    case batch = 2
    case known = 3
    case done = 4
    case forgotten = 5
    case discarded = 6
    case head = 7
    /// First in each segment: the whole ledger and the segments that are live.
    case checkpoint = 8
    /// Segments up to a number hold nothing that is needed any more.
    case retired = 9
    /// All events are void; their bytes are about to go.
    case purge = 10
    /// They are gone.
    case purged = 11
}

/// Where a block's line table stands within its commit's meta.
struct LineTable: Hashable {
    /// `length u32, gate u32, crc u32`. The length leaves the line feed out, the checksum takes it in.
    static let entryBytes = 12
    /// Of the first entry, from the first byte of the commit on.
    let offset: Int
    let count: Int
}

/// One record as it is read back.
enum StoredRecord {
    /// `table` is that of a kept block.
    case entry(Entry, table: LineTable?)
    case checkpoint(Checkpoint)
    case retired(through: UInt64)
    case purge
    case purged
}

enum RecordCodec {
    /// What a block takes beside its lines, at most.
    static func overhead(of stamp: BlockStamp) -> Int {
        let names = stamp.batch.map { $0.producer.utf8.count + $0.run.utf8.count } ?? 0
        return 80 + names + (stamp.kept ? Int(stamp.range.count) * LineTable.entryBytes : 0)
    }

    static func write(_ stamp: BlockStamp, lines block: LineBlock?, to writer: ByteWriter) {
        let flags: UInt8 = (stamp.gated ? 1 : 0) | (stamp.kept ? 2 : 0) | (stamp.batch != nil ? 4 : 0)
        writer.put(RecordKind.block.rawValue)
        writer.put(flags)
        writer.put(UInt16(0))
        writer.put(UInt32(stamp.range.count))
        writer.put(stamp.range.first.raw)
        writer.put(stamp.arrivalMs)
        write(stamp.launch, to: writer)
        writer.put(stamp.under.raw)
        writer.put(UInt32(stamp.byteCount))
        if let batch = stamp.batch { write(batch, to: writer) }
        guard stamp.kept else { return }
        guard let block else { preconditionFailure("a kept block comes with its lines") }
        writeTable(of: block, stamp: stamp, to: writer)
    }

    private static func writeTable(of block: LineBlock, stamp: BlockStamp, to writer: ByteWriter) {
        precondition(block.lines.count == Int(stamp.range.count) && block.byteCount == stamp.byteCount)
        block.withBytes { bytes in
            var offset = 0
            // By index: unoptimised, each step of an array's iterator allocates, and a test counts allocations.
            for index in block.lines.indices {
                let line = block.lines[index]
                let length = Int(line.length)
                precondition(Int(line.offset) == offset && bytes[offset + length] == 0x0A)
                writer.put(line.length)
                writer.put(UInt32(0))
                writer.put(Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[offset...offset + length])))
                offset += length + 1
            }
            precondition(offset == bytes.count, "lines follow each other without gaps")
        }
    }

    static func write(_ entry: Entry, to writer: ByteWriter) {
        switch entry {
        case .block(let stamp):
            precondition(!stamp.kept, "a kept block comes with its lines")
            write(stamp, lines: nil, to: writer)
        case .batch(let batch):
            writer.put(RecordKind.batch.rawValue)
            write(batch, to: writer)
        case .known(let collector, let cursor):
            writer.put(RecordKind.known.rawValue)
            writer.put(collector)
            writer.put(cursor.raw)
        case .done(let collector, let through):
            writer.put(RecordKind.done.rawValue)
            writer.put(collector)
            writer.put(through.raw)
        case .forgotten(let collector):
            writer.put(RecordKind.forgotten.rawValue)
            writer.put(collector)
        case .discarded(let range, let reason):
            writer.put(RecordKind.discarded.rawValue)
            writer.put(number(of: reason))
            writer.put(range.first.raw)
            writer.put(range.count)
        case .head(let head):
            writer.put(RecordKind.head.rawValue)
            write(head, to: writer)
        }
    }

    static func write(_ launch: LaunchID, to writer: ByteWriter) {
        let (high, low) = launch.halves
        writer.put(high)
        writer.put(low)
    }

    static func write(_ batch: ProducerBatch, to writer: ByteWriter) {
        writer.put(batch.producer)
        writer.put(batch.run)
        writer.put(batch.batch)
    }

    static func write(_ head: HistoryHead, to writer: ByteWriter) {
        writer.put(head.n)
        writer.put(head.hash)
    }

    static func writeRetired(through number: UInt64, to writer: ByteWriter) {
        writer.put(RecordKind.retired.rawValue)
        writer.put(number)
    }

    /// Ends a commit's records on a multiple of 8.
    static func pad(_ writer: ByteWriter) { writer.putZeros((8 - writer.count % 8) % 8) }

    private static func number(of reason: DiscardReason) -> UInt8 {
        switch reason {
        case .policy: 1
        case .aged: 2
        case .killed: 3
        case .unwritten: 4
        }
    }

    static func reason(_ number: UInt8) throws(BadRecord) -> DiscardReason {
        for reason in DiscardReason.allCases where self.number(of: reason) == number { return reason }
        throw BadRecord(what: "an unknown reason, \(number)")
    }
}

extension LaunchID {
    /// The 128 bits of the name.
    var halves: (high: UInt64, low: UInt64) {
        // Digit by digit: it is asked of each block.
        var (high, low): (UInt64, UInt64) = (0, 0)
        for digit in raw.utf8 {
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit <= UInt8(ascii: "9") ? digit - 48 : digit - 87)
        }
        return (high, low)
    }
}
