import Lifecycle
import Testing

// Every reachable lifecycle, in a world small enough to be seen whole.

private let launch = LaunchID(high: 1, low: 2)

/// One input of the world: the machine's own, and the two setters that only some states allow.
private enum Move: Hashable {
    case input(LifecycleInput, LifecycleCause)
    case lease(Lease?)
    case policy(GatedPolicy)

    static let all: [Move] =
        [
            .input(.startOperation, .startOperation), .input(.holdOperation, .holdOperation),
            .input(.holdOperation, .leaseExpired), .input(.drained, .drained),
            .input(.drainTimeout, .drainTimeout), .input(.kill, .kill),
            .lease(Lease(durationMs: 5, setAtWallMs: 1)), .lease(nil),
        ] + GatedPolicy.allCases.map { .policy($0) }

    func isAllowed(in state: LifecycleState) -> Bool {
        switch self {
        case .input(let input, _): state.outcome(of: input) != .impossible
        case .lease(let lease): state == .operating || lease == nil
        case .policy: state == .holdRequested || state == .onHold
        }
    }
}

private struct Step {
    let before: Lifecycle
    let move: Move
    let after: Lifecycle
    let transition: Transition?
}

/// Every step from every lifecycle that both beginnings reach within `seqLimit` transitions.
private func explore(seqLimit: UInt64 = 6) -> [Step] {
    var steps: [Step] = []
    var seen: Set<Lifecycle> = []
    var waiting: [Lifecycle] = []
    for cause in [LifecycleCause.initialize, .initializeWithHoldingOperations] {
        for released in [JournalSeq(0), JournalSeq(3)] {
            waiting.append(
                Lifecycle.begin(
                    launch: launch, cause: cause, through: JournalSeq(3), releasedThrough: released, wallMs: 7
                ).0)
        }
    }
    while let before = waiting.popLast() {
        guard seen.insert(before).inserted, before.seq.raw < seqLimit else { continue }
        for move in Move.all where move.isAllowed(in: before.state) {
            var after = before
            var transition: Transition?
            switch move {
            case .input(let input, let cause):
                let through = JournalSeq(3 + before.seq.raw)
                transition = after.apply(
                    input, cause: cause, through: through, wallMs: Int64(before.seq.raw))
            case .lease(let lease): after.setLease(lease)
            case .policy(let policy): after.setHoldPolicy(policy)
            }
            steps.append(Step(before: before, move: move, after: after, transition: transition))
            waiting.append(after)
        }
    }
    return steps
}

@Suite struct LifecycleTests {
    private static let steps = explore()

    @Test func theWorldReachesEveryStateAndEveryMove() {
        #expect(Set(Self.steps.map(\.before.state)) == Set(LifecycleState.allCases))
        #expect(Set(Self.steps.map(\.move)) == Set(Move.all))
        #expect(Self.steps.count > 400)
    }

    @Test func theSeqGrowsByOneATransitionAndStaysOtherwise() {
        for step in Self.steps {
            let grown = step.transition == nil ? step.before.seq : step.before.seq.next
            #expect(step.after.seq == grown, "\(step)")
            #expect(step.transition.map(\.seq) ?? step.after.seq == step.after.seq)
            #expect((step.before.state != step.after.state) == (step.transition != nil), "\(step)")
        }
    }

    @Test func nothingChangesWithoutATransitionButLeaseAndPolicy() {
        for step in Self.steps where step.transition == nil {
            if case .input = step.move { #expect(step.before == step.after, "\(step)") }
        }
    }

    @Test func killedIsAbsorbing() {
        for step in Self.steps where step.before.state == .killed {
            #expect(step.after == step.before, "\(step)")
        }
        for input in LifecycleInput.allCases {
            switch LifecycleState.killed.outcome(of: input) {
            case .unchanged, .impossible: break
            case .transition: Issue.record("\(input) leaves killed")
            }
        }
    }

    @Test func killedKeepsNothing() {
        for step in Self.steps where step.after.state == .killed {
            let left = [
                step.after.opening == nil, step.after.lease == nil, step.after.holdPolicy == nil,
                step.after.closedThrough == nil,
            ]
            #expect(left == [true, true, true, true])
        }
    }

    @Test func eachStateHoldsWhatItNeedsAndNothingElse() {
        for step in Self.steps {
            switch step.after.state {
            case .operating:
                #expect(step.after.opening != nil && step.after.closedThrough == nil)
                #expect(step.after.holdPolicy == nil)
            case .holdRequested:
                #expect(
                    step.after.opening != nil && step.after.closedThrough != nil && step.after.lease == nil)
            case .onHold: #expect(step.after.closedThrough != nil && step.after.lease == nil)
            case .killed: break
            }
        }
    }

