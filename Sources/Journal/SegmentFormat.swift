/// The head of a segment file: 64 bytes, so that a disk writes it whole or not at all.
///
///     0 magic u64   8 version u32   12 zero u32   16 generation u64   24 number u64   32 capacity u64
///     40 zeros      60 crc u32 over bytes 0..<60
///
/// Everything is little-endian. Commits follow, the first of them a checkpoint.
struct SegmentHeader: Hashable {
    static let byteCount = 64
    static let version: UInt32 = 1
    /// "HGSEGMNT".
    static let magic: UInt64 = 0x544E_4D47_4553_4748

    /// Random; new each time the file is used again.
    let generation: UInt64
    /// 1 for the log's first segment, and one more for each that follows.
    let number: UInt64
    /// Bytes of the file that the segment may use.
    let capacity: UInt64

    func write(to writer: ByteWriter) {
        let start = writer.count
        writer.put(Self.magic)
        writer.put(Self.version)
        writer.put(UInt32(0))
        writer.put(generation)
        writer.put(number)
        writer.put(capacity)
        writer.putZeros(20)
        writer.put(Checksum.of(UnsafeRawBufferPointer(rebasing: writer.bytes[start..<start + 60])))
    }

    enum Reading: Hashable {
        case valid(SegmentHeader)
        case unknownVersion(UInt32)
        case invalid
    }

    static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard bytes.count >= byteCount else { return .invalid }
        func load<Value: FixedWidthInteger>(_ offset: Int, _: Value.Type) -> Value {
            Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
        }
        guard load(0, UInt64.self) == magic,
            load(60, UInt32.self) == Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[..<60]))
        else { return .invalid }
        let version = load(8, UInt32.self)
        guard version == Self.version else { return .unknownVersion(version) }
        return .valid(
            SegmentHeader(
                generation: load(16, UInt64.self), number: load(24, UInt64.self),
                capacity: load(32, UInt64.self)))
    }
}

/// The head of a commit: 32 bytes, at a multiple of 8.
///
///     0 magic u32   4 crc u32   8 number u64   16 generation u64   24 total u32   28 meta u32
///
/// `meta` bytes of records follow, then the lines of its blocks in the order of their records, then zeros up to
/// `total`, a multiple of 8. The checksum covers bytes 8..<32 + meta and is seeded with the generation. Lines have
/// checksums of their own in their block's table, so that single lines can be blanked in place.
struct CommitHeader: Hashable {
    static let byteCount = 32
    /// "HGCM".
    static let magic: UInt32 = 0x4D43_4748

    /// One more for each commit, over the log's whole life.
    let number: UInt64
    let generation: UInt64
    let total: Int
    let meta: Int
    let crc: UInt32

    /// Where the lines begin, from the commit's first byte on.
    var linesOffset: Int { Self.byteCount + meta }

    /// Nil unless it looks like one and can be all there in `room` bytes. The checksum is not verified.
    init?(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0, room: UInt64) {
        guard bytes.count - offset >= Self.byteCount else { return nil }
        func load<Value: FixedWidthInteger>(_ at: Int, _: Value.Type) -> Value {
            Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + at, as: Value.self))
        }
        guard load(0, UInt32.self) == Self.magic else { return nil }
        total = Int(load(24, UInt32.self))
        meta = Int(load(28, UInt32.self))
        guard total % 8 == 0, meta % 8 == 0, Self.byteCount + meta <= total, UInt64(total) <= room else {
            return nil
        }
        crc = load(4, UInt32.self)
        number = load(8, UInt64.self)
        generation = load(16, UInt64.self)
    }

    /// Whether `bytes` (the header and all of `meta`, from `offset` on) are what was written.
    func verifies(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) -> Bool {
        guard bytes.count - offset >= linesOffset else { return false }
        let covered = UnsafeRawBufferPointer(rebasing: bytes[offset + 8..<offset + linesOffset])
        return Checksum.of(covered, seed: Checksum.seed(generation: generation)) == crc
    }

    /// Leaves room for a header at the writer's end; the records follow.
    static func reserve(in writer: ByteWriter) { writer.putZeros(byteCount) }

    /// Fills in the header at `start`, once the records have been written behind it.
    /// - Returns: the commit's bytes, all in all.
    @discardableResult
    static func finish(
        in writer: ByteWriter, at start: Int = 0, number: UInt64, generation: UInt64, lineBytes: Int
    ) -> Int {
        let meta = writer.count - start - byteCount
        precondition(meta % 8 == 0, "records are padded before the header is filled in")
        let total = (byteCount + meta + lineBytes + 7) & ~7
        writer.patch(magic, at: start)
        writer.patch(number, at: start + 8)
        writer.patch(generation, at: start + 16)
        writer.patch(UInt32(total), at: start + 24)
        writer.patch(UInt32(meta), at: start + 28)
        let covered = UnsafeRawBufferPointer(rebasing: writer.bytes[(start + 8)...])
        writer.patch(Checksum.of(covered, seed: Checksum.seed(generation: generation)), at: start + 4)
        return total
    }
}
