import Journal
import Ledger
import Lifecycle
import Simulator
import Testing

@Suite struct PurgeTests {
    @Test func noByteOfAnEventStaysAndNoNumberIsUsedAgain() throws {
        for segments in 1...6 {
            var harness = try LogHarness(segmentBytes: 2048)
            try harness.commit([
                .entry(.known(collector: "c", cursor: .zero)), .entry(.head(HistoryHead(n: 3, hash: "aa"))),
            ])
            while harness.log.segments.count < segments { try harness.commitBlock(3, lineBytes: 60) }
            try harness.commitBlock(3, lineBytes: 60)
            let last = harness.ledger.lastSeq
            #expect(harness.storage.holds(Array("xxxxxxxxx".utf8)))
            let reader = harness.log.reader()
            try harness.log.purge()
            harness.notePurge()
            #expect(!harness.storage.holds(Array("xxxxxxxxx".utf8)))
            #expect(harness.log.ledger == harness.ledger)
            #expect(throws: LogReadError.gone(firstAvailable: last.next)) {
                try reader.read(from: last, through: last, budgetBytes: 100, into: ReadBuffer())
            }
            try harness.commitBlock(2)
            #expect(harness.log.ledger.lastSeq == last.advanced(by: 2))
            #expect(try readAll(harness.log, from: last.raw + 1) == harness.lines)
            try harness.reopen()
            #expect(harness.log.ledger == harness.ledger)
            #expect(harness.log.ledger.head == HistoryHead(n: 3, hash: "aa"))
            #expect(harness.storage.disk.cachedNames.count <= 3)
        }
    }

    @Test func eraseBlanksWhatIsDoneAndOldEnoughAndNothingElse() throws {
        var harness = try LogHarness(segmentBytes: 2048)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        for arrival in 1...30 { try harness.commitBlock(2, lineBytes: 40, arrivalMs: Int64(arrival)) }
        try harness.commit([.entry(.done(collector: "c", through: JournalSeq(41)))])
        func erase(through: UInt64, before: Int64) throws {
            while try harness.log.erase(through: JournalSeq(through), arrivedBeforeMs: before) {}
        }
        func left() -> [UInt64] {
            (1...60).filter { harness.storage.holds(Array(SampleEvents.line($0, byteCount: 40).utf8)) }
        }
        #expect(left() == Array(1...60))
        try erase(through: 60, before: 11)
        #expect(left() == Array(21...60))
        try erase(through: 30, before: 1_000)
        #expect(left() == Array(31...60))
        // Event 41 is done and 42, of the same block, is not.
        try erase(through: 60, before: 1_000)
        #expect(left() == Array(41...60))
        let calls = harness.storage.calls.count
        try erase(through: 60, before: 1_000)
        #expect(harness.storage.calls.count == calls)
        let expected = harness.lines.filter { $0.key > 40 }
        #expect(try readAll(harness.log, from: 41) == expected)
        try harness.reopen()
        #expect(harness.log.ledger == harness.ledger)
        #expect(try readAll(harness.log, from: 41) == expected)
    }

    @Test func aReaderIsToldWhichLinesAreErased() throws {
        var harness = try LogHarness()
        for arrival in 1...3 { try harness.commitBlock(2, arrivalMs: Int64(arrival)) }
        try harness.commit([harness.block(2, kept: false)])
        while try harness.log.erase(through: JournalSeq(4), arrivedBeforeMs: 1_000) {}
        let slices = try harness.log.reader().read(
            from: JournalSeq(2), through: JournalSeq(8), budgetBytes: 4096, into: ReadBuffer())
        #expect(slices.map(\.stamp.range.first.raw) == [2, 3, 5, 7])
        #expect(slices.map(\.isWhole) == [false, false, true, true])
        #expect(slices.map(\.hasLines) == [false, false, true, false])
    }

    @Test func eraseTakesWhatEarlierLivesOfAFileLeft() throws {
        var harness = try LogHarness(segmentBytes: 2048)
        for arrival in 1...60 { try harness.commitBlock(2, lineBytes: 40, arrivalMs: Int64(arrival)) }
        #expect(harness.log.segments[0].number > 2)
        #expect(harness.storage.holds(Array(#"{"id":1xxx"#.utf8)) == false)
        while try harness.log.erase(through: harness.ledger.lastSeq, arrivedBeforeMs: 61) {}
        #expect(!harness.storage.holds(Array("xxxxxxxxx".utf8)))
        try harness.reopen()
        #expect(harness.log.ledger == harness.ledger)
        try harness.commitBlock(2)
        let expected = harness.lines.filter { $0.key > 120 }
        #expect(try readAll(harness.log, from: 121) == expected)
    }

    @Test func aKillIsFinishedByOpening() throws {
        var harness = try LogHarness(segmentBytes: 2048, pageBytes: 64)
        while harness.log.segments.count < 1 || harness.ledger.lastSeq.raw < 40 {
            try harness.commitBlock(3, lineBytes: 60)
        }
        let before = harness
        let disk = harness.storage.disk
        var first: Int?
        for offset in 1..<100 {
            let storage = FaultyStorage(disk: disk)
            var told = before
            told = try LogHarness(segmentBytes: 2048, storage: storage, seed: 8)
            let call = storage.calls.count + offset
            storage.faults = [call: .powerLoss]
            do {
                try told.log.purge()
                first = offset
                break
            } catch {
                storage.crash { _, _ in true }
            }
            _ = try LogHarness(segmentBytes: 2048, storage: storage, seed: 9)
            #expect(!storage.holds(Array("xxxxxxxxx".utf8)), "offset \(offset)")
        }
        #expect(first ?? 0 > 5)
    }
}
