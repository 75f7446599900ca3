import Journal
import Ledger
import Lifecycle
import Simulator
import Testing
import Wire

/// Several lives of one log, each ended by a power loss at any call, opening included, on a disk that is often full.
private struct Lives {
    var random: SplitMix64
    let storage: FaultyStorage
    let configuration: Log.Configuration
    /// What was answered, and what is there instead if the call that was under way is done.
    var answered: Ledger
    var pending: Ledger?
    var lines: [UInt64: String] = [:]
    var wasPurged = false

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        storage = FaultyStorage(pageBytes: [64, 512].randomElement(using: &random) ?? 64)
        var configuration = Log.Configuration()
        configuration.segmentBytes = [2048, 4096].randomElement(using: &random) ?? 2048
        configuration.producerLimit = 3
        self.configuration = configuration
        answered = Ledger(producerLimit: 3)
    }

    mutating func run() throws {
        for _ in 0..<8 {
            storage.faults = [Int.random(in: 0..<80, using: &random): .powerLoss]
            do {
                try live()
            } catch let error as JournalError {
                switch error {
                case .full, .damaged, .unknownVersion: Issue.record("\(error)")
                case .storage, .syncFailed: break
                }
            }
            if random.chance(40) { storage.restart() } else { storage.crash(using: &random) }
            storage.capacityBytes = .max
        }
        try check(open())
    }

    private func open() throws(JournalError) -> Log {
        var own = random
        return try Log.open(storage: storage, configuration: configuration) { own.next() }
    }

    private mutating func check(_ log: Log) throws {
        #expect(log.ledger == answered || log.ledger == pending)
        let isPurge = log.ledger == pending && wasPurged
        answered = log.ledger
        pending = nil
        wasPurged = false
        if isPurge { lines = [:] }
        if lines.isEmpty { #expect(!storage.holds(Array("xxxxxxx".utf8))) }
        let from = answered.doneThrough.raw + 1
        let expected = lines.filter { $0.key >= from && $0.key <= answered.lastSeq.raw }
        #expect(try readAll(log, from: from) == expected)
    }

    private mutating func live() throws {
        let log = try open()
        _ = random.next()
        try check(log)
        for _ in 0..<400 {
            if random.chance(5) { storage.capacityBytes = random.chance(50) ? .max : storage.disk.usedBytes }
            switch Int.random(in: 0..<40, using: &random) {
            case 0:
                wasPurged = true
                pending = emptied(answered)
                _ = try unlessFull { () throws(JournalError) in try log.purge() }
                answered = log.ledger
                #expect(answered == pending)
                lines = [:]
                #expect(!storage.holds(Array("xxxxxxx".utf8)))
            case 1..<4:
                _ = try log.erase(through: answered.lastSeq, arrivedBeforeMs: 2_000)
                continue
            case 4..<6:
                try log.prepare()
                continue
            default:
                try commit(log)
            }
            pending = nil
            wasPurged = false
        }
        Issue.record("the power never failed")
    }

    private mutating func commit(_ log: Log) throws {
        var after = answered
        var records: [LogRecord] = []
        var newLines: [UInt64: String] = [:]
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let record = record(after, &newLines)
            switch record {
            case .block(let stamp, _): after.apply(.block(stamp))
            case .entry(let entry): after.apply(entry)
            }
            records.append(record)
        }
        pending = after
        for (seq, line) in newLines { lines[seq] = line }
        let isDone = try unlessFull { () throws(JournalError) in try log.commit(records) }
        if isDone { answered = after }
        #expect(log.ledger == answered)
    }

    private mutating func record(_ ledger: Ledger, _ newLines: inout [UInt64: String]) -> LogRecord {
        let names = ["a", "b"]
        let name = names.randomElement(using: &random) ?? "a"
        switch Int.random(in: 0..<11, using: &random) {
        case 0: return .entry(.known(collector: name, cursor: ledger.lastSeq))
        case 1: return .entry(.forgotten(collector: name))
        case 2..<5:
            let cursor = ledger.cursors[name]?.raw ?? 0
            let through = UInt64.random(
                in: min(cursor, ledger.lastSeq.raw)...ledger.lastSeq.raw, using: &random)
            return .entry(.done(collector: name, through: JournalSeq(through)))
        case 5: return .entry(.head(HistoryHead(n: random.next(), hash: "h")))
        case 6:
            return .entry(
                .app(
                    AppReport(
                        app: name, isForeground: random.chance(50), wallMs: Int64(random.next() >> 1),
                        gated: random.chance(50))))
        default:
            let first = ledger.lastSeq.raw + 1
            let count = UInt64.random(in: 1...4, using: &random)
            let bytes = Int.random(in: 20...50, using: &random)
            let texts = (0..<count).map { SampleEvents.line(first + $0, byteCount: bytes) }
            for (index, text) in texts.enumerated() { newLines[first + UInt64(index)] = text }
            let producer = ProducerBatch(producer: "p\(first % 5)", run: name, batch: first)
            return .block(
                SampleEvents.stamp(first: first, lines: texts, batch: producer), LineBlock(lines: texts))
        }
    }

    private func unlessFull<Result>(_ body: () throws(JournalError) -> Result) throws(JournalError) -> Bool {
        do throws(JournalError) {
            _ = try body()
            return true
        } catch {
            guard error == .full else { throw error }
            return false
        }
    }

    private func emptied(_ ledger: Ledger) -> Ledger {
        var emptied = Ledger(producerLimit: 3)
        (emptied.lastSeq, emptied.keptBytes, emptied.head) = (ledger.lastSeq, ledger.keptBytes, ledger.head)
        return emptied
    }
}

@Suite struct LivesTests {
    @Test(arguments: 0..<4)
    func noLifeLosesOrInventsAnything(_ part: UInt64) throws {
        for seed in part * 100..<part * 100 + 100 {
            var lives = Lives(seed: seed)
            do { try lives.run() } catch { Issue.record("seed \(seed): \(error)") }
        }
    }
}
