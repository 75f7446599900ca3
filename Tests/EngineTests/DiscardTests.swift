import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct DiscardTests {
    @Test func thePolicyQueuesUnlessItSaysOtherwise() {
        for (policy, brief) in [
            (GatedPolicy.queue, "accepted 1 gated 1 discarded 0 kept true last 1"),
            (.discard, "accepted 0 gated 0 discarded 1 kept false last 0"), (.refuse, "notOperating"),
        ] {
            var configured = Desk { $0.gatedEvents = policy }
            configured.hold()
            #expect(configured.emit()?.brief == brief)
            var named = Desk()
            named.hold(policy)
            #expect(named.emit()?.brief == brief)
            named.start()
            named.hold()
            #expect(named.emit()?.brief.hasPrefix("accepted 1 gated 1") == true)
        }
    }

    @Test func aHoldThatNamesAPolicyReplacesTheOneBefore() {
        var desk = Desk(collectors: ["c"])
        desk.hold(.refuse)
        let reply = desk.ask(.holdOperation(waitMs: nil, gatedEvents: .queue))
        #expect(reply?.brief == "onHold 3")
        #expect(reply?["changed"] == .bool(false))
        #expect(desk.records.last?.facts.gatedEvents == .queue)
        #expect(desk.emit()?.brief == "accepted 1 gated 1 discarded 0 kept true last 1")
    }

    @Test func discardDropsWhatThisHoldHasQueuedAndNothingElse() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.hold()
        _ = desk.emit()
        desk.hold(.discard)
        desk.start()
        _ = desk.emit()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1, 3])
        #expect(desk.streamed == [1, 3])
        #expect(desk.ledger.discarded == [SeqRange(first: JournalSeq(2), count: 1)])
    }

    @Test func discardDropsWhatWasReadWhileItWaitedForTheDisk() {
        var desk = Desk(collectors: ["c"])
        _ = desk.send(.initialize, key: "k")
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: .discard))
        let between = desk.sendBlock()
        desk.disk()
        #expect(desk.ingestReplies[between]?.brief == "accepted 1 gated 1 discarded 0 kept true last 1")
        desk.start()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed().isEmpty)
        #expect(desk.streamed.isEmpty)
    }

    @Test func aDiscardThatFindsNoRoomDropsNothing() {
        var desk = Desk(collectors: ["c"])
        desk.hold()
        _ = desk.emit()
        let requester = desk.send(.holdOperation(waitMs: nil, gatedEvents: .discard))
        desk.diskFull()
        desk.disk()
        #expect(desk.replies[requester]?.brief == "onHold 3 storageFull")
        desk.start()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1])
    }

    @Test func theRecordAloneDrops() {
        var desk = Desk(collectors: ["c"])
        desk.hold()
        _ = desk.emit()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: .discard))
        desk.diskStep()
        // The journal does not know of it yet when the host dies.
        #expect(desk.ledger.discarded.isEmpty)
        desk.restart()
        #expect(desk.ledger.discarded == [SeqRange(first: JournalSeq(1), count: 1)])
        desk.start()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed().isEmpty)
    }

    @Test func whatTheJournalHadNoRoomForStaysDroppedAfterAStart() {
        var desk = Desk(collectors: ["c"])
        desk.hold()
        _ = desk.emit()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: .discard))
        desk.diskStep()
        desk.diskFull()
        #expect(desk.ledger.discarded.isEmpty)
        desk.start()
        desk.restart()
        #expect(desk.ledger.discarded == [SeqRange(first: JournalSeq(1), count: 1)])
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed().isEmpty)
    }

    @Test func whatTheJournalHadNoRoomForIsNotedOnceThereIsSome() {
        var desk = Desk(collectors: ["c"])
        desk.hold()
        _ = desk.emit()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: .discard))
        desk.diskStep()
        desk.diskFull()
        desk.pass(1000)
        desk.disk()
        #expect(desk.ledger.discarded == [SeqRange(first: JournalSeq(1), count: 1)])
    }

    @Test func aDiscardIsNotForgottenForWantOfCollectors() {
        var desk = Desk()
        desk.hold()
        _ = desk.emit()
        desk.hold(.discard)
        desk.restart()
        desk.start()
        desk.handOver()
        #expect(desk.streamed.isEmpty)
    }

    @Test func numbersThatADiscardNamesAreNotGivenAgain() {
        var desk = Desk(collectors: ["c"])
        desk.hold()
        _ = desk.emit()
        desk.start()
        desk.hello("c")
        desk.handOver()
        desk.ack(1)
        // A hold is decided while a block that it drops is still on its way, and finds no room.
        _ = desk.send(.initialize, key: "k")
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: .discard))
        let lost = desk.sendBlock()
        desk.diskUntilBlock()
        desk.diskFull()
        desk.disk()
        #expect(desk.ingestReplies[lost]?.brief == "storageFull")
        desk.start()
        #expect(desk.emit()?.brief == "accepted 1 gated 0 discarded 0 kept true last 3")
        desk.restart()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1, 3])
    }

    @Test func aNumberThatAWaitingHoldNamesIsNotGivenAgain() {
        var desk = Desk(.initializeWithHoldingOperations, collectors: ["c"])
        desk.hello("c")
        _ = desk.send(.initialize, key: "k")
        for _ in 1...4 {
            _ = desk.send(.startOperation(leaseMs: nil))
            _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        }
        _ = desk.send(.startOperation(leaseMs: nil))
        _ = desk.sendBlock()
        // Read after the block, it closes behind it, and waits for its turn.
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        desk.diskUntilBlock()
        desk.diskFull()
        desk.disk { $0 == gap }
        #expect(desk.jobs.first?.job == gap)
        desk.diskStep()
        #expect(!desk.engine.deferred.isEmpty)
        let late = desk.sendBlock()
        desk.disk()
        desk.handOver()
        #expect(desk.ingestReplies[late]?.brief == "accepted 1 gated 1 discarded 0 kept true last 2")
        #expect(desk.handed().isEmpty)
    }

    @Test func aGapThatFindsNoRoomIsNotedBeforeAnythingElseIsTaken() {
        var desk = Desk(collectors: ["c"])
        // The hold names number 1.
        _ = desk.sendBlock()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        desk.diskFull()
        desk.disk { $0 == gap }
        desk.diskFull()
        #expect(desk.emit()?.brief == "storageFull")
        desk.pass(1000)
        desk.disk()
        #expect(desk.emit()?.brief == "accepted 1 gated 1 discarded 0 kept true last 2")
        #expect(desk.states == [.holdRequested, .onHold])
    }

    private var gap: Desk.Job {
        .other(.entry(.discarded(SeqRange(first: JournalSeq(1), count: 1), .unwritten)))
    }

    @Test func gatedEventsAgeOut() {
        var desk = Desk(collectors: ["c"]) { $0.gatedMaxAgeMs = 5000 }
        desk.hold()
        _ = desk.emit()
        desk.pass(3000)
        _ = desk.emit()
        desk.pass(2000)
        desk.disk()
        desk.start()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [2])
        #expect(desk.engine.statistics.eventsDiscarded == 1)
    }

    @Test func whatWasAcceptedBeforeTheHoldDoesNotAgeOut() {
        var desk = Desk(collectors: ["c"]) {
            $0.gatedMaxAgeMs = 1000
            $0.drainTimeoutMs = 10
        }
        _ = desk.emit()
        desk.hold()
        desk.pass(9000)
        desk.disk()
        desk.start()
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1])
    }

    @Test func discardsAreRecordedAtMostOnceAMinuteAReason() {
        var desk = Desk()
        desk.hold(.discard)
        _ = desk.emit(3)
        desk.pass(1000)
        desk.disk()
        _ = desk.emit(2)
        desk.pass(30_000)
        desk.disk()
        let notes = { (desk: Desk) in
            desk.records.filter { $0.command == "discarded" }.map {
                [$0.facts.discarded ?? 0, UInt64($0.wallMs)]
            }
        }
        #expect(notes(desk) == [[3, 1_001_000]])
        desk.pass(30_000)
        desk.disk()
        #expect(notes(desk) == [[3, 1_001_000], [2, 1_061_000]])
        #expect(desk.records.last?.facts.discardReason == .policy)
    }

    @Test func aSumThatFoundNoRoomIsRecordedLater() {
        var desk = Desk()
        desk.hold(.discard)
        _ = desk.emit(3)
        desk.pass(1000)
        desk.diskFull()
        desk.pass(60_000)
        desk.disk()
        #expect(desk.records.last?.facts.discarded == 3)
    }

    @Test func passedDiscardsAreForgotten() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        for _ in 1...3 {
            desk.hold()
            _ = desk.emit()
            desk.hold(.discard)
            desk.start()
            _ = desk.emit()
            desk.handOver()
            desk.ack(desk.engine.lastSeq.raw)
        }
        #expect(desk.handed() == [2, 4, 6])
        #expect(desk.engine.discards.discarded.isEmpty)
        #expect(desk.ledger.discarded.count <= 1)
    }

    @Test func whatWasDiscardedFillsTheQueueNoLonger() {
        for collectors in [["c"], []] {
            var desk = Desk(.initializeWithHoldingOperations, collectors: collectors) {
                $0.queueLimitBytes = 250
            }
            for _ in 1...2 { _ = desk.emit() }
            #expect(desk.emit()?.brief == "overloaded")
            desk.hold(.discard)
            #expect(desk.engine.queuedBytes == 0)
            desk.start()
            #expect(desk.emit()?.brief.hasPrefix("accepted 1 gated 0") == true)
        }
    }
}
