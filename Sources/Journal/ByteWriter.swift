/// Little-endian bytes, gathered in a buffer that is used again and again.
final class ByteWriter {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int = 16 << 10) {
        self.capacity = capacity
        base = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit { base.deallocate() }

    /// What was written. Valid until the next call that changes the writer.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    func reset() { count = 0 }

    func put<Value: FixedWidthInteger>(_ value: Value) {
        reserve(MemoryLayout<Value>.size)
        (base + count).storeBytes(of: value.littleEndian, as: Value.self)
        count += MemoryLayout<Value>.size
    }

    /// Puts `value` where something was written before.
    func patch<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        precondition(offset >= 0 && offset + MemoryLayout<Value>.size <= count)
        (base + offset).storeBytes(of: value.littleEndian, as: Value.self)
    }

    func putZeros(_ number: Int) {
        reserve(number)
        (base + count).initializeMemory(as: UInt8.self, repeating: 0, count: number)
        count += number
    }

    /// UTF-8 after its length in 16 bits.
    func put(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            precondition(utf8.count <= UInt16.max, "names are bounded where they come in")
            put(UInt16(utf8.count))
            reserve(utf8.count)
            if let start = utf8.baseAddress { (base + count).copyMemory(from: start, byteCount: utf8.count) }
            count += utf8.count
        }
    }

    private func reserve(_ number: Int) {
        guard count + number > capacity else { return }
        let larger = max(capacity * 2, count + number)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
        moved.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = moved
        capacity = larger
    }
}
