import Journal
import Ledger
import Lifecycle
import Simulator
import Testing
import Wire

/// A log over a faulty disk, beside a plain list of what must be in it.
struct LogHarness {
    let storage: FaultyStorage
    var configuration = Log.Configuration()
    var log: Log
    /// What every commit so far adds up to, folded anew.
    var ledger: Ledger
    /// Every kept line, by number.
    var lines: [UInt64: String] = [:]
    var blocks: [BlockStamp] = []

    init(
        segmentBytes: Int = 4096, pageBytes: Int = 512, storage given: FaultyStorage? = nil, seed: UInt64 = 1
    ) throws {
        storage = given ?? FaultyStorage(pageBytes: pageBytes)
        configuration.segmentBytes = segmentBytes
        configuration.producerLimit = 8
        log = try Self.open(storage, configuration, seed)
        ledger = log.ledger
    }

    static func open(
        _ storage: FaultyStorage, _ configuration: Log.Configuration, _ seed: UInt64
    ) throws(JournalError) -> Log {
        var random = SplitMix64(seed: seed)
        return try Log.open(storage: storage, configuration: configuration) { random.next() }
    }

    mutating func reopen(seed: UInt64 = 2) throws(JournalError) {
        log = try Self.open(storage, configuration, seed)
    }

    /// A block of events that come next.
    func block(
        _ count: Int, lineBytes: Int = 24, arrivalMs: Int64 = 1_000, kept: Bool = true,
        batch: ProducerBatch? = nil
    ) -> LogRecord {
        let first = ledger.lastSeq.raw + 1
        let lines = (0..<UInt64(count)).map { SampleEvents.line(first + $0, byteCount: lineBytes) }
        let stamp = SampleEvents.stamp(
            first: first, lines: lines, arrivalMs: arrivalMs, kept: kept, batch: batch)
        return .block(stamp, LineBlock(lines: lines))
    }

    /// Commits, and notes what must be there from now on.
    @discardableResult
    mutating func commit(_ records: [LogRecord]) throws(JournalError) -> CommitReceipt {
        let receipt = try log.commit(records)
        note(records)
        return receipt
    }

    /// As `commit`, but false if there is no room.
    mutating func fits(_ records: [LogRecord]) throws(JournalError) -> Bool {
        do throws(JournalError) {
            try commit(records)
            return true
        } catch {
            guard error == .full else { throw error }
            return false
        }
    }

    mutating func note(_ records: [LogRecord]) {
        for record in records {
            switch record {
            case .entry(let entry): ledger.apply(entry)
            case .block(let stamp, let block):
                ledger.apply(.block(stamp))
                blocks.append(stamp)
                guard stamp.kept else { continue }
                for (index, line) in block.lines.enumerated() {
                    let text = block.withBytes {
                        String(decoding: $0[Int(line.offset)..<Int(line.offset + line.length)], as: UTF8.self)
                    }
                    lines[stamp.range.first.raw + UInt64(index)] = text
                }
            }
        }
    }

    mutating func commitBlock(_ count: Int, lineBytes: Int = 24, arrivalMs: Int64 = 1_000) throws {
        try commit([block(count, lineBytes: lineBytes, arrivalMs: arrivalMs)])
    }

    /// The log's files with live events, the newest last.
    var liveNames: [String] { log.segmentNames }
}

/// Everything that a reader finds from `from` on, line by line; ranges without lines are left out.
func readAll(
    _ log: Log, from: UInt64 = 1, through: UInt64 = .max, budgetBytes: Int = 300
) throws(LogReadError) -> [UInt64: String] {
    let reader = log.reader()
    let buffer = ReadBuffer()
    var found: [UInt64: String] = [:]
    var next = JournalSeq(from)
    while true {
        let slices = try reader.read(
            from: next, through: JournalSeq(through), budgetBytes: budgetBytes, into: buffer)
        guard let last = slices.last else { return found }
        for slice in slices { found.merge(lines(of: slice, in: buffer)) { _, new in new } }
        next = last.stamp.range.last.next
    }
}

func lines(of slice: BlockSlice, in buffer: ReadBuffer) -> [UInt64: String] {
    guard slice.stamp.kept else { return [:] }
    var found: [UInt64: String] = [:]
    var at = slice.bytes.lowerBound
    buffer.withBytes { bytes in
        for index in 0..<Int(slice.stamp.range.count) {
            let length = slice.lineLength(index, in: buffer)
            found[slice.stamp.range.first.raw + UInt64(index)] = String(
                decoding: bytes[at..<at + length], as: UTF8.self)
            precondition(bytes[at + length] == 0x0A)
            at += length + 1
        }
    }
    precondition(at == slice.bytes.upperBound)
    return found
}

func batch(_ number: UInt64, _ producer: String = "p", run: String = "r") -> ProducerBatch {
    ProducerBatch(producer: producer, run: run, batch: number)
}
