import Ledger
import Lifecycle

/// The hash-chained record of every transition, synced before its reply.
///
/// Files `history-00000001.ndjson`, `history-00000002.ndjson`, … hold one chain (`HistoryFormat`). An append
/// is one write and one sync. A full disk leaves the file as it was; for a hold or a kill the reserve is
/// given up first.
///
/// One thread at a time uses it, which makes `@unchecked Sendable` true; `reader` is for all threads.
public final class History: @unchecked Sendable {
    /// Reads records on any thread.
    public let reader: HistoryReader
    /// The newest record; nil while there is none.
    public private(set) var head: HistoryHead?

    private let storage: any Storage
    private let rotateBytes: UInt64
    private let reserve: HistoryReserve
    private var file: any StorageFile
    private var fileNumber: UInt64
    private var byteCount: UInt64
    /// The hash of the last line.
    private var chain: String
    /// Once a write or a sync failed, nothing more is written.
    private var failure: JournalError?

    private init(storage: any Storage, rotateBytes: UInt64, file: any StorageFile, scan: HistoryScan) {
        self.storage = storage
        self.rotateBytes = rotateBytes
        reserve = HistoryReserve(storage)
        self.file = file
        reader = HistoryReader(scan.index)
        head = scan.head
        fileNumber = scan.fileNumber
        byteCount = scan.byteCount
        chain = scan.chain
    }

    /// Verifies the whole history, and makes it ready for appending.
    ///
    /// A last line that neither parses nor ends in a line feed was never answered and is cut off; anything
    /// else that does not verify is `damaged`, with its file, line, and what is wrong.
    ///
    /// - Parameters:
    ///   - rotateBytes: a file of at least this size is followed by a new one.
    ///   - answered: the number of the record that the journal noted as the head, 0 when it is known to
    ///     have noted none: what does not verify beyond it was never answered either, and is cut off.
    ///   - visit: gets each record, oldest first; what it throws is damage at that line.
    public static func open(
        storage: any Storage, rotateBytes: UInt64 = 64 << 20, answered: UInt64? = nil,
        visit: (HistoryRecord) throws(FormatFault) -> Void = { _ in }
    ) throws(JournalError) -> History {
        var (scan, last) = try read(storage, answered: answered, visit: visit)
        if last == nil { last = try disk(try storage.open(HistoryFormat.fileName(1), create: true)) }
        guard let file = last else { preconditionFailure("a file was just opened") }
        let history = History(storage: storage, rotateBytes: rotateBytes, file: file, scan: scan)
        try history.mend(lacksLineFeed: scan.lacksLineFeed)
        try history.reserve.restore()
        return history
    }

    /// Reads and verifies all files, and writes nothing.
    /// - Returns: what they add up to, and the last of them.
    static func read(
        _ storage: any Storage, answered: UInt64?, visit: (HistoryRecord) throws(FormatFault) -> Void
    ) throws(JournalError) -> (HistoryScan, (any StorageFile)?) {
        let numbers = try disk(try storage.names()).compactMap(HistoryFormat.fileNumber).sorted()
        for (index, number) in numbers.enumerated() where number != UInt64(index) + 1 {
            throw .damaged(file: HistoryFormat.fileName(UInt64(index) + 1), what: "it is missing")
        }
        var scan = HistoryScan(answered: answered)
        var last: (any StorageFile)?
        for number in numbers {
            let file = try disk(try storage.open(HistoryFormat.fileName(number), create: false))
            try scan.read(file, number: number, isLast: number == numbers.last, visit: visit)
            last = file
        }
        return (scan, last)
    }

    /// Cuts a torn end off, completes the last line, gives a new file its header, and syncs what was found:
    /// it may have been written and not synced by a host that died.
    private func mend(lacksLineFeed: Bool) throws(JournalError) {
        if lacksLineFeed {
            // `byteCount` counts the line feed already.
            byteCount -= 1
            try write("\n", mayUseReserve: true)
            byteCount += 1
        }
        let end = byteCount
        let file = file
        if try disk(try file.byteCount()) > end { try disk(try file.truncate(to: end)) }
        if byteCount > 0 {
            try sync()
        } else {
            try begin(file, number: max(fileNumber, 1))
        }
    }

    // MARK: Appending

