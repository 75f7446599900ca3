import Glibc

/// A producer's batch: one event a line, and where each stands in the order in which they were given.
///
/// Filled by the sending thread, then never changed: libzmq sends from its memory. That makes the
/// `@unchecked` true.
final class EventBlock: @unchecked Sendable {
    private let base: UnsafeMutableRawBufferPointer
    private(set) var byteCount = 0
    private(set) var eventCount = 0
    /// The place of the first event over all that the producer was given, from 0.
    let firstIndex: Int
    /// Places within the block, as it was first, of events that have been taken out since; ascending.
    private var removed: [Int] = []

    init(capacity: Int, firstIndex: Int) {
        base = .allocate(byteCount: max(capacity, 1), alignment: 16)
        self.firstIndex = firstIndex
    }

    deinit { base.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: base[..<byteCount]) }

    func hasRoom(for line: UnsafeRawBufferPointer) -> Bool { byteCount + line.count + 1 <= base.count }

    /// Adds one event without its line feed.
    func append(_ line: UnsafeRawBufferPointer) {
        precondition(hasRoom(for: line))
        UnsafeMutableRawBufferPointer(rebasing: base[byteCount...]).copyMemory(from: line)
        byteCount += line.count
        base[byteCount] = UInt8(ascii: "\n")
        byteCount += 1
        eventCount += 1
    }

    /// The place of event `index` of this block over all.
    func place(of index: Int) -> Int {
        var place = index
        for gone in removed where gone <= place { place += 1 }
        return firstIndex + place
    }

    /// The same without event `index`; nil where none would be left.
    func without(_ index: Int) -> EventBlock? {
        guard eventCount > 1, index < eventCount else { return nil }
        let rest = EventBlock(capacity: byteCount, firstIndex: firstIndex)
        var lines = Lines(bytes)
        var at = 0
        while let line = lines.next() {
            if at != index { rest.append(line) }
            at += 1
        }
        rest.removed = (removed + [place(of: index) - firstIndex]).sorted()
        return rest
    }
}

/// The lines of a piece of NDJSON, without line feeds and carriage returns; blank ones are left out.
struct Lines {
    private let bytes: UnsafeRawBufferPointer
    private var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Where the next line begins.
    var offset: Int { at }

    mutating func next() -> UnsafeRawBufferPointer? {
        while at < bytes.count {
            let start = at
            let rest = bytes.count - start
            let feed = memchr(bytes.baseAddress! + start, 10, rest)
            let end = feed.map { UnsafeRawPointer($0) - bytes.baseAddress! } ?? bytes.count
            at = min(end + 1, bytes.count)
            var last = end
            while last > start, bytes[last - 1] == 13 || bytes[last - 1] == 32 || bytes[last - 1] == 9 {
                last -= 1
            }
            if last > start { return UnsafeRawBufferPointer(rebasing: bytes[start..<last]) }
        }
        return nil
    }
}
