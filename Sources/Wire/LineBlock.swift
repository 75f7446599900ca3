import Lifecycle

/// Events as they travel: JSON objects, one a line, each line followed by one line feed.
///
/// A block owns its bytes. It is filled on the reactor's thread, lent to the journal's thread until its commit is
/// done, and then used again: only one thread holds it at a time, which is what makes `@unchecked Sendable` true.
public final class LineBlock: @unchecked Sendable {
    /// Where one event lies within `bytes`, its line feed left out.
    public struct Line: Hashable, Sendable {
        public var offset: UInt32
        public var length: UInt32
        /// The event's `type` between its quotation marks; `typeLength` is 0 when it has escapes (see `type(of:)`).
        public var typeOffset: UInt32
        public var typeLength: UInt32
        public init(offset: UInt32, length: UInt32, typeOffset: UInt32 = 0, typeLength: UInt32 = 0) {
            self.offset = offset
            self.length = length
            self.typeOffset = typeOffset
            self.typeLength = typeLength
        }
    }

    /// Readable bytes that must follow the content for the JSON reader.
    public static let padding = 64

    public private(set) var capacity: Int
    /// Bytes in use: the lines with their line feeds.
    public var byteCount: Int = 0
    public var lines: [Line] = []
    /// The types that have escapes, by line, unescaped.
    public var escapedTypes: [Int: String] = [:]
    private var base: UnsafeMutableRawPointer

    /// Its bytes are zeros.
    public init(capacity: Int = 64 << 10) {
        self.capacity = capacity
        base = .allocate(byteCount: capacity + Self.padding, alignment: 64)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: capacity + Self.padding)
    }

    deinit { base.deallocate() }

    /// Forgets the content and makes room for `capacity` bytes, whose values are undefined until written.
    public func reset(capacity wanted: Int) {
        byteCount = 0
        lines.removeAll(keepingCapacity: true)
        if !escapedTypes.isEmpty { escapedTypes = [:] }
        guard wanted > capacity else { return }
        base.deallocate()
        capacity = wanted
        base = .allocate(byteCount: wanted + Self.padding, alignment: 64)
    }

    public var summary: BlockSummary { BlockSummary(count: lines.count, byteCount: byteCount) }

    /// The bytes in use.
    public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(start: base, count: byteCount))
    }

    /// The whole capacity, the padding left out.
    public func withMutableCapacity<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeMutableRawBufferPointer(start: base, count: capacity))
    }

    /// The event's `type`, unescaped.
    public func type(of index: Int) -> String {
        if let escaped = escapedTypes[index] { return escaped }
        let line = lines[index]
        let bytes = UnsafeRawBufferPointer(start: base + Int(line.typeOffset), count: Int(line.typeLength))
        return String(decoding: bytes, as: UTF8.self)
    }
}
