import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

/// Callback requests, and a gate that closes.
@Suite struct GatedRequestTests {
    private func outcome(_ desk: Desk, _ requester: Requester) -> String? { desk.replies[requester]?.outcome }

    private static let hold = ControlCommand.holdOperation(waitMs: nil, gatedEvents: nil)
    /// A hold that will be refused once its turn has come.
    private static let elsewhere = Expectation(state: .killed)

    @Test func noStateButOperatingLetsARequestPass() {
        var desk = Desk(.initializeWithHoldingOperations)
        desk.serve("s")
        let held = desk.call()
        desk.start()
        desk.hello("c", peer: 2)
        _ = desk.emit()
        desk.hold()
        #expect(desk.engine.shown.state == .holdRequested)
        let draining = desk.call()
        let unknown = desk.call("nobody's")
        _ = desk.ask(.kill)
        let killed = desk.call()
        #expect(outcome(desk, held) == "notOperating onHold retryable")
        #expect(outcome(desk, draining) == "notOperating holdRequested retryable")
        #expect(outcome(desk, unknown) == "notOperating holdRequested retryable")
        #expect(outcome(desk, killed) == "notOperating killed")
        #expect(desk.calls().isEmpty)
    }

    @Test(arguments: [hold, .kill])
    func aClosingAnswersAllInFlightOnceItIsOnDiskAndNotBefore(_ closing: ControlCommand) {
        var desk = Desk()
        desk.serve("s")
        desk.hello("c", peer: 2)
        _ = desk.emit()
        let requesters = (0..<3).map { _ in desk.call() }
        let closed = desk.send(closing)
        let read = desk.call()
        #expect(requesters.allSatisfy { desk.replies[$0] == nil } && desk.replies[read] == nil)
        #expect(desk.calls() == [1, 2, 3], "nothing is routed after the closing was read")
        desk.disk()
        let state = closing == .kill ? "killed" : "holdRequested"
        #expect(
            requesters.map { outcome(desk, $0) }
                == Array(repeating: "notOperating \(state) unknown", count: 3))
        #expect(outcome(desk, read) == "notOperating \(state)" + (closing == .kill ? "" : " retryable"))
        #expect(desk.replies[closed]?.error == nil)
        for number: UInt64 in 1...3 { desk.answer(number) }
        #expect(desk.engine.statistics.resultsDropped == 3)
        #expect(desk.engine.requests == RequestTable(after: 3))
    }

    @Test func aLeaseThatRunsOutAnswersAllInFlight() {
        var desk = Desk()
        desk.start(leaseMs: 500)
        desk.serve("s")
        let requester = desk.call()
        desk.pass(500)
        #expect(desk.replies[requester] == nil)
        desk.diskStep()
        #expect(outcome(desk, requester) == "notOperating holdRequested unknown")
    }

    @Test func aResultThatComesWhileTheClosingIsWrittenIsNotTold() {
        var desk = Desk()
        desk.serve("s")
        let requester = desk.call()
        _ = desk.send(Self.hold)
        desk.answer(1)
        #expect(desk.replies[requester] == nil)
        desk.disk()
        #expect(desk.replies[requester]?.error?.code == .notOperating)
        #expect(desk.engine.statistics.resultsDropped == 0, "it was kept, and is gone with its request")
    }

    /// The record of a `forget` is being written, so that the hold behind it is read and not decided.
    private func deskWithAClosingThatWillFail() -> (Desk, Requester) {
        var desk = Desk(collectors: ["c"])
        desk.serve("s", as: "a", peer: 1)
        desk.serve("s", as: "b", peer: 2)
        let before = desk.call()
        _ = desk.send(.forget(name: "c"))
        _ = desk.send(Self.hold, expect: Self.elsewhere)
        return (desk, before)
    }

    @Test func aClosingThatComesToNothingLetsThemGoOn() {
        var (desk, before) = deskWithAClosingThatWillFail()
        desk.answer(1, "kept")
        desk.answer(1, "twice")
        desk.pass(40)
        let read = desk.call(timeoutMs: 100)
        desk.pass(60)
        #expect(desk.replies[before] == nil && desk.replies[read] == nil)
        #expect(desk.calls(to: 2) == [])
        desk.disk()
        #expect(outcome(desk, before) == "kept")
        #expect(
            desk.sent[PeerID(2)]?.last
                == .request(id: 2, service: "s", arguments: .object([]), timeoutMs: 40),
            "the time that it waited counts")
        desk.answer(2, peer: 2)
        #expect(outcome(desk, read) == "yes")
        #expect(desk.engine.statistics.resultsDropped == 1)
    }

    @Test func whatAProviderSaidBeforeItLeftStands() {
        var (desk, before) = deskWithAClosingThatWillFail()
        desk.answer(1, "kept")
        desk.receive(.bye)
        #expect(desk.replies[before] == nil)
        desk.disk()
        #expect(outcome(desk, before) == "kept")
        #expect(desk.engine.requests == RequestTable(after: 1))
    }

    @Test func aDeadlineThatPassesWhileTheClosingIsWrittenIsToldAtOnce() {
        var (desk, before) = deskWithAClosingThatWillFail()
        let read = desk.call(timeoutMs: 100)
        #expect(desk.engine.nextTickMs == 100)
        desk.pass(100)
        #expect(outcome(desk, read) == "timeout operating retryable")
        desk.pass(4900)
        #expect(outcome(desk, before) == "timeout operating unknown")
        desk.disk()
        #expect(desk.calls(to: 2).isEmpty)
    }

    @Test func whatWaitedBeyondItsDeadlineIsHandedToNobody() {
        var (desk, _) = deskWithAClosingThatWillFail()
        let read = desk.call(timeoutMs: 100)
        desk.nowMs += 100
        desk.disk()
        #expect(outcome(desk, read) == "timeout operating retryable")
        #expect(desk.calls(to: 2).isEmpty)
    }

    @Test func aClosingWhileTheOpeningIsWrittenLetsNothingPass() {
        var desk = Desk(.initializeWithHoldingOperations)
        desk.serve("s")
        _ = desk.send(.startOperation(leaseMs: nil))
        _ = desk.send(Self.hold)
        let early = desk.call()
        #expect(outcome(desk, early) == "notOperating onHold retryable")
        desk.diskStep()
        #expect(desk.engine.shown.state == .operating)
        let waiting = desk.call()
        #expect(desk.replies[waiting] == nil)
        desk.disk()
        #expect(desk.replies[waiting]?.error?.code == .notOperating)
        #expect(desk.calls().isEmpty)
    }

    @Test func aClosingThatFoundTheDiskFullAnswersAllWithoutShowingAState() {
        var desk = Desk()
        desk.serve("s")
        let inFlight = desk.call()
        let hold = desk.send(Self.hold)
        let waiting = desk.call()
        desk.diskFull()
        #expect(desk.replies[hold]?["closedInMemory"] == .bool(true))
        #expect(outcome(desk, inFlight) == "storageFull operating unknown")
        #expect(outcome(desk, waiting) == "storageFull operating retryable")
        let later = desk.call()
        #expect(outcome(desk, later) == "storageFull operating retryable")
        desk.pass(1000)
        let retried = desk.call()
        #expect(desk.replies[retried] == nil)
        desk.disk()
        #expect(desk.replies[retried]?.error?.code == .notOperating)
        #expect(desk.calls() == [1])
    }

    @Test func aKillForgetsWhoServed() {
        var desk = Desk()
        desk.serve("s")
        _ = desk.call()
        _ = desk.ask(.kill)
        desk.answer(1)
        #expect(desk.engine.statistics.resultsDropped == 1)
        #expect(desk.sent[PeerID(1)]?.last == .helloWanted)
    }

    @Test func requestsThatWaitForTheDiskAreLimited() {
        var desk = Desk()
        desk.serve("s")
        _ = desk.send(Self.hold)
        for _ in 0..<Engine.undecidedLimit { _ = desk.call() }
        let more = desk.call()
        #expect(outcome(desk, more) == "overloaded operating retryable")
    }
}
