import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct AnswerTests {
    @Test func aBlockCommittedBesideAKillThatComesToNothingIsAnswered() {
        var desk = Desk(collectors: ["c"])
        let block = desk.sendBlock()
        let note = desk.send(.initialize, key: "k")
        let kill = desk.send(.kill, expect: Expectation(seq: 99))
        desk.disk()
        #expect(desk.replies[note]?.brief == "operating 1")
        #expect(desk.replies[kill]?.brief == "operating 1 conflict")
        #expect(desk.ingestReplies[block]?.brief == "accepted 1 gated 0 discarded 0 kept true last 1")
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1])
    }

    @Test func aBlockCommittedBesideAKillIsAnsweredNotOperating() {
        var desk = Desk(collectors: ["c"])
        let block = desk.sendBlock()
        let kill = desk.send(.kill)
        desk.disk()
        #expect(desk.replies[kill]?.brief == "killed 2")
        #expect(desk.ingestReplies[block]?.brief == "notOperating")
        #expect(desk.ingestReplies[block]?.status.state == .killed)
    }

    @Test func aHoldThatIsWrittenWhileTheHostStopsIsNotLeftWaiting() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        let requester = desk.send(.holdOperation(waitMs: 60_000, gatedEvents: nil))
        desk.act { engine, _, effects in engine.stop(restart: false, into: &effects) }
        desk.disk()
        #expect(desk.replies[requester]?.brief == "holdRequested 2 shuttingDown")
    }

    @Test func stoppingAnswersThoseWhoWait() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        let waiting = desk.send(.holdOperation(waitMs: 60_000, gatedEvents: nil))
        desk.disk()
        desk.act { engine, _, effects in engine.stop(restart: false, into: &effects) }
        #expect(desk.replies[waiting]?.brief == "holdRequested 2 shuttingDown")
        #expect(desk.ask(.startOperation(leaseMs: nil))?.brief == "holdRequested 2 shuttingDown")
        #expect(desk.emit()?.brief == "shuttingDown")
        #expect(desk.stops == [false])
    }

    @Test func aFailedDiskAnswersEverybody() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit(batch: 1)
        let waiting = desk.send(.holdOperation(waitMs: 60_000, gatedEvents: nil))
        desk.disk()
        let controls = [
            desk.send(.startOperation(leaseMs: nil)), desk.send(.kill), desk.send(.configure(patch: "{}")),
        ]
        let blocks = [desk.sendBlock(), desk.sendBlock(batch: 1)]
        desk.act { engine, _, effects in
            engine.abandon(WireError(.internalError, "the disk failed", retryable: true), into: &effects)
        }
        #expect(
            ([waiting] + controls.prefix(2)).map { desk.replies[$0]?.error?.code.raw } == [
                "internal", "internal", "internal",
            ])
        #expect(blocks.map { desk.ingestReplies[$0]?.brief } == ["internal", "internal"])
        #expect(desk.engine.nextGrant() == nil)
    }

    @Test func aDrainsTimeoutDoesNotEndTheNextHoldsDrain() {
        var desk = Desk(collectors: ["c"]) { $0.drainTimeoutMs = 100 }
        _ = desk.emit()
        desk.hold()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: .queue))
        _ = desk.send(.startOperation(leaseMs: nil))
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        desk.nowMs += 100
        desk.disk()
        #expect(desk.states == [.holdRequested, .operating, .holdRequested])
        desk.pass(99)
        desk.disk()
        #expect(desk.states.last == .holdRequested)
        desk.pass(1)
        desk.disk()
        #expect(desk.states.last == .onHold)
    }

    @Test func theLoopSleepsWhileAnExpiredLeaseWaitsForRoom() {
        var desk = Desk()
        desk.start(leaseMs: 50)
        desk.nowMs += 50
        #expect(desk.engine.nextTickMs == 50)
        desk.act { $0.tick(now: $1, into: &$2) }
        desk.diskFull()
        #expect(desk.engine.nextTickMs == 1000)
        desk.pass(1000)
        desk.disk()
        #expect(desk.records.map(\.command) == ["startOperation", "leaseExpired", "drained"])
    }

    @Test func theLoopSleepsWhileADrainsEndWaitsForRoom() {
        var desk = Desk(collectors: ["c"]) { $0.drainTimeoutMs = 100 }
        _ = desk.emit()
        desk.hold()
        desk.pass(100)
        desk.diskFull()
        #expect(desk.engine.nextTickMs > 100)
    }
}
