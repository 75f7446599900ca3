import HoldgateClient
import Testing

@testable import consent_manager

private let first = LaunchID(high: 0, low: 1)
private let second = LaunchID(high: 0, low: 2)

private func standing(_ consent: ConsentState, _ decision: UInt64, at ms: Int64 = 0) -> Standing {
    Standing(consent: consent, decision: decision, hash: "h\(decision)", decidedMs: ms)
}

private func view(
    _ state: LifecycleState, _ seq: UInt64, _ launch: LaunchID = first,
    by closer: GateView.Closer = .launch, at ms: Int64 = 0
) -> GateView {
    GateView(launch: launch, seq: TransitionSeq(seq), state: state, closer: closer, closedMs: ms)
}

private func done(_ state: LifecycleState, _ seq: UInt64, _ launch: LaunchID = first) -> GateOutcome {
    .done(HostStatus(state: state, seq: TransitionSeq(seq), launch: launch))
}

/// A keeper that tests talk to in one line.
private final class World {
    var keeper: GateKeeper

    init(_ standing: Standing) { keeper = GateKeeper(standing: standing, leaseMs: 3000) }

    func next(_ now: Int64) -> GateCall? { keeper.next(now: now) }
    func ask(_ now: Int64 = 0) -> GateAction? { keeper.next(now: now)?.action }
    func saw(_ view: GateView) { keeper.saw(view) }
    func answer(_ outcome: GateOutcome, _ now: Int64 = 0) { keeper.answered(outcome, now: now) }
    func decide(_ standing: Standing) { keeper.decided(standing) }
}

@Suite struct GateKeeperTests {
    @Test func nothingIsAskedOfAGateThatWasNotSeen() {
        let world = World(standing(.given, 1))
        #expect(world.ask() == nil)
        #expect(!world.keeper.isSettled)
        #expect(world.keeper.deadline(now: 0) == nil)
    }

    @Test func undecidedIsHeldOnceAndKeptSo() {
        let world = World(.none)
        world.saw(view(.onHold, 1))
        #expect(world.ask() == .hold(.queue))
        #expect(world.ask() == nil, "one command at a time")
        world.answer(done(.onHold, 1))
        #expect(world.keeper.isSettled)
        #expect(world.ask() == nil)
        #expect(world.keeper.deadline(now: 0) == nil)
    }

    @Test func consentOpensTheGateItWasDecidedOnAndRenewsTheLease() throws {
        let world = World(.none)
        world.saw(view(.onHold, 1))
        _ = world.ask()
        world.answer(done(.onHold, 1))
        world.decide(standing(.given, 1))
        #expect(!world.keeper.isSettled)
        let call = try #require(world.next(10))
        #expect(call.action == .start)
        #expect(call.expectation == Expectation(launch: first.raw, state: .onHold, seq: 1))
        world.answer(done(.operating, 2), 20)
        #expect(world.keeper.isSettled)
        #expect(world.keeper.deadline(now: 20) == 1020)
        #expect(world.ask(1019) == nil)
        let renewal = try #require(world.next(1020))
        #expect(renewal.expectation == Expectation(launch: first.raw, state: .operating, seq: 2))
    }

    @Test func aStaleReadOpensNothingAndIsLookedAtAgain() {
        let world = World(standing(.given, 1))
        world.saw(view(.onHold, 1))
        #expect(world.ask(0) == .start)
        world.answer(.stale, 10)
        #expect(world.ask(10) == nil)
        #expect(world.keeper.deadline(now: 10) == 510)
        world.saw(view(.holdRequested, 3, by: .other("ops"), at: 5))
        #expect(world.ask(11) == nil, "what closed it came after the consent")
        #expect(world.keeper.overruledBy == "ops")
        #expect(world.keeper.isSettled)
    }

    @Test func aLostHostIsAskedUntilItAnswers() {
        let world = World(standing(.withdrawn, 2))
        world.saw(view(.operating, 2))
        #expect(world.ask(0) == .kill)
        world.answer(.lost, 2000)
        #expect(!world.keeper.isSettled)
        #expect(world.keeper.problem == "no host answers")
        #expect(world.ask(2499) == nil)
        #expect(world.ask(2500) == .kill)
        world.answer(done(.killed, 3), 2600)
        #expect(world.keeper.isSettled && world.keeper.problem == nil)
        #expect(world.ask(10_000) == nil)
    }

