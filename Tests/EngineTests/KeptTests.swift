import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct KeptTests {
    @Test func withoutCollectorsNothingIsKept() {
        var desk = Desk()
        #expect(desk.emit()?.brief == "accepted 1 gated 0 discarded 0 kept false last 1")
        #expect(desk.blocks.map(\.kept) == [false])
        #expect(desk.streamed == [1])
    }

    @Test func gatedEventsAreKeptWhoeverIsThere() {
        var desk = Desk(.initializeWithHoldingOperations)
        #expect(desk.emit()?.brief == "accepted 1 gated 1 discarded 0 kept true last 1")
        #expect(desk.blocks.map(\.kept) == [true])
    }

    @Test func aCollectorThatComesBetweenReadingAndWritingIsPromisedNothing() {
        var desk = Desk()
        let block = desk.sendBlock()
        desk.hello("c")
        desk.disk()
        #expect(desk.ingestReplies[block]?.brief == "accepted 1 gated 0 discarded 0 kept false last 1")
        desk.handOver()
        #expect(desk.handed().isEmpty)
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(1))
    }

    @Test func whatComesBehindAReleasedQueueIsStreamedBehindIt() {
        var desk = Desk(.initializeWithHoldingOperations)
        let start = desk.send(.startOperation(leaseMs: nil))
        let gated = desk.sendBlock()
        desk.diskStep()
        #expect(desk.replies[start] != nil && desk.ingestReplies[gated] == nil)
        // The gate is open, and the gated block still on its way.
        _ = desk.sendBlock()
        desk.disk()
        desk.handOver()
        #expect(desk.streamed == [1, 2])
    }

    @Test func eventsThatWereNeverHandedOverAreNoRedelivery() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.hello("c")
        desk.handOver()
        desk.hold()
        _ = desk.emit()
        desk.restart()
        desk.start()
        desk.hello("c")
        desk.handOver()
        #expect(desk.deliveries.map(\.redelivered) == [false, true, false])
        #expect(desk.handed() == [1, 1, 2])
    }
}
