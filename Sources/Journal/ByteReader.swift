/// Bytes that aren't what the format says.
struct BadRecord: Error {
    let what: String
}

/// Reads what `ByteWriter` wrote, never past the end.
struct ByteReader {
    let bytes: UnsafeRawBufferPointer
    private(set) var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }

    mutating func take<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(BadRecord) -> Value {
        let size = MemoryLayout<Value>.size
        guard bytes.count - at >= size else { throw BadRecord(what: "a number ends early") }
        defer { at += size }
        return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: Value.self))
    }

    mutating func skip(_ count: Int) throws(BadRecord) {
        guard count >= 0, bytes.count - at >= count else { throw BadRecord(what: "a table ends early") }
        at += count
    }

    mutating func takeString() throws(BadRecord) -> String {
        let length = Int(try take(UInt16.self))
        guard bytes.count - at >= length else { throw BadRecord(what: "a name ends early") }
        defer { at += length }
        return String(decoding: bytes[at..<at + length], as: UTF8.self)
    }

    /// A count of things of at least `size` bytes each, so that a wild one can't reserve much.
    mutating func takeCount(ofSize size: Int) throws(BadRecord) -> Int {
        let count = Int(try take(UInt32.self))
        guard count <= (bytes.count - at) / size else { throw BadRecord(what: "a table is too long") }
        return count
    }
}
