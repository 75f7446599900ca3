import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct CommandTests {
    private let hold = ControlCommand.holdOperation(waitMs: nil, gatedEvents: nil)
    private let start = ControlCommand.startOperation(leaseMs: nil)

    /// `state seq previous changed pending`
    private func row(_ reply: ControlReply?) -> String {
        guard let reply else { return "none" }
        let members = ["previous", "changed", "pending"].map { reply[$0].map { "\($0)" } ?? "-" }
        return ([reply.brief] + members).joined(separator: " ")
    }

    private func text(
        _ state: LifecycleState, _ seq: Int, _ previous: LifecycleState, _ changed: Bool, _ pending: Int
    )
        -> String
    {
        "\(state.rawValue) \(seq) string(\"\(previous.rawValue)\") bool(\(changed)) uint(\(pending))"
    }

    // MARK: Replies

    @Test func aReplyIsOfItsOwnTransitionEvenIfDrainedByThen() {
        var desk = Desk()
        #expect(row(desk.ask(hold)) == text(.holdRequested, 2, .operating, true, 0))
        #expect(row(desk.ask(hold)) == text(.onHold, 3, .onHold, false, 0))
        #expect(row(desk.ask(start)) == text(.operating, 4, .onHold, true, 0))
        #expect(row(desk.ask(start)) == text(.operating, 4, .operating, false, 0))
    }

    @Test func pendingCountsWhatWasAcceptedBeforeAndIsNotDoneEachOnce() {
        var desk = Desk(collectors: ["c", "d"])
        _ = desk.emit(3)
        desk.hello("c")
        desk.handOver()
        desk.ack(2)
        #expect(row(desk.ask(hold)) == text(.holdRequested, 2, .operating, true, 3))
        _ = desk.emit(5)
        #expect(row(desk.ask(hold)) == text(.holdRequested, 2, .holdRequested, false, 3))
        #expect(row(desk.ask(start)) == text(.operating, 3, .holdRequested, true, 3))
    }

    @Test func initializeIsANoOpWithinALaunch() {
        var desk = Desk()
        #expect(row(desk.ask(.initialize)) == text(.operating, 1, .operating, false, 0))
        _ = desk.ask(.kill)
        #expect(row(desk.ask(.initializeWithHoldingOperations)) == text(.killed, 2, .killed, false, 0))
        #expect(row(desk.ask(start)) == text(.killed, 2, .killed, false, 0))
        #expect(row(desk.ask(.kill)) == text(.killed, 2, .killed, false, 0))
    }

    @Test func noReplyShowsATransitionThatIsNotOnDisk() {
        var desk = Desk()
        let holding = desk.send(hold)
        #expect(desk.ask(.ping).map(\.brief) == nil || desk.replies[holding] != nil)
        var other = Desk()
        _ = other.send(hold)
        let ping = other.send(.ping)
        #expect(other.replies[ping]?.brief == "operating 1")
        let block = other.sendBlock()
        #expect(other.ingestReplies[block] == nil)
        #expect(other.publications.isEmpty)
        other.disk()
        #expect(other.ingestReplies[block]?.status.seq == TransitionSeq(2))
    }

    @Test func anUnknownGateIsRefused() {
        var desk = Desk()
        let requester = desk.requester()
        let request = ControlRequest(hold, gate: ["eu", "ads"])
        desk.act { $0.handle(request, from: requester, now: $1, into: &$2) }
        #expect(desk.replies[requester]?.brief == "operating 1 unknownGate")
        #expect(desk.jobs.isEmpty)
    }

    // MARK: Expect and key

    @Test func everythingExpectedMustHold() {
        for (expect, isMet) in [
            (Expectation(launch: Desk.launch.raw, state: .operating, seq: 1), true),
            (Expectation(launch: "other", state: .operating, seq: 1), false),
            (Expectation(launch: Desk.launch.raw, state: .onHold, seq: 1), false),
            (Expectation(launch: Desk.launch.raw, state: .operating, seq: 2), false),
        ] {
            var desk = Desk()
            let reply = desk.ask(.kill, expect: expect)
            #expect(reply?.brief == (isMet ? "killed 2" : "operating 1 conflict"))
            #expect(desk.emit()?.brief.hasPrefix("accepted 1") == !isMet)
        }
    }

    @Test func anExpectationIsOfTheStateItIsDecidedIn() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        _ = desk.send(hold)
        let second = desk.send(start, expect: Expectation(state: .holdRequested))
        desk.disk()
        #expect(desk.replies[second]?.brief == "operating 3")
    }

    @Test func aKeyRepeatsTheFirstReplyNoOpsToo() {
        var desk = Desk(.initializeWithHoldingOperations)
        for (command, key) in [(start, "s"), (start, "n")] {
            let first = desk.ask(command, key: key)
            desk.restart()
            let again = desk.ask(command, key: key)
            #expect(again?.brief == first?.brief)
            #expect(again?.members == (first?.members ?? []) + [.init("replayed", .bool(true))])
        }
        #expect(desk.records.map(\.command) == ["startOperation", "startOperation"])
        #expect(desk.engine.shown.seq == TransitionSeq(2))
    }

    @Test func aKeyBelongsToItsSourceAndItsRequest() {
        var desk = Desk()
        _ = desk.ask(hold, source: "a", key: "k")
        #expect(desk.ask(start, source: "a", key: "k")?.brief == "onHold 3 conflict")
        #expect(desk.ask(start, source: "b", key: "k")?.brief == "operating 4")
    }

    @Test func refusalsAreNotRemembered() {
        var desk = Desk()
        #expect(desk.ask(hold, key: "k", expect: Expectation(seq: 9))?.brief == "operating 1 conflict")
        #expect(desk.ask(hold, key: "k")?.brief == "holdRequested 2")
    }

    @Test func theSameKeyTwiceAtOnceIsExecutedOnce() {
        var desk = Desk()
        let first = desk.send(hold, key: "k")
        let second = desk.send(hold, key: "k")
        desk.disk()
        #expect(desk.replies[first]?["replayed"] == nil)
        #expect(desk.replies[second]?["replayed"] == .bool(true))
        #expect(desk.replies[second]?.brief == "holdRequested 2")
    }

    @Test func theOldestKeysAreForgotten() {
        var desk = Desk { $0.rememberedReplies = 2 }
        for key in ["1", "2", "3"] { _ = desk.ask(start, key: key) }
        #expect(desk.ask(start, key: "1")?["replayed"] == nil)
        #expect(desk.ask(start, key: "3")?["replayed"] == .bool(true))
    }

    // MARK: waitMs

    private func waiting(_ desk: inout Desk) -> Requester {
        _ = desk.emit()
        desk.hello("c")
        desk.handOver()
        let requester = desk.send(.holdOperation(waitMs: 500, gatedEvents: nil))
        desk.disk()
        #expect(desk.replies[requester] == nil)
        return requester
    }

    @Test func aWaitingHoldIsAnsweredOnceSettled() {
        var desk = Desk(collectors: ["c"])
        let requester = waiting(&desk)
        desk.ack(1)
        desk.disk()
        #expect(row(desk.replies[requester]) == text(.onHold, 3, .operating, true, 0))
    }

    @Test func aWaitingHoldIsAnsweredOkAfterADrainTimeout() {
        var desk = Desk(collectors: ["c"]) { $0.drainTimeoutMs = 100 }
        let requester = waiting(&desk)
        desk.pass(100)
        desk.disk()
        #expect(row(desk.replies[requester]) == text(.onHold, 3, .operating, true, 1))
        #expect(desk.records.last?.facts.undelivered == 1)
        #expect(desk.records.last?.command == "drainTimeout")
    }

    @Test func aWaitingHoldTimesOutAndStands() {
        var desk = Desk(collectors: ["c"])
        let requester = waiting(&desk)
        desk.pass(499)
        #expect(desk.replies[requester] == nil)
        desk.pass(1)
        #expect(desk.replies[requester]?.brief == "holdRequested 2 timeout")
        #expect(desk.replies[requester]?["pending"] == .uint(1))
        #expect(desk.ask(.state)?.brief == "holdRequested 2")
    }

    @Test func aWaitingHoldIsOvertakenByAStartOrAKill() {
        for command in [start, .kill] {
            var desk = Desk(collectors: ["c"])
            let requester = waiting(&desk)
            let reply = desk.ask(command)
            #expect(desk.replies[requester]?.brief == (reply?.brief ?? "") + " conflict")
        }
    }

    @Test func aWaitingHoldThatNeedsNoWaitIsAnsweredAtOnce() {
        var desk = Desk()
        desk.hold()
        let reply = desk.ask(.holdOperation(waitMs: 500, gatedEvents: nil))
        #expect(row(reply) == text(.onHold, 3, .onHold, false, 0))
    }

    @Test func aSecondWaitingHoldIsAnsweredWithTheFirst() {
        var desk = Desk(collectors: ["c"])
        let first = waiting(&desk)
        let second = desk.send(.holdOperation(waitMs: 800, gatedEvents: nil))
        desk.ack(1)
        desk.disk()
        #expect([first, second].map { desk.replies[$0]?.brief } == ["onHold 3", "onHold 3"])
    }

    @Test func aWaitingHoldsKeyWaitsAgain() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.hello("c")
        desk.handOver()
        let command = ControlCommand.holdOperation(waitMs: 500, gatedEvents: nil)
        _ = desk.send(command, key: "k")
        desk.disk()
        let again = desk.send(command, key: "k")
        desk.disk()
        #expect(desk.replies[again] == nil)
        desk.ack(1)
        desk.disk()
        #expect(desk.replies[again]?.brief == "onHold 3")
        #expect(desk.replies[again]?["replayed"] == .bool(true))
    }

    // MARK: The launch's end

    @Test func endLaunchStopsTheHostOnceItIsRecorded() {
        var desk = Desk()
        let requester = desk.send(.endLaunch(restart: true))
        #expect(desk.stops.isEmpty)
        desk.disk()
        #expect(desk.replies[requester]?.brief == "operating 1")
        #expect(desk.stops == [true])
        #expect(desk.records.last?.facts.restart == true)
    }

    @Test func nothingFollowsTheEndOfALaunchInItsHistory() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.hello("c")
        desk.handOver()
        desk.hold()
        let requester = desk.send(.endLaunch(restart: false))
        // The drain is over while the record is being written.
        desk.ack(1)
        desk.disk()
        #expect(desk.replies[requester]?.brief == "holdRequested 2")
        #expect(desk.records.map(\.command) == ["holdOperation", "endLaunch"])
        desk.pass(60_000)
        desk.disk()
        #expect(desk.records.count == 2)
    }

    @Test func theHistorysThroughNeverGoesBack() {
        var desk = Desk()
        _ = desk.send(hold)
        for key in ["1", "2"] { _ = desk.send(hold, key: key) }
        desk.diskStep()
        // The drain's end waits behind a no-op, and a start behind both.
        _ = desk.send(start)
        _ = desk.sendBlock(3)
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold, .operating])
        let transitions = desk.records.filter { $0.previous != $0.state }
        #expect(transitions.map(\.through.raw) == [0, 0, 0])
    }
}
