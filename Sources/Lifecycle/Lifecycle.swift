/// A promise to close the gate unless it is renewed in time.
public struct Lease: Hashable, Sendable {
    /// How long each renewal lasts.
    public let durationMs: Int64
    /// When it was last set, by the wall clock: across a restart, a clock before this counts as run out.
    public let setAtWallMs: Int64
    public init(durationMs: Int64, setAtWallMs: Int64) {
        self.durationMs = durationMs
        self.setAtWallMs = setAtWallMs
    }

    public var expiresAtWallMs: Int64 { setAtWallMs + durationMs }

    /// Whether it has run out when read back by a host that was down, which only the wall clock spans.
    public func hasRunOut(atWallMs now: Int64) -> Bool { now < setAtWallMs || now >= expiresAtWallMs }
}

/// The opening that lets events out: evidence that goes with each delivery.
public struct Opening: Hashable, Sendable {
    public let seq: TransitionSeq
    public let wallMs: Int64
    public init(seq: TransitionSeq, wallMs: Int64) {
        self.seq = seq
        self.wallMs = wallMs
    }
}

/// One change of state, as it is recorded and published.
public struct Transition: Hashable, Sendable {
    public let seq: TransitionSeq
    public let state: LifecycleState
    /// Nil for the launch's beginning.
    public let previous: LifecycleState?
    public let cause: LifecycleCause
    /// The last event accepted before it.
    public let through: JournalSeq
    public let wallMs: Int64

    public init(
        seq: TransitionSeq, state: LifecycleState, previous: LifecycleState?, cause: LifecycleCause,
        through: JournalSeq, wallMs: Int64
    ) {
        self.seq = seq
        self.state = state
        self.previous = previous
        self.cause = cause
        self.through = through
        self.wallMs = wallMs
    }
}

/// One launch's lifecycle: the state, and what recovery needs to go on with it.
public struct Lifecycle: Hashable, Sendable {
    public let launch: LaunchID
    /// How the launch began.
    public let initializedWith: LifecycleCause
    public private(set) var state: LifecycleState
    /// The number of the last transition.
    public private(set) var seq: TransitionSeq
    /// When the last transition was decided.
    public private(set) var sinceWallMs: Int64
    /// Events up to here were accepted before the gate last closed; nil while operating (all are).
    /// What lies beyond is gated.
    public private(set) var closedThrough: JournalSeq?
    /// The last opening of this launch; nil before the first.
    public private(set) var opening: Opening?
    /// Only while operating.
    public private(set) var lease: Lease?
    /// The policy that this hold named, if it named one; nil otherwise and while operating.
    public private(set) var holdPolicy: GatedPolicy?

    /// Begins a launch.
    ///
    /// - Parameters:
    ///   - cause: `.initialize` (operating) or `.initializeWithHoldingOperations` (onHold).
    ///   - releasedThrough: what an earlier launch had let out already; the rest of a kept
    ///     queue waits for a start.
    public static func begin(
        launch: LaunchID, cause: LifecycleCause, through: JournalSeq, releasedThrough: JournalSeq,
        wallMs: Int64
    ) -> (Lifecycle, Transition) {
        precondition(
            cause == .initialize || cause == .initializeWithHoldingOperations,
            "a launch begins in one of two ways")
        let state: LifecycleState = cause == .initialize ? .operating : .onHold
        let transition = Transition(
            seq: TransitionSeq(1), state: state, previous: nil, cause: cause, through: through, wallMs: wallMs
        )
        let opening = state.isOperating ? Opening(seq: transition.seq, wallMs: wallMs) : nil
        let lifecycle = Lifecycle(
            launch: launch, initializedWith: cause, state: state, seq: transition.seq, sinceWallMs: wallMs,
            closedThrough: state.isOperating ? nil : releasedThrough, opening: opening, lease: nil,
            holdPolicy: nil)
        return (lifecycle, transition)
    }

    /// Applies `input`, and returns the transition that it makes, nil where the table changes nothing.
    ///
    /// - Parameters:
    ///   - cause: the command's name in the record.
    ///   - through: the last event accepted so far.
    public mutating func apply(
        _ input: LifecycleInput, cause: LifecycleCause, through: JournalSeq, wallMs: Int64
    ) -> Transition? {
        switch state.outcome(of: input) {
        case .unchanged:
            return nil
        case .impossible:
            preconditionFailure("\(input) while \(state): only a draining host may send it")
        case .transition(let next):
            let transition = Transition(
                seq: seq.next, state: next, previous: state, cause: cause, through: through, wallMs: wallMs)
            take(transition)
            return transition
        }
    }

    /// Takes a recorded transition, from the history.
    ///
    /// - Returns: false when it does not follow from the present state; nothing is changed then.
    public mutating func replay(_ transition: Transition) -> Bool {
        guard transition.seq == seq.next, transition.previous == state else { return false }
        let input: LifecycleInput
        switch transition.cause {
        case .initialize, .initializeWithHoldingOperations: return false
        case .startOperation: input = .startOperation
        case .holdOperation, .leaseExpired: input = .holdOperation
        case .drained: input = .drained
        case .drainTimeout: input = .drainTimeout
        case .kill: input = .kill
        }
        guard state.outcome(of: input) == .transition(to: transition.state) else { return false }
        take(transition)
        return true
    }

    private mutating func take(_ transition: Transition) {
        seq = transition.seq
        sinceWallMs = transition.wallMs
        switch transition.state {
        case .operating:
            closedThrough = nil
            holdPolicy = nil
            opening = Opening(seq: transition.seq, wallMs: transition.wallMs)
        case .holdRequested:
            closedThrough = transition.through
            lease = nil
        case .onHold:
            lease = nil
        case .killed:
            closedThrough = nil
            lease = nil
            holdPolicy = nil
            opening = nil
        }
        state = transition.state
    }

    /// Sets or ends the lease; allowed only while operating.
    public mutating func setLease(_ lease: Lease?) {
        precondition(state.isOperating || lease == nil, "only an open gate has a lease")
        self.lease = lease
    }

    /// Names the policy for the rest of this hold; allowed only while the gate is closed.
    public mutating func setHoldPolicy(_ policy: GatedPolicy) {
        precondition(state == .holdRequested || state == .onHold, "only a hold has a policy of its own")
        holdPolicy = policy
    }
}
