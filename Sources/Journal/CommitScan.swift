import Ledger
import Lifecycle

/// Reads commits of one segment file one after the other, lines aside unless they are asked for.
struct CommitScan {
    let slot: Log.Slot
    let generation: UInt64
    let buffer = ReadBuffer()
    var launches = LaunchCache()

    init(slot: Log.Slot, generation: UInt64) {
        self.slot = slot
        self.generation = generation
    }

    /// The valid commit of this segment's life at `offset`; its header and records are in `buffer` then.
    func commit(at offset: UInt64) throws(StorageError) -> CommitHeader? {
        buffer.reset()
        guard offset < slot.capacity else { return nil }
        try buffer.append(CommitHeader.byteCount, of: slot.file, at: offset)
        guard let header = CommitHeader(buffer.bytes, room: slot.capacity - offset),
            header.generation == generation
        else { return nil }
        try buffer.append(header.meta, of: slot.file, at: offset + UInt64(CommitHeader.byteCount))
        return header.verifies(buffer.bytes) ? header : nil
    }

    /// The records of the commit that `commit(at:)` has read.
    mutating func records(of header: CommitHeader) throws(BadRecord) -> [StoredRecord] {
        var records: [StoredRecord] = []
        try RecordCodec.read(
            buffer.bytes, header: header, launches: &launches,
            visit: { (record) throws(BadRecord) in records.append(record) }, bad: { $0 })
        return records
    }

    /// Whether a valid commit with a number beyond `number` begins at or behind `start`, at any multiple of 8.
    /// `generation` nil: of any life of the file.
    static func holdsCommit(
        beyond number: UInt64, in slot: Log.Slot, from start: UInt64, generation: UInt64?, byteCount: UInt64
    ) throws(StorageError) -> Bool {
        let piece = 1 << 20
        let window = ReadBuffer(capacity: piece + CommitHeader.byteCount)
        let whole = ReadBuffer()
        var at = start
        while at < byteCount {
            window.reset()
            try window.append(piece + CommitHeader.byteCount, of: slot.file, at: at)
            var inside = 0
            while inside < piece && inside + CommitHeader.byteCount <= window.count {
                defer { inside += 8 }
                let magic = window.bytes.loadUnaligned(fromByteOffset: inside, as: UInt32.self)
                guard UInt32(littleEndian: magic) == CommitHeader.magic else { continue }
                let offset = at + UInt64(inside)
                guard let header = CommitHeader(window.bytes, at: inside, room: byteCount - offset),
                    header.number > number, generation == nil || header.generation == generation
                else { continue }
                whole.reset()
                try whole.append(header.linesOffset, of: slot.file, at: offset)
                if header.verifies(whole.bytes) { return true }
            }
            at += UInt64(piece)
        }
        return false
    }
}

extension LineTable {
    /// Whether line `index` is as it was written. `bytes` begin with the commit's header, `line` is the line and its
    /// line feed.
    func verifies(_ index: Int, in bytes: UnsafeRawBufferPointer, line: UnsafeRawBufferPointer) -> Bool {
        let at = offset + index * Self.entryBytes + 8
        return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
            == Checksum.of(line)
    }

    /// Bytes of line `index`, its line feed left out.
    func length(_ index: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        let at = offset + index * Self.entryBytes
        return Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
    }
}
