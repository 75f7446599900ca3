import Ledger
import Lifecycle
import Wire

/// Reads the history's files once, oldest first, and verifies every line; memory is bounded by one line.
struct HistoryScan {
    /// The last record; nil before the first.
    private(set) var head: HistoryHead?
    /// The hash of the last line.
    private(set) var chain = HistoryFormat.noHash
    private(set) var index = HistoryIndex()
    /// Of the last file: the bytes that verify, and whether their last line lacks its line feed.
    private(set) var byteCount: UInt64 = 0
    private(set) var lacksLineFeed = false
    private(set) var fileNumber: UInt64 = 0

    /// Whatever follows the record of this number was never answered; nil when that is not known.
    let answered: UInt64?

    init(answered: UInt64?) { self.answered = answered }

    /// Verifies the next file. Of the last one, a torn end is left out of `byteCount` and is to be cut off.
    mutating func read(
        _ file: any StorageFile, number: UInt64, isLast: Bool,
        visit: (HistoryRecord) throws(FormatFault) -> Void
    ) throws(JournalError) {
        let name = HistoryFormat.fileName(number)
        fileNumber = number
        byteCount = 0
        index.files.append(HistoryIndex.File(name: name, file: file, firstN: (head?.n ?? 0) + 1))
        let end = try disk(try file.byteCount())
        var lineNumber = 0
        try HistoryLines.forEach(
            in: file, name: name, to: end, maxLineBytes: HistoryFormat.maxLineBytes
        ) { line throws(JournalError) in
            lineNumber += 1
            do throws(FormatFault) {
                try take(line, lineNumber: lineNumber, isLastFile: isLast, visit: visit)
                return true
            } catch {
                if isLast, error.newerVersion == nil, wasNeverAnswered(line) { return false }
                throw JournalError(error, file: name, place: "line \(lineNumber)")
            }
        }
        if lineNumber == 0, !isLast {
            throw .damaged(file: name, what: "it is empty, and later files follow")
        }
    }

    private mutating func take(
        _ line: HistoryLines.Line, lineNumber: Int, isLastFile: Bool,
        visit: (HistoryRecord) throws(FormatFault) -> Void
    ) throws(FormatFault) {
        guard line.isTerminated || isLastFile else { throw FormatFault("it has no line feed") }
        let end = line.offset + UInt64(line.bytes.count) + 1
        let n = head?.n ?? 0
        switch try HistoryFormat.read(line.bytes) {
        case .header(let file, let headerN, let prev, let hash):
            guard lineNumber == 1 else { throw FormatFault("a header stands amid records") }
            guard file == fileNumber else { throw FormatFault("its header is that of file \(file)") }
            try follow(n: headerN, expected: n, prev: prev)
            chain = hash
            index.files[index.files.count - 1].byteCount = end
        case .record(let record):
            guard lineNumber > 1 else { throw FormatFault("the file has no header") }
            try follow(n: record.n, expected: n + 1, prev: record.prev)
            try visit(record)
            chain = record.hash
            head = record.head
            index.add(offset: line.offset, end: end)
        }
        byteCount = end
        lacksLineFeed = !line.isTerminated
    }

    private func follow(n: UInt64, expected: UInt64, prev: String) throws(FormatFault) {
        guard n == expected else { throw FormatFault("`n` is \(n), and \(expected) was to follow") }
        guard prev == chain else { throw FormatFault("`prev` is not the hash of the line before") }
    }

    /// Whether a line of the last file that does not verify was still being written when the host went down.
    private func wasNeverAnswered(_ line: HistoryLines.Line) -> Bool {
        // The pages of one unsynced write reach the disk in any order: a line feed may have, and what is
        // before it may not. The journal's head tells that nobody was answered.
        if let answered, (head?.n ?? 0) >= answered { return true }
        if line.isTerminated { return false }
        return (try? JSONValue.parse(line.bytes, maxNesting: JSONFields.maxNesting)) == nil
    }
}
