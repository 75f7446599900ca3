import Journal
import Ledger
import Lifecycle
import Simulator
import Testing

@Suite struct ReaderTests {
    /// Commits, acknowledgements, erasing, reopening and reading in a random order, checked against a list.
    private func world(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let segmentBytes = [2048, 4096, 8192, 65_536].randomElement(using: &random) ?? 4096
        var harness = try LogHarness(segmentBytes: segmentBytes, seed: seed)
        var reader = harness.log.reader()
        let buffer = ReadBuffer(capacity: 64)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        for _ in 0..<Int.random(in: 20..<120, using: &random) {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<10:
                var records: [LogRecord] = []
                let saved = harness.ledger
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let count = Int.random(in: 1...(random.chance(10) ? 8 : 3), using: &random)
                    let record = harness.block(
                        count, lineBytes: Int.random(in: 12...60, using: &random), kept: random.chance(90))
                    records.append(record)
                    if case .block(let stamp, _) = record { harness.ledger.apply(.block(stamp)) }
                }
                harness.ledger = saved
                while records.reduce(64, { $0 + Log.cost(of: $1) }) > harness.log.maxCommitBytes {
                    records.removeLast()
                }
                guard !records.isEmpty else { continue }
                try harness.commit(records)
            case 10..<13:
                let cursor = harness.ledger.cursors["c"]?.raw ?? 0
                let through = UInt64.random(in: cursor...harness.ledger.lastSeq.raw, using: &random)
                try harness.commit([.entry(.done(collector: "c", through: JournalSeq(through)))])
            case 13:
                _ = try harness.log.erase(through: harness.ledger.lastSeq, arrivedBeforeMs: 2_000)
            case 14:
                try harness.reopen(seed: random.next())
                reader = harness.log.reader()
                #expect(harness.log.ledger == harness.ledger)
            case 15:
                try harness.log.prepare()
            default:
                try check(harness, reader, buffer, &random)
            }
        }
        #expect(harness.log.ledger == harness.ledger)
        let from = harness.ledger.doneThrough.raw + 1
        #expect(try readAll(harness.log, from: from) == harness.lines.filter { $0.key >= from })
    }

    private func check(
        _ harness: LogHarness, _ reader: LogReader, _ buffer: ReadBuffer, _ random: inout SplitMix64
    ) throws {
        let last = harness.ledger.lastSeq.raw
        let cursor = harness.ledger.doneThrough.raw
        var next = UInt64.random(in: cursor + 1...max(cursor + 1, last), using: &random)
        let through =
            random.chance(50) ? UInt64.max : UInt64.random(in: next...max(next, last), using: &random)
        let budget = [1, 100, 500, 5_000, 100_000].randomElement(using: &random) ?? 1
        var found: [UInt64: String] = [:]
        var covered = next
        let from = next
        while true {
            let slices = try reader.read(
                from: JournalSeq(next), through: JournalSeq(through), budgetBytes: budget, into: buffer)
            guard !slices.isEmpty else { break }
            let bytes = slices.dropFirst().isEmpty ? 0 : slices.reduce(0) { $0 + $1.bytes.count }
            // Whole blocks are counted, of which the last may be cut.
            #expect(bytes <= budget)
            for slice in slices {
                #expect(slice.stamp.range.first.raw == covered)
                let whole = harness.blocks.first { $0.range.contains(slice.stamp.range.first) }
                #expect(whole?.kept == slice.stamp.kept && whole?.arrivalMs == slice.stamp.arrivalMs)
                covered = slice.stamp.range.last.raw + 1
                found.merge(lines(of: slice, in: buffer)) { $1 }
            }
            next = covered
        }
        #expect(covered == min(last, through) + 1)
        #expect(found == harness.lines.filter { $0.key >= from && $0.key <= through })
    }

    @Test(arguments: 0..<8)
    func readersSeeExactlyWhatIsCommitted(_ part: UInt64) throws {
        for seed in part * 50..<part * 50 + 50 { try world(seed) }
    }

    @Test func whatIsRecycledIsGone() throws {
        var harness = try LogHarness(segmentBytes: 2048)
        let reader = harness.log.reader()
        while harness.log.segments[0].number < 3 { try harness.commitBlock(3, lineBytes: 40) }
        let first = harness.log.segments[0].firstSeq
        #expect(throws: LogReadError.gone(firstAvailable: first)) {
            try reader.read(from: JournalSeq(1), through: JournalSeq(9), budgetBytes: 100, into: ReadBuffer())
        }
        let beyond = harness.ledger.lastSeq.next
        #expect(try reader.read(from: beyond, through: beyond, budgetBytes: 9, into: ReadBuffer()).isEmpty)
    }

    @Test func aLargeCommitIsReadBlockByBlock() throws {
        var harness = try LogHarness(segmentBytes: 1 << 20)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        var records: [LogRecord] = []
        let saved = harness.ledger
        for _ in 0..<20 {
            let record = harness.block(100, lineBytes: 150)
            records.append(record)
            if case .block(let stamp, _) = record { harness.ledger.apply(.block(stamp)) }
        }
        harness.ledger = saved
        try harness.commit(records)
        for budget in [1, 20_000, 40_000, 1 << 20] {
            #expect(try readAll(harness.log, budgetBytes: budget) == harness.lines)
            #expect(
                try readAll(harness.log, from: 777, budgetBytes: budget)
                    == harness.lines.filter { $0.key >= 777 })
        }
    }

    @Test func blankedLinesAboveTheCursorsAreDamage() throws {
        var harness = try LogHarness()
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        try harness.commitBlock(1)
        let end = harness.log.newestEnd
        try harness.commitBlock(1)
        let name = harness.liveNames[0]
        let bytes = harness.storage.bytes(of: name)
        // The line ends with its line feed, before what fills the commit up.
        let feed = try #require(bytes[..<end].lastIndex(of: 0x0A))
        for byte in feed - 24..<feed { harness.storage.flip(name, byte: byte, mask: bytes[byte] ^ 0x20) }
        #expect(throws: LogReadError.failed(.damaged(file: name, what: "event 1 is not as it was written"))) {
            try readAll(harness.log)
        }
        #expect(
            throws: JournalError.damaged(file: name, what: "events 1 to 1 are not as they were written")
        ) { try harness.reopen() }
    }
}
