import Glibc

/// Reads a file of lines piece by piece, with memory bounded by its longest line.
enum HistoryLines {
    private static let chunkBytes = 256 << 10

    /// One line, its line feed left out.
    struct Line {
        let bytes: UnsafeRawBufferPointer
        /// Where it begins in the file.
        let offset: UInt64
        /// False for a last line without a line feed.
        let isTerminated: Bool
    }

    /// Calls `body` for each line between the offsets, until it returns false.
    ///
    /// - Parameter name: the file's, for errors.
    static func forEach(
        in file: any StorageFile, name: String, from start: UInt64 = 0, to end: UInt64, maxLineBytes: Int,
        _ body: (Line) throws(JournalError) -> Bool
    ) throws(JournalError) {
        var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 16)
        defer { buffer.deallocate() }
        var position = start  // of the buffer's first byte
        var carried = 0  // bytes of a line that began in an earlier piece
        while true {
            if carried == buffer.count {
                guard buffer.count < maxLineBytes else {
                    let what = "the line at byte \(position) is longer than \(maxLineBytes) bytes"
                    throw .damaged(file: name, what: what)
                }
                let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: carried * 2, alignment: 16)
                larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
                buffer.deallocate()
                buffer = larger
            }
            let wanted = min(UInt64(buffer.count - carried), end - position - UInt64(carried))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[carried..<(carried + Int(wanted))])
            let offset = position + UInt64(carried)
            let count = wanted == 0 ? 0 : try disk(try file.read(into: piece, at: offset))
            guard count > 0 else {
                guard carried > 0 else { return }
                let rest = UnsafeRawBufferPointer(rebasing: buffer[..<carried])
                _ = try body(Line(bytes: rest, offset: position, isTerminated: false))
                return
            }
            let filled = UnsafeRawBufferPointer(rebasing: buffer[..<(carried + count)])
            var lineStart = 0
            var searched = carried
            while let feed = firstFeed(in: filled, from: searched) {
                let bytes = UnsafeRawBufferPointer(rebasing: filled[lineStart..<feed])
                let offset = position + UInt64(lineStart)
                guard try body(Line(bytes: bytes, offset: offset, isTerminated: true)) else { return }
                lineStart = feed + 1
                searched = lineStart
            }
            carried = filled.count - lineStart
            position += UInt64(lineStart)
            if lineStart > 0, carried > 0, let base = buffer.baseAddress {
                memmove(base, base + lineStart, carried)
            }
        }
    }

    private static func firstFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress else { return nil }
        guard let feed = memchr(base + start, 10, bytes.count - start) else { return nil }
        return UnsafeRawPointer(feed) - base
    }
}