    /// Writes and syncs all records with one write.
    ///
    /// - Throws: `full`: nothing was written, and the history goes on. Every other error is final: whether
    ///   the records are on disk shows at the next start.
    /// - Returns: the new head, for the journal to note.
    public func append(_ drafts: [HistoryDraft]) throws(JournalError) -> HistoryHead {
        precondition(!drafts.isEmpty, "there is nothing to record")
        if let failure { throw failure }
        if byteCount >= rotateBytes { try rotate() }
        var text = ""
        var ends: [UInt64] = []
        var newChain = chain
        var n = head?.n ?? 0
        for draft in drafts {
            n += 1
            let sealed = HistoryFormat.line(draft, n: n, prev: newChain)
            text += sealed.line
            newChain = sealed.hash
            ends.append(byteCount + UInt64(text.utf8.count))
        }
        // Only what closes the gate is worth the reserve: it could be given up only once.
        let closes = drafts.contains { $0.isTransition && !$0.state.isOperating }
        // What opens it will have to be closed again.
        if !closes { try restoreReserve() }
        try write(text, mayUseReserve: closes)
        try sync()
        var offset = byteCount
        reader.index.withLock { index in
            for end in ends {
                index.add(offset: offset, end: end)
                offset = end
            }
        }
        byteCount += UInt64(text.utf8.count)
        chain = newChain
        let newHead = HistoryHead(n: n, hash: newChain)
        head = newHead
        return newHead
    }

    /// Makes the reserve again after it was given up; without room for it nothing happens.
    private func restoreReserve() throws(JournalError) {
        do {
            try reserve.restore()
        } catch {
            throw fail(error)
        }
    }

    /// Whether a hold or a kill can still be written on a full disk.
    public var hasReserve: Bool { reserve.isHeld }

    /// Writes at the file's end, which stays where it is. Without room the file is as it was.
    private func write(_ text: String, mayUseReserve: Bool) throws(JournalError) {
        let bytes = Array(text.utf8)
        do {
            try write(bytes)
        } catch {
            guard error == .full, mayUseReserve, reserve.isHeld else { throw error }
            do {
                try reserve.giveUp()
            } catch {
                throw fail(error)
            }
            try write(bytes)
        }
    }

    private func write(_ bytes: [UInt8]) throws(JournalError) {
        do {
            try file.write(bytes, at: byteCount)
        } catch {
            guard error.kind == .full else { throw fail(.storage(error)) }
            do {
                try file.truncate(to: byteCount)
            } catch {
                throw fail(.storage(error))
            }
            throw .full
        }
    }

    private func sync() throws(JournalError) {
        let file = file
        do {
            try synced(try file.sync())
        } catch {
            throw fail(error)
        }
    }

    // MARK: Rotation

    /// Begins the next file. Without room for it the present one goes on.
    private func rotate() throws(JournalError) {
        let storage = storage
        let name = HistoryFormat.fileName(fileNumber + 1)
        let next: any StorageFile
        do {
            next = try storage.open(name, create: true)
        } catch {
            guard error.kind == .full else { throw fail(JournalError(error)) }
            return
        }
        do {
            try begin(next, number: fileNumber + 1)
        } catch {
            guard error == .full else { throw fail(error) }
            // An empty file after this one would make a torn end of this one look like damage.
            do {
                try disk(try storage.remove(name))
                try synced(try storage.syncDirectory())
            } catch {
                throw fail(error)
            }
        }
    }

    /// Writes a file's header and makes the file the one that is appended to.
    private func begin(_ next: any StorageFile, number: UInt64) throws(JournalError) {
        let header = HistoryFormat.header(file: number, n: head?.n ?? 0, prev: chain)
        let bytes = Array(header.line.utf8)
        let storage = storage
        try disk(try next.truncate(to: 0))
        try disk(try next.write(bytes, at: 0))
        try synced(try next.sync())
        try synced(try storage.syncDirectory())
        file = next
        fileNumber = number
        byteCount = UInt64(bytes.count)
        chain = header.hash
        let fresh = HistoryIndex.File(
            name: HistoryFormat.fileName(number), file: next, firstN: (head?.n ?? 0) + 1,
            byteCount: byteCount)
        reader.index.withLock { index in
            index.files.removeAll { $0.name == fresh.name }
            index.files.append(fresh)
        }
    }

    private func fail(_ error: JournalError) -> JournalError {
        failure = error
        return error
    }

    // MARK: Verifying

    /// Compares the history with the head that the journal noted: a history that is missing, shorter or
    /// different is damage, a longer one is not.
    public func verify(journalHead: HistoryHead?) throws(JournalError) {
        try Self.verify(journalHead, head: head, reader: reader, fileNumber: fileNumber)
    }

    static func verify(
        _ journalHead: HistoryHead?, head: HistoryHead?, reader: HistoryReader, fileNumber: UInt64
    ) throws(JournalError) {
        guard let noted = journalHead else { return }
        let name = HistoryFormat.fileName(fileNumber)
        guard let head else {
            throw .damaged(file: name, what: "it has no records, and the journal knows of \(noted.n)")
        }
        guard noted.n <= head.n else {
            let what = "it ends at record \(head.n), and the journal knows of \(noted.n): records are missing"
            throw .damaged(file: name, what: what)
        }
        let line = try reader.read(after: noted.n - 1, limit: 1).first
        guard let line, line.hasSuffix(",\"hash\":\"\(noted.hash)\"}") else {
            throw .damaged(file: name, what: "record \(noted.n) is not the one that the journal noted")
        }
    }
}
