/// Room for what is read of the log, used again from call to call. One thread at a time holds it.
public final class ReadBuffer {
    private var base: UnsafeMutableRawPointer
    private(set) var capacity: Int
    /// Bytes in use.
    public internal(set) var count = 0

    public init(capacity: Int = 64 << 10) {
        self.capacity = max(capacity, 64)
        base = .allocate(byteCount: self.capacity, alignment: 64)
    }

    deinit { base.deallocate() }

    /// What was read. The slices' ranges count from its first byte.
    public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(bytes)
    }

    /// Valid until the next call that changes the buffer.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
    var mutableBytes: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: base, count: count)
    }

    func reset() { count = 0 }

    /// Makes the buffer `wanted` bytes long; what was in it stays.
    func resize(to wanted: Int) {
        if wanted > capacity {
            let larger = max(wanted, capacity * 2)
            let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
            moved.copyMemory(from: base, byteCount: count)
            base.deallocate()
            base = moved
            capacity = larger
        }
        count = wanted
    }

    /// Appends up to `wanted` bytes of the file; returns how many there were.
    @discardableResult
    func append(
        _ wanted: Int, of file: any StorageFile, at offset: UInt64
    ) throws(StorageError) -> Int {
        let start = count
        resize(to: start + wanted)
        let room = UnsafeMutableRawBufferPointer(start: base + start, count: wanted)
        let read = try file.read(into: room, at: offset)
        count = start + read
        return read
    }
}
