import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct GateTests {
    private let hold = ControlCommand.holdOperation(waitMs: nil, gatedEvents: nil)
    private let start = ControlCommand.startOperation(leaseMs: nil)

    @Test func aHoldClosesBetweenOneBlockAndTheNext() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        let before = desk.sendBlock(2)
        _ = desk.send(hold)
        let after = desk.sendBlock(3)
        desk.disk()
        desk.handOver()
        #expect(desk.ingestReplies[before]?.brief == "accepted 2 gated 0 discarded 0 kept true last 2")
        #expect(desk.ingestReplies[after]?.brief == "accepted 3 gated 3 discarded 0 kept true last 5")
        #expect(desk.handed() == [1, 2])
        #expect(desk.streamed == [1, 2])
        #expect(desk.records.first?.through == JournalSeq(2))
    }

    @Test func anOpeningOpensOnceItIsOnDisk() {
        var desk = Desk(.initializeWithHoldingOperations, collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(2)
        _ = desk.send(start)
        let during = desk.sendBlock()
        desk.handOver()
        #expect(desk.handed().isEmpty && desk.streamed.isEmpty && desk.states.isEmpty)
        desk.diskStep()
        desk.handOver()
        #expect(desk.handed() == [1, 2])
        desk.disk()
        desk.handOver()
        #expect(desk.handed() == [1, 2, 3])
        #expect(desk.ingestReplies[during]?.brief == "accepted 1 gated 1 discarded 0 kept true last 3")
    }

    @Test func aHoldThatIsReadWhileTheOpeningIsWrittenClosesBehindIt() {
        var desk = Desk(.initializeWithHoldingOperations, collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        _ = desk.send(start)
        _ = desk.sendBlock()
        _ = desk.send(hold)
        _ = desk.sendBlock()
        desk.disk()
        desk.handOver()
        #expect(desk.handed() == [1, 2])
        #expect(desk.engine.lifecycle.closedThrough == JournalSeq(2))
    }

    @Test func aKillThatIsReadWhileTheOpeningIsWrittenLetsNothingOut() {
        var desk = Desk(.initializeWithHoldingOperations, collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        _ = desk.send(start)
        _ = desk.send(.kill)
        desk.diskStep()
        desk.handOver()
        #expect(desk.handed().isEmpty && desk.streamed.isEmpty)
        desk.disk()
        desk.handOver()
        #expect(desk.handed().isEmpty && desk.streamed.isEmpty)
        #expect(desk.states == [.operating, .killed])
    }

    @Test func aHoldThatChangesNothingLeavesTheGateAsItWas() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.send(.initialize, key: "k")
        let stale = desk.send(hold, expect: Expectation(seq: 99))
        let between = desk.sendBlock()
        desk.disk()
        _ = desk.emit()
        desk.handOver()
        #expect(desk.replies[stale]?.brief == "operating 1 conflict")
        #expect(desk.ingestReplies[between]?.brief.hasPrefix("accepted 1") == true)
        #expect(desk.handed() == [1, 2])
    }

    @Test func aCancelledHoldIsNoRestart() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        desk.hold()
        _ = desk.emit()
        desk.handOver()
        #expect(desk.handed() == [1])
        #expect(desk.ask(start)?["previous"] == .string("holdRequested"))
        desk.handOver()
        #expect(desk.handed() == [1, 2])
        #expect(desk.deliveries.map(\.opening.raw) == [1, 3])
    }

    @Test func nothingIsHandedOverOnHold() {
        var desk = Desk(collectors: ["c"]) { $0.drainTimeoutMs = 100 }
        _ = desk.emit(2)
        desk.hold()
        desk.pass(100)
        desk.disk()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed().isEmpty)
        #expect(desk.records.last?.facts.undelivered == 2)
        desk.start()
        desk.handOver()
        #expect(desk.handed() == [1, 2])
    }

    @Test func acksCountOnHold() {
        var desk = Desk(collectors: ["c"]) { $0.drainTimeoutMs = 100 }
        desk.hello("c")
        _ = desk.emit(2)
        desk.handOver()
        desk.hold()
        desk.pass(100)
        desk.disk()
        desk.ack(2)
        #expect(desk.engine.shown.state == .onHold)
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(2))
    }

    @Test func theStateComesBackAsItWas() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.restart()
        #expect(desk.engine.gate.admits)
        desk.hold()
        _ = desk.emit()
        desk.restart()
        #expect(desk.engine.shown.state == .holdRequested)
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1])
        desk.ack(1)
        desk.disk()
        desk.restart()
        #expect(desk.engine.shown.state == .onHold)
        desk.start()
        desk.hello("c", peer: 2)
        desk.handOver()
        #expect(desk.handed(to: 2) == [2])
        _ = desk.ask(.kill)
        desk.restart()
        #expect(desk.engine.shown.state == .killed)
        #expect(desk.emit()?.brief == "notOperating")
    }

    // MARK: Kill

    @Test func aKillClosesAtOnceWhateverIsBeingWritten() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        _ = desk.send(.initialize, key: "k")
        _ = desk.send(.kill)
        desk.handOver()
        #expect(desk.handed().isEmpty)
        let late = desk.sendBlock()
        desk.disk()
        #expect(desk.ingestReplies[late]?.brief == "notOperating")
        #expect(desk.blocks.isEmpty)
    }

    @Test func killSaysWhatItDiscardsAndWhatItCanNotRecall() {
        var desk = Desk(collectors: ["c", "d"])
        desk.hello("c", windowBytes: 150)
        for _ in 1...3 { _ = desk.emit(2) }
        desk.handOver()
        desk.ack(1)
        let reply = desk.ask(.kill)
        #expect(reply?["discarded"] == .uint(6))
        #expect(reply?["pending"] == .uint(0))
        #expect(reply?["inFlight"] == .object([.init("c", .array([.array([.uint(2), .uint(1)])]))]))
        #expect(desk.records.last?.facts.discarded == 6)
        #expect(desk.rebinds == 1)
        #expect(desk.blocks.isEmpty)
    }

    @Test func afterAKillNothingLeavesAndALateAckChangesNothing() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(2)
        desk.handOver()
        _ = desk.send(.kill)
        desk.ack(1)
        desk.disk()
        desk.ack(2)
        desk.hello("c")
        desk.disk()
        desk.handOver()
        #expect(desk.handed() == [1, 2])
        #expect(desk.engine.durable.isEmpty && desk.ledger.cursors.isEmpty)
        #expect(desk.records.last?.facts.discarded == 2)
        #expect(desk.ask(.start)?.brief == "killed 2")
        #expect(desk.engine.lastSeq == JournalSeq(2))
    }

    @Test func anAckBesideAKillIsTooLate() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(2)
        desk.handOver()
        _ = desk.send(.kill)
        let before = desk.engine.durable
        desk.ack(2)
        #expect(desk.engine.durable == before)
        desk.disk()
        #expect(desk.records.last?.facts.inFlight == ["c": [SeqRange(first: JournalSeq(1), count: 2)]])
        #expect(desk.records.last?.facts.discarded == 2)
    }

    @Test func aKillThatComesToNothingLeavesTheGateAsTheHoldBehindItHasIt() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        desk.hold()
        _ = desk.send(.initialize, key: "k")
        let kill = desk.send(.kill, expect: Expectation(state: .operating))
        let block = desk.sendBlock()
        let again = desk.send(hold, key: "h")
        desk.disk()
        #expect(desk.replies[kill]?.brief == "holdRequested 2 conflict")
        #expect(desk.replies[again]?.brief == "holdRequested 2")
        #expect(desk.ingestReplies[block]?.brief == "overloaded")
        desk.handOver()
        #expect(desk.handed() == [1])
    }

    // MARK: Bounds and warnings

    @Test func aFullQueueRefusesUntilCollectorsCatchUp() {
        var desk = Desk(collectors: ["c"]) { $0.queueLimitBytes = 250 }
        desk.hello("c")
        _ = desk.emit(batch: 1)
        _ = desk.emit(batch: 2)
        #expect(desk.emit(batch: 3)?.brief == "overloaded")
        desk.handOver()
        desk.ack(2)
        #expect(desk.emit(batch: 3)?.brief == "accepted 1 gated 0 discarded 0 kept true last 3")
    }

    @Test func aLaunchThatWasNeverStartedIsWarnedOf() {
        var desk = Desk(.initializeWithHoldingOperations)
        let warnings = { (desk: Desk) in
            desk.logs.filter { $0.hasPrefix("this launch was never started") }.count
        }
        desk.pass(599_999)
        #expect(warnings(desk) == 0)
        desk.pass(1)
        #expect(warnings(desk) == 1)
        desk.pass(3_600_000)
        #expect(warnings(desk) == 2)
        desk.start()
        desk.hold()
        desk.pass(7_200_000)
        desk.disk()
        #expect(warnings(desk) == 2)
    }

    @Test func aCollectorThatLagsTooFarIsEvicted() {
        var desk = Desk(collectors: ["c"]) { $0.collectorMaxLagBytes = 150 }
        for _ in 1...2 { _ = desk.emit() }
        desk.pass(1000)
        desk.disk()
        #expect(desk.records.map(\.command) == ["evicted"])
        #expect(desk.records.last?.facts.collector == "c")
        #expect(desk.ledger.cursors.isEmpty)
    }
}

extension ControlCommand {
    fileprivate static let start = ControlCommand.startOperation(leaseMs: nil)
}