    @Test func aHoldClosesAtItsOwnPlaceAndADrainsEndDoesNotMoveIt() {
        for step in Self.steps {
            guard let transition = step.transition else { continue }
            switch transition.state {
            case .holdRequested: #expect(step.after.closedThrough == transition.through)
            case .onHold: #expect(step.after.closedThrough == step.before.closedThrough)
            case .operating:
                let opening = Opening(seq: transition.seq, wallMs: transition.wallMs)
                #expect(step.after.opening == opening)
            case .killed: break
            }
        }
    }

    @Test func replayingATransitionIsApplyingIt() {
        for step in Self.steps {
            guard let transition = step.transition else { continue }
            var replayed = step.before
            let isTaken = replayed.replay(transition)
            #expect(isTaken)
            #expect(replayed == step.after, "\(step)")
            // Again it does not follow, and changes nothing.
            let isTakenTwice = replayed.replay(transition)
            #expect(!isTakenTwice)
            #expect(replayed == step.after)
        }
    }

    @Test func aTransitionThatDoesNotFollowIsNotReplayed() {
        for step in Self.steps {
            guard let transition = step.transition else { continue }
            for state in LifecycleState.allCases where state != transition.state {
                let wrong = Transition(
                    seq: transition.seq, state: state, previous: transition.previous, cause: transition.cause,
                    through: transition.through, wallMs: transition.wallMs)
                var replayed = step.before
                let isTaken = replayed.replay(wrong)
                #expect(!isTaken)
                #expect(replayed == step.before)
            }
        }
    }

    @Test func aLaunchBeginsInOneOfTwoWays() {
        let (operating, first) = Lifecycle.begin(
            launch: launch, cause: .initialize, through: JournalSeq(9), releasedThrough: JournalSeq(9),
            wallMs: 5)
        #expect(
            first
                == Transition(
                    seq: TransitionSeq(1), state: .operating, previous: nil, cause: .initialize,
                    through: JournalSeq(9), wallMs: 5))
        #expect(operating.opening == Opening(seq: TransitionSeq(1), wallMs: 5))
        let (held, second) = Lifecycle.begin(
            launch: launch, cause: .initializeWithHoldingOperations, through: JournalSeq(9),
            releasedThrough: JournalSeq(4), wallMs: 5)
        #expect(second.state == .onHold && second.previous == nil)
        #expect(held.closedThrough == JournalSeq(4))
        #expect(held.opening == nil)
    }

    @Test func anErrorSaysTheStateAndWhatHelps() {
        let texts = LifecycleState.allCases.map { NotOperatingError(state: $0).description }
        #expect(
            texts == [
                "the host is operating again: send the request again",
                "the host is holdRequested: call startOperation() to resume",
                "the host is onHold: call startOperation() to resume",
                "the host is killed: nothing resumes this launch; only a new launch does",
            ])
        #expect(
            LifecycleState.allCases.map { NotOperatingError(state: $0).isRetryable } == [
                true, true, true, false,
            ])
        let unknown = NotOperatingError(state: .onHold, isOutcomeUnknown: true)
        #expect(!unknown.isRetryable)
        #expect(unknown.description.contains("whether it was carried out is not known"))
    }

    @Test(arguments: [
        (99, true), (100, false), (149, false), (150, true), (151, true),
    ]) func aLeaseReadBackHasRunOutAtItsEndAndBeforeItsBeginning(now: Int64, hasRunOut: Bool) {
        #expect(Lease(durationMs: 50, setAtWallMs: 100).hasRunOut(atWallMs: now) == hasRunOut)
    }
}
