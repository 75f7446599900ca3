import Ledger
import Lifecycle
import Platform

/// The events that collectors rejected, and their way back into the queue.
///
/// One append-only file (`DeadLetterLine`). A letter is one event of one collector; the oldest goes when
/// there are too many. Only places are kept in memory, the events stay in the file.
///
/// Requeueing happens exactly once: `beginRequeue` syncs the intent with a batch number, the caller commits
/// the lines as that producer's batch, and `settle` drops the letters. After a crash in between, the
/// journal's table of batches tells whether the commit happened.
///
/// One thread at a time uses it, which makes `@unchecked Sendable` true.
public final class DeadLetters: @unchecked Sendable {
    public static let fileName = "dead-letters.ndjson"
    /// The producer of requeued events; nobody else may be admitted under this name.
    public static let producer = "holdgate:dead-letters"
    public static let limit = 10_000

    static let temporaryName = "dead-letters.ndjson.new"
    /// A shorter file is not worth rewriting.
    static let compactionFloor = 1024
    /// An event, and a reason that came in one frame.
    private static let maxLineBytes = 32 << 20

    private let storage: any Storage
    private let makeRun: () -> String
    /// Nil before the first letter.
    var file: (any StorageFile)?
    private(set) var byteCount: UInt64 = 0
    private var lineCount = 0
    private var run = ""
    private var places: DeadLetterPlaces { didSet { held.withLock { $0 = places.rows.count } } }
    private let held = Locked(0)
    /// The highest batch that was taken or settled.
    private var lastBatch: UInt64 = 0
    private var intent: (seqs: [JournalSeq], batch: UInt64)?
    /// Lines that are true already and go with the next write.
    private var owed = ""
    private var failure: JournalError?

    init(storage: any Storage, limit: Int, makeRun: @escaping () -> String) {
        self.storage = storage
        places = DeadLetterPlaces(limit: limit)
        self.makeRun = makeRun
    }

    /// Reads the file, if there is one, and cuts a torn end off.
    ///
    /// - Parameters:
    ///   - producers: the journal's table, which decides what became of an intent.
    ///   - makeRun: names a new file's run, unlike any before it.
    public static func open(
        storage: any Storage, producers: ProducerTable, limit: Int = DeadLetters.limit,
        makeRun: @escaping () -> String = DeadLetters.randomRun
    ) throws(JournalError) -> DeadLetters {
        precondition(limit > 0)
        let letters = DeadLetters(storage: storage, limit: limit, makeRun: makeRun)
        try InternalConfiguration.removeIfThere(temporaryName, storage)
        do {
            letters.file = try storage.open(fileName, create: false)
        } catch {
            if error.kind == .missing { return letters }
            throw JournalError(error)
        }
        let end = try letters.read(producers)
        try letters.mend(end)
        return letters
    }

    /// How many letters there are; any thread may ask.
    public var count: Int { held.withLock { $0 } }

    // MARK: Letters

    /// Adds letters, synced; one that is there already (same seq and collector) is left out.
    public func append(_ letters: [DeadLetter]) throws(JournalError) {
        var text = ""
        var added: [DeadLetterPlaces.Row] = []
        var addedKeys: Set<DeadLetterPlaces.Key> = []
        let start = try prepare()
        for letter in letters {
            let key = DeadLetterPlaces.Key(seq: letter.seq, collector: letter.collector)
            guard !places.contains(key), addedKeys.insert(key).inserted else { continue }
            let line = DeadLetterLine.letter(letter).text
            let length = UInt64(line.utf8.count)
            added.append(
                DeadLetterPlaces.Row(key: key, offset: start + UInt64(text.utf8.count), byteCount: length - 1)
            )
            text += line
        }
        guard !added.isEmpty else { return }
        try write(text, lines: added.count)
        for row in added { places.add(row) }
        try compactIfWorthwhile()
    }

    /// Letters in the order of their seqs. All letters of one seq come together, so that there may be a few
    /// more than `limit`.
    ///
    /// - Parameter maxBytes: no further seq once so many bytes are read.
    public func list(
        after: JournalSeq, limit: Int, maxBytes: Int = 1 << 20
    ) throws(JournalError) -> [DeadLetter] {
        let wanted = places.sorted(after: after)
        var letters: [DeadLetter] = []
        var byteCount = 0
        for row in wanted {
            let isFull = letters.count >= limit || byteCount >= maxBytes
            if isFull, row.key.seq != letters.last?.seq { break }
            letters.append(try read(row))
            byteCount += Int(row.byteCount)
        }
        return letters
    }

    /// Removes everything, for kill.
    public func purge() throws(JournalError) {
        try InternalConfiguration.removeIfThere(Self.fileName, storage)
        try InternalConfiguration.removeIfThere(Self.temporaryName, storage)
        try synced(try storage.syncDirectory())
        file = nil
        byteCount = 0
        lineCount = 0
        places.removeAll()
        lastBatch = 0
        intent = nil
        owed = ""
    }

