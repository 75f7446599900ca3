import Lifecycle
import Platform

/// Where the history's records are: one entry for each 64 of them, and only for those that are synced.
struct HistoryIndex: Sendable {
    static let stride: UInt64 = 64

    struct File: Sendable {
        let name: String
        let file: any StorageFile
        /// The number of its first record, whether it has one yet or not.
        let firstN: UInt64
        /// Where records `firstN`, `firstN + 64`, … begin.
        var offsets: [UInt64] = []
        var recordCount: UInt64 = 0
        /// The synced bytes.
        var byteCount: UInt64 = 0
    }

    var files: [File] = []

    /// Notes a record of the last file, and that the file is readable up to the record's end.
    mutating func add(offset: UInt64, end: UInt64) {
        let last = files.count - 1
        if files[last].recordCount % Self.stride == 0 { files[last].offsets.append(offset) }
        files[last].recordCount += 1
        files[last].byteCount = end
    }

    /// The place in its file from which record `n` is found by counting lines; nil when there is no such
    /// record.
    func place(of n: UInt64) -> Place? {
        guard let file = files.last(where: { $0.firstN <= n }), n - file.firstN < file.recordCount else {
            return nil
        }
        let entry = (n - file.firstN) / Self.stride
        return Place(
            name: file.name, file: file.file, offset: file.offsets[Int(entry)],
            n: file.firstN + entry * Self.stride, end: file.byteCount)
    }

    struct Place: Sendable {
        let name: String
        let file: any StorageFile
        /// Where record `n` begins.
        let offset: UInt64
        let n: UInt64
        let end: UInt64
    }
}

/// Reads records of the history, on any thread, while another thread appends. It sees only synced records.
public final class HistoryReader: Sendable {
    let index: Locked<HistoryIndex>

    init(_ index: HistoryIndex) {
        self.index = Locked(index)
    }

    /// The lines of the records after `after`, oldest first, as they stand in the file, without line feeds.
    ///
    /// - Parameters:
    ///   - after: the `n` of the last record that the reader has; 0 for none.
    ///   - limit: at most so many records.
    ///   - maxBytes: no further record once so many bytes are read.
    public func read(after: UInt64, limit: Int, maxBytes: Int = 1 << 20) throws(JournalError) -> [String] {
        var lines: [String] = []
        var byteCount = 0
        var next = after == UInt64.max ? after : after + 1
        while lines.count < limit, byteCount < maxBytes {
            let wanted = next
            guard let place = index.withLock({ $0.place(of: wanted) }) else { break }
            var n = place.n
            try HistoryLines.forEach(
                in: place.file, name: place.name, from: place.offset, to: place.end,
                maxLineBytes: HistoryFormat.maxLineBytes
            ) { line throws(JournalError) in
                if n >= next {
                    lines.append(String(decoding: line.bytes, as: UTF8.self))
                    byteCount += line.bytes.count
                    next = n + 1
                }
                n += 1
                return lines.count < limit && byteCount < maxBytes
            }
            if next == wanted { break }
        }
        return lines
    }
}