    @Test func aHoldBySomebodyElseStandsUntilTheNextDecision() {
        let world = World(standing(.given, 1, at: 100))
        world.saw(view(.operating, 2))
        #expect(world.ask() == .start)
        world.answer(done(.operating, 2))
        world.saw(view(.holdRequested, 3, by: .other("ops"), at: 200))
        // A drain's end keeps who began it.
        world.saw(view(.onHold, 4))
        #expect(world.ask(5000) == nil)
        world.decide(standing(.given, 2, at: 300))
        #expect(world.ask(5000) == .start)
    }

    @Test func itsOwnLeaseRunningOutIsNobodysWord() {
        let world = World(standing(.given, 1, at: 100))
        world.saw(view(.onHold, 4, by: .consent, at: 200))
        #expect(world.ask() == .start)
    }

    @Test func consentAfterAWithdrawalBeginsANewLaunch() throws {
        let world = World(standing(.withdrawn, 2, at: 100))
        world.saw(view(.operating, 2))
        #expect(world.ask() == .kill)
        world.answer(done(.killed, 3))
        world.decide(standing(.given, 3, at: 200))
        let call = try #require(world.next(0))
        #expect(call.action == .newLaunch)
        #expect(call.expectation == Expectation(launch: first.raw, state: .killed, seq: 3))
        world.answer(done(.killed, 3))
        #expect(!world.keeper.isSettled)
        #expect(world.ask() == nil, "until the new launch is seen")
        world.saw(view(.onHold, 1, second))
        #expect(world.ask() == .start)
        world.answer(done(.operating, 2, second))
        #expect(world.keeper.isSettled)
    }

    /// A decision of tomorrow, by a clock that was wrong, is newer than nothing.
    @Test func aClockThatWasSetBackOpensNothingThatSomebodyElseClosed() {
        var ahead = standing(.given, 1, at: 900)
        ahead.isAhead = true
        let world = World(ahead)
        world.saw(view(.onHold, 3, by: .other("ops"), at: 200))
        #expect(world.ask() == nil)
        #expect(world.keeper.overruledBy == "ops")
        // What it or nobody closed it opens as ever.
        let own = World(ahead)
        own.saw(view(.onHold, 1))
        #expect(own.ask() == .start)
    }

    @Test func aKillBySomebodyElseIsNotUndoneByAnOldConsent() {
        let world = World(standing(.given, 1, at: 100))
        world.saw(view(.killed, 3, by: .other("privacy-office"), at: 200))
        #expect(world.ask() == nil)
        #expect(world.keeper.overruledBy == "privacy-office")
        world.decide(standing(.given, 2, at: 300))
        #expect(world.ask() == .newLaunch)
    }

    @Test func allIsSaidAgainWhenEitherComesBack() {
        let world = World(standing(.denied, 1))
        world.saw(view(.onHold, 1))
        #expect(world.ask() == .hold(.discard))
        world.answer(done(.onHold, 1))
        world.keeper.attached()
        #expect(world.ask() == .hold(.discard))
        world.answer(done(.onHold, 1))
        #expect(world.ask() == nil)
    }

    @Test func anOpeningBySomebodyElseIsClosedAgain() {
        let world = World(standing(.denied, 1))
        world.saw(view(.onHold, 1))
        _ = world.ask()
        world.answer(done(.onHold, 1))
        world.saw(view(.operating, 2))
        #expect(world.ask() == .hold(.discard))
    }

    @Test func expiryAloneHoldsAgain() {
        let world = World(standing(.given, 1))
        world.saw(view(.operating, 2))
        _ = world.ask()
        world.answer(done(.operating, 2))
        world.decide(standing(.expired, 1))
        #expect(world.ask() == .hold(.queue))
    }

    @Test func transitionsThatAreKnownChangeNothing() {
        let world = World(standing(.given, 1))
        world.saw(view(.onHold, 3))
        world.saw(view(.operating, 2))
        #expect(world.keeper.gate == view(.onHold, 3))
    }
}