    // MARK: Requeueing

    /// Notes, synced, that these letters' events are about to be committed; nil when none of them is a
    /// letter.
    ///
    /// They become one block: of more than `maxBytes` of lines the first ones are taken, always one.
    ///
    /// The caller commits the lines under the batch and then calls `settle`, or `abandon` when the commit was
    /// certainly refused. Until then no other requeue begins.
    public func beginRequeue(
        _ seqs: [JournalSeq], maxBytes: Int = .max
    ) throws(JournalError) -> DeadLetterRequeue? {
        precondition(intent == nil, "one requeue at a time")
        let asked = Set(seqs)
        var found: [JournalSeq: DeadLetterPlaces.Row] = [:]
        for row in places.rows where asked.contains(row.key.seq) { found[row.key.seq] = row }
        guard !found.isEmpty else { return nil }
        var ordered: [JournalSeq] = []
        var lines: [String] = []
        var byteCount = 0
        for (seq, row) in found.sorted(by: { $0.key < $1.key }) {
            let event = try read(row).event
            byteCount += event.utf8.count + 1
            if byteCount > maxBytes, !lines.isEmpty { break }
            ordered.append(seq)
            lines.append(event)
        }
        let batch = lastBatch + 1
        _ = try prepare()
        try write(DeadLetterLine.requeue(ordered, batch: batch).text, lines: 1)
        intent = (ordered, batch)
        return DeadLetterRequeue(
            batch: ProducerBatch(producer: Self.producer, run: run, batch: batch), lines: lines)
    }

    /// The batch is committed: its letters are none any more. (After a purge there is nothing to settle.)
    public func settle(_ batch: ProducerBatch) throws(JournalError) {
        guard let intent, batch.run == run, intent.batch == batch.batch else { return }
        settleIntent(intent.seqs, batch: intent.batch)
        try payOwed()
    }

    /// Writes what is owed. Without room it goes with the next write.
    private func payOwed() throws(JournalError) {
        if let failure { throw failure }
        guard !owed.isEmpty else { return }
        do {
            try write("", lines: 0)
            try compactIfWorthwhile()
        } catch {
            if error != .full { throw error }
        }
    }

    /// The batch was refused and nothing of it is in the journal.
    public func abandon(_ batch: ProducerBatch) {
        if batch.run == run, intent?.batch == batch.batch { intent = nil }
    }

    private func settleIntent(_ seqs: [JournalSeq], batch: UInt64) {
        places.drop(seqs)
        lastBatch = max(lastBatch, batch)
        intent = nil
        owed += DeadLetterLine.settled(batch: batch).text
    }

    // MARK: The file

    /// Reads the file, and what the journal says of its last intent.
    /// - Returns: its size, a torn end included.
    func read(_ producers: ProducerTable) throws(JournalError) -> UInt64 {
        guard let file else { return 0 }
        let end = try disk(try file.byteCount())
        var number = 0
        try HistoryLines.forEach(
            in: file, name: Self.fileName, to: end, maxLineBytes: Self.maxLineBytes
        ) { line throws(JournalError) in
            number += 1
            do throws(FormatFault) {
                guard line.isTerminated else { return false }
                try take(try DeadLetterLine(line.bytes), line, number: number)
            } catch {
                // Pages of an unsynced write that did not reach the disk are zeros; no line has a zero.
                if line.bytes.contains(0) { return false }
                throw JournalError(error, file: Self.fileName, place: "line \(number)")
            }
            byteCount = line.offset + UInt64(line.bytes.count) + 1
            lineCount += 1
            return true
        }
        resolve(producers)
        return end
    }

    /// Cuts a torn end off, and writes what is owed.
    private func mend(_ end: UInt64) throws(JournalError) {
        guard let file else { return }
        let kept = byteCount
        if end > kept { try disk(try file.truncate(to: kept)) }
        // What was found may not have been synced yet.
        try synced(try file.sync())
        try payOwed()
    }

    private func take(
        _ line: DeadLetterLine, _ place: HistoryLines.Line, number: Int
    ) throws(FormatFault) {
        switch line {
        case .header(let run):
            guard number == 1 else { throw FormatFault("a header stands amid letters") }
            self.run = run
            return
        case .letter(let letter):
            let key = DeadLetterPlaces.Key(seq: letter.seq, collector: letter.collector)
            if !places.contains(key) {
                places.add(
                    DeadLetterPlaces.Row(key: key, offset: place.offset, byteCount: UInt64(place.bytes.count))
                )
            }
        case .requeue(let seqs, let batch):
            intent = (seqs, batch)
        case .settled(let batch):
            lastBatch = max(lastBatch, batch)
            if let intent, intent.batch == batch { places.drop(intent.seqs) }
            intent = nil
        }
        guard number > 1 else { throw FormatFault("the file has no header") }
    }

