import Journal
import Ledger
import Lifecycle
import Testing

/// The room at a segment's end that is kept for when the disk is full.
@Suite struct ReserveTests {
    /// A full log, with a collector that has done nothing.
    private func fullHarness() throws -> LogHarness {
        var harness = try LogHarness(segmentBytes: 16 << 10)
        harness.storage.capacityBytes = 3 * (16 << 10)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        while try harness.fits([harness.block(8, lineBytes: 60)]) {}
        return harness
    }

    private func report(_ number: Int64) -> LogRecord {
        .entry(.app(AppReport(app: "shop", isForeground: true, wallMs: number, gated: false)))
    }

    private func expectThatItGoesOn(_ harness: inout LogHarness) throws {
        #expect(try harness.fits([harness.block(8, lineBytes: 60)]))
        try harness.reopen()
        #expect(harness.log.ledger == harness.ledger)
    }

    @Test func reportsLeaveRoomForTheAckThatMakesRoom() throws {
        var harness = try fullHarness()
        var number: Int64 = 0
        while try harness.fits([report(number)]) { number += 1 }
        #expect(try harness.fits([.entry(.done(collector: "c", through: harness.ledger.lastSeq))]))
        try expectThatItGoesOn(&harness)
    }

    @Test func reportsLeaveRoomForForgettingTheCollectorThatKeepsAll() throws {
        var harness = try fullHarness()
        var number: Int64 = 0
        while try harness.fits([report(number)]) { number += 1 }
        #expect(try harness.fits([.entry(.forgotten(collector: "c"))]))
        try expectThatItGoesOn(&harness)
    }

    @Test func whatMakesNoRoomLeavesRoomForTheAckThatDoes() throws {
        var harness = try fullHarness()
        var number: UInt64 = 1
        while try harness.fits([.entry(.head(HistoryHead(n: number, hash: "h")))]) { number += 1 }
        while try harness.fits([.entry(.done(collector: "c", through: JournalSeq(1)))]) {}
        #expect(try harness.fits([.entry(.done(collector: "c", through: harness.ledger.lastSeq))]))
        try expectThatItGoesOn(&harness)
    }
}
