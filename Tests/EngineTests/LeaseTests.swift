import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct LeaseTests {
    private func commands(_ desk: Desk) -> [String] { desk.records.map(\.command) }

    @Test func aLeaseThatIsNotRenewedClosesTheGate() {
        var desk = Desk()
        desk.start(leaseMs: 100)
        desk.pass(99)
        desk.disk()
        #expect(desk.engine.shown.state == .operating)
        desk.pass(1)
        #expect(desk.emit()?.brief.hasPrefix("accepted 1 gated 1") == true)
        #expect(commands(desk) == ["startOperation", "leaseExpired", "drained"])
        #expect(desk.states == [.holdRequested, .onHold])
    }

    @Test func aRenewalSetsItAnewAndAStartWithoutOneLeavesIt() {
        var desk = Desk()
        desk.start(leaseMs: 100)
        desk.pass(60)
        desk.start(leaseMs: 100)
        desk.pass(60)
        desk.start()
        desk.disk()
        #expect(desk.engine.shown.state == .operating)
        desk.pass(40)
        desk.disk()
        #expect(desk.engine.shown.state == .onHold)
    }

    @Test func aStartFromAHoldWithoutALeaseHasNone() {
        var desk = Desk()
        desk.start(leaseMs: 100)
        desk.hold()
        desk.start()
        desk.pass(60_000)
        desk.disk()
        #expect(desk.engine.shown.state == .operating)
        #expect(desk.engine.shown.lease == nil)
    }

    @Test func aRenewalThatIsReadBeforeTheEndIsDecidedCounts() {
        var desk = Desk()
        desk.start(leaseMs: 100)
        _ = desk.send(.initialize, key: "k")
        _ = desk.send(.startOperation(leaseMs: 500))
        desk.pass(100)
        desk.disk()
        #expect(desk.engine.shown.state == .operating)
        #expect(desk.engine.gate.admits)
    }

    @Test func aRenewalThatFindsNoRoomDidNotHappen() {
        var desk = Desk()
        desk.start(leaseMs: 100)
        _ = desk.send(.startOperation(leaseMs: 5000))
        desk.diskFull()
        desk.pass(100)
        desk.disk()
        #expect(desk.engine.shown.state == .onHold)
    }

    @Test(arguments: [(99, true), (100, false), (-1001, false)])
    func acrossARestartItGoesOnByTheWallClock(passedMs: Int64, isOpen: Bool) {
        var desk = Desk()
        desk.start(leaseMs: 100)
        desk.restart(wallMs: passedMs)
        #expect(desk.engine.shown.state == (isOpen ? .operating : .onHold))
        // Nothing but the rest of it is left.
        desk.pass(1)
        desk.disk()
        #expect(desk.engine.shown.state == .onHold)
    }

    @Test func itsTimeRunsFromWhenItsStartWasRead() {
        var desk = Desk()
        _ = desk.send(.initialize, key: "k")
        _ = desk.send(.startOperation(leaseMs: 100))
        desk.nowMs += 80
        desk.disk()
        #expect(desk.records.last?.facts.lease == Lease(durationMs: 100, setAtWallMs: 1_000_000))
        desk.restart()
        desk.pass(19)
        desk.disk()
        #expect(desk.engine.shown.state == .operating)
        desk.pass(1)
        desk.disk()
        #expect(desk.engine.shown.state == .onHold)
    }

    @Test func aRecordThatFindsNoRoomEndsNoLease() {
        var desk = Desk()
        desk.start(leaseMs: 100)
        _ = desk.send(.initialize, key: "k")
        desk.diskFull()
        desk.pass(100)
        desk.disk()
        #expect(desk.engine.shown.state == .onHold)
    }
}
