import Journal
import Ledger
import Lifecycle
import Simulator
import Testing

@Suite struct FormatTests {
    @Test func commitIsTheseBytes() throws {
        var harness = try LogHarness()
        let before = harness.log.newestEnd
        let receipt = try harness.commit([
            .entry(.head(HistoryHead(n: 7, hash: "ab"))),
            harness.block(2, lineBytes: 10, batch: batch(3)),
            .entry(.done(collector: "c", through: JournalSeq(1))),
        ])
        let name = try #require(harness.liveNames.last)
        let bytes = harness.storage.bytes(of: name)[before..<before + receipt.byteCount]
        let hex = bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        let rows = stride(from: 0, to: hex.count, by: 16).map { hex[$0..<min($0 + 16, hex.count)].joined() }
        #expect(
            rows == [
                "4847434d3b9cb9e30300000000000000",
                "c15c0289ec2d0a91b000000078000000",
                "07070000000000000002006162010600",
                "00020000000100000000000000e80300",
                "0000000000efcdab8967452301103254",
                "7698badcfe0100000000000000160000",
                "0001007001007203000000000000000a",
                "00000000000000c32c8e450a00000000",
                "000000379cbd0d040100630100000000",
                "00000000000000007b226964223a3178",
                "787d0a7b226964223a3278787d0a0000",
            ])
    }

    @Test func recordsReadBackAsWritten() throws {
        var harness = try LogHarness(segmentBytes: 8192)
        try harness.commit([
            .entry(.known(collector: "a", cursor: .zero)),
            .entry(.known(collector: "b", cursor: JournalSeq(2))),
            harness.block(4, batch: batch(1)), .entry(.batch(batch(9, "q"))),
            .entry(.app(AppReport(app: "shop é", isForeground: true, wallMs: -1, gated: false))),
            .entry(.app(AppReport(app: "b", isForeground: false, wallMs: .max, gated: true))),
        ])
        try harness.commit([
            .entry(.discarded(SeqRange(first: JournalSeq(3), count: 1), .aged)),
            .entry(.done(collector: "a", through: JournalSeq(1))), .entry(.forgotten(collector: "b")),
            .entry(.head(HistoryHead(n: 2, hash: "ff"))), harness.block(1, kept: false),
        ])
        let written = harness.log.ledger
        try harness.reopen()
        #expect(written == harness.ledger)
        #expect(harness.log.ledger == written)
        #expect(try readAll(harness.log) == harness.lines)
    }

    @Test func aNewSegmentBeginsWithWhereTheAppsAre() throws {
        var harness = try LogHarness(segmentBytes: 4096)
        let reports = [
            AppReport(app: "a", isForeground: true, wallMs: 1, gated: false),
            AppReport(app: "b", isForeground: false, wallMs: 2, gated: true),
        ]
        try harness.commit(reports.map { LogRecord.entry(.app($0)) })
        // Ten segments' worth, of which nobody needs any but the last.
        for _ in 0..<40 { try harness.commitBlock(20) }
        try harness.reopen()
        #expect(harness.log.ledger.apps.reports == reports)
    }
}
