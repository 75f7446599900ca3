import Ledger
import Lifecycle
import Testing

@Suite struct LedgerTests {
    private func range(_ first: UInt64, _ last: UInt64) -> SeqRange {
        SeqRange(first: JournalSeq(first), count: last - first + 1)
    }

    private func stamp(_ first: UInt64, _ last: UInt64, kept: Bool = true, batch: ProducerBatch? = nil)
        -> BlockStamp
    {
        BlockStamp(
            range: range(first, last), arrivalMs: 1, launch: LaunchID(high: 1, low: 2),
            under: TransitionSeq(1),
            gated: false, kept: kept, batch: batch, byteCount: 100)
    }

    private func batch(_ number: UInt64, _ producer: String = "p", _ run: String = "r") -> ProducerBatch {
        ProducerBatch(producer: producer, run: run, batch: number)
    }

    @Test func blocksMoveTheLastNumberAndTheKeptBytes() {
        var ledger = Ledger(producerLimit: 4)
        ledger.apply(.block(stamp(1, 10)))
        ledger.apply(.block(stamp(11, 15, kept: false)))
        #expect(ledger.lastSeq == JournalSeq(15))
        #expect(ledger.keptBytes == 100)
        #expect(ledger.doneThrough == JournalSeq(15))
    }

    @Test func theLowestCursorIsWhatIsDone() {
        var ledger = Ledger(producerLimit: 4)
        ledger.apply(.block(stamp(1, 10)))
        ledger.apply(.known(collector: "a", cursor: JournalSeq(3)))
        ledger.apply(.known(collector: "b", cursor: JournalSeq(5)))
        #expect(ledger.doneThrough == JournalSeq(3))
        ledger.apply(.known(collector: "a", cursor: JournalSeq(2)))
        ledger.apply(.done(collector: "a", through: JournalSeq(1)))
        ledger.apply(.done(collector: "nobody", through: JournalSeq(1)))
        #expect(ledger.cursors == ["a": JournalSeq(3), "b": JournalSeq(5)])
        ledger.apply(.done(collector: "a", through: JournalSeq(9)))
        #expect(ledger.doneThrough == JournalSeq(5))
        ledger.apply(.forgotten(collector: "b"))
        #expect(ledger.doneThrough == JournalSeq(9))
    }

    @Test func discardedRangesAreMergedAndDroppedOnceDone() {
        var ledger = Ledger(producerLimit: 4)
        ledger.apply(.known(collector: "a", cursor: .zero))
        ledger.apply(.block(stamp(1, 100)))
        for (first, last) in [(20, 29), (50, 59), (10, 14), (15, 18), (30, 31), (19, 19)]
            as [(UInt64, UInt64)]
        {
            ledger.apply(.discarded(range(first, last), .policy))
        }
        #expect(ledger.discarded == [range(10, 31), range(50, 59)])
        ledger.apply(.done(collector: "a", through: JournalSeq(31)))
        #expect(ledger.discarded == [range(50, 59)])
        // What everybody is done with already isn't kept either.
        ledger.apply(.discarded(range(5, 9), .aged))
        #expect(ledger.discarded == [range(50, 59)])
    }

    @Test func batchesAreTakenOnceAndInOrder() {
        var table = ProducerTable(limit: 4)
        #expect(table.verdict(on: batch(7)) == .next)
        table.take(batch(7))
        #expect(table.verdict(on: batch(7)) == .duplicate(last: 7))
        #expect(table.verdict(on: batch(6)) == .duplicate(last: 7))
        #expect(table.verdict(on: batch(8)) == .next)
        #expect(table.verdict(on: batch(9)) == .outOfOrder(last: 7))
        table.take(batch(1, "p", "s"))
        #expect(table.verdict(on: batch(8)) == .superseded)
        #expect(table.verdict(on: batch(2, "p", "s")) == .next)
    }

    @Test func theLeastRecentProducerGoes() {
        var table = ProducerTable(limit: 2)
        table.take(batch(1, "a"))
        table.take(batch(1, "b"))
        table.take(batch(2, "a"))
        table.take(batch(1, "c"))
        #expect(table.rows.keys.sorted() == ["a", "c"])
    }

    @Test func aRestoredTableIsTheSame() {
        var table = ProducerTable(limit: 3)
        for number in UInt64(1)...5 { table.take(batch(1, "p\(number)")) }
        table.take(batch(1, "p5", "other"))
        var restored = ProducerTable(limit: 3)
        for (producer, row) in table.rows { restored.restore(producer, row) }
        #expect(restored == table)
    }

    @Test func theLatestReportOfEachAppIsKeptUpToTheLimit() {
        func report(_ app: String, _ wallMs: Int64, gated: Bool = false) -> AppReport {
            AppReport(app: app, isForeground: true, wallMs: wallMs, gated: gated)
        }
        var ledger = Ledger(producerLimit: 1)
        for (app, wallMs) in [("a", Int64(1)), ("b", 2), ("a", 3)] {
            ledger.apply(.app(report(app, wallMs, gated: true)))
        }
        #expect(ledger.apps.reports == [report("b", 2, gated: true), report("a", 3, gated: true)])
        ledger.apps.settle()
        #expect(ledger.apps.reports == [report("b", 2), report("a", 3)])
        for number in 1..<Int64(AppTable.limit) { ledger.apply(.app(report("\(number)", number))) }
        #expect(ledger.apps.reports.count == AppTable.limit)
        #expect(ledger.apps.reports.first == report("a", 3) && ledger.apps.reports[1] == report("1", 1))
    }

    @Test func aBatchAtTheEndOfItsNumbersIsNoTrap() {
        var table = ProducerTable(limit: 3)
        table.take(batch(.max))
        #expect(table.verdict(on: batch(.max)) == .duplicate(last: .max))
    }
}