    /// Asks the journal's table whether the last intent was carried out.
    private func resolve(_ producers: ProducerTable) {
        let row = producers.rows[Self.producer]
        let taken = row.flatMap { $0.run == run ? $0.batch : nil }
        if let taken { lastBatch = max(lastBatch, taken) }
        guard let intent else { return }
        if let taken, taken >= intent.batch {
            settleIntent(intent.seqs, batch: intent.batch)
        }
        self.intent = nil
    }

    /// Makes the file where there is none, and tells where the next caller's line goes.
    private func prepare() throws(JournalError) -> UInt64 {
        if let failure { throw failure }
        if file == nil || byteCount == 0 {
            let newRun = makeRun()
            try replaceFile(run: newRun)
        }
        return byteCount + UInt64(owed.utf8.count)
    }

    /// Appends what is owed and then `text`, synced.
    private func write(_ text: String, lines: Int) throws(JournalError) {
        guard let file else { preconditionFailure("the file is prepared first") }
        let bytes = Array((owed + text).utf8)
        let end = byteCount
        do {
            try file.write(bytes, at: end)
        } catch {
            guard error.kind == .full else { throw fail(.storage(error)) }
            do {
                try file.truncate(to: end)
            } catch {
                throw fail(.storage(error))
            }
            throw .full
        }
        do {
            try synced(try file.sync())
        } catch {
            throw fail(error)
        }
        byteCount += UInt64(bytes.count)
        lineCount += lines + (owed.isEmpty ? 0 : 1)
        owed = ""
    }

    private func read(_ row: DeadLetterPlaces.Row) throws(JournalError) -> DeadLetter {
        guard let file else { preconditionFailure("a letter is in the file") }
        var letter: DeadLetter?
        try HistoryLines.forEach(
            in: file, name: Self.fileName, from: row.offset, to: row.offset + row.byteCount,
            maxLineBytes: Self.maxLineBytes
        ) { line throws(JournalError) in
            do throws(FormatFault) {
                if case .letter(let found) = try DeadLetterLine(line.bytes) { letter = found }
            } catch {
                throw JournalError(error, file: Self.fileName, place: "byte \(row.offset)")
            }
            return false
        }
        guard let letter else {
            throw .damaged(file: Self.fileName, what: "byte \(row.offset): there is no letter any more")
        }
        return letter
    }

    // MARK: Compaction

    private func compactIfWorthwhile() throws(JournalError) {
        guard intent == nil, lineCount > Self.compactionFloor, lineCount > 2 * places.rows.count else {
            return
        }
        do {
            try replaceFile(run: run)
        } catch {
            // The longer file serves on.
            if error != .full { throw error }
        }
    }

    /// Puts a new file with the letters that are left, copied one at a time, in the place of the old one.
    private func replaceFile(run newRun: String) throws(JournalError) {
        let head = DeadLetterLine.header(run: newRun).text + DeadLetterLine.settled(batch: lastBatch).text
        let (fresh, newRows, end): (any StorageFile, [DeadLetterPlaces.Row], UInt64)
        do {
            (fresh, newRows, end) = try copyRows(after: Array(head.utf8))
        } catch {
            guard error.kind == .full else { throw fail(.storage(error)) }
            try InternalConfiguration.removeIfThere(Self.temporaryName, storage)
            throw .full
        }
        do {
            try synced(try fresh.sync())
            try disk(try storage.rename(Self.temporaryName, to: Self.fileName))
            try synced(try storage.syncDirectory())
        } catch {
            throw fail(error)
        }
        file = fresh
        run = newRun
        places.move(to: newRows)
        byteCount = end
        lineCount = newRows.count + 2
        // Said by the head: the letters that it would drop were not copied.
        owed = ""
    }

    private func copyRows(
        after head: [UInt8]
    ) throws(StorageError) -> (any StorageFile, [DeadLetterPlaces.Row], UInt64) {
        let fresh = try storage.open(Self.temporaryName, create: true)
        try fresh.truncate(to: 0)
        try fresh.write(head, at: 0)
        var end = UInt64(head.count)
        var newRows: [DeadLetterPlaces.Row] = []
        newRows.reserveCapacity(places.rows.count)
        for row in places.rows {
            guard let file else { break }
            let count = Int(row.byteCount) + 1
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
            defer { buffer.deallocate() }
            guard try file.read(into: buffer, at: row.offset) == count else {
                throw StorageError(kind: .failed, call: "read", path: Self.fileName, number: 0)
            }
            try fresh.write([UnsafeRawBufferPointer(buffer)], at: end)
            newRows.append(DeadLetterPlaces.Row(key: row.key, offset: end, byteCount: row.byteCount))
            end += UInt64(count)
        }
        return (fresh, newRows, end)
    }

    private func fail(_ error: JournalError) -> JournalError {
        failure = error
        return error
    }
}
