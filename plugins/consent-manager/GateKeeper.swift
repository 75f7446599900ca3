import HoldgateClient

/// The gate as it was last seen.
struct GateView: Hashable, Sendable {
    enum Closer: Hashable, Sendable {
        /// It began so.
        case launch
        /// This service, or its lease.
        case consent
        case other(String)
    }
    var launch: LaunchID
    var seq: TransitionSeq
    var state: LifecycleState
    /// Who closed it, and when, in milliseconds since 1970; meaningless while operating.
    var closer: Closer
    var closedMs: Int64
}

/// One command to the host, and what it was decided on.
struct GateCall: Hashable, Sendable {
    let action: GateAction
    let standing: Standing
    let seen: GateView

    /// Openings expect the gate that they were decided on: a stale read opens nothing. Closings close
    /// whatever is there.
    var expectation: Expectation? {
        switch action {
        case .start, .newLaunch:
            Expectation(launch: seen.launch.raw, state: seen.state, seq: seen.seq.raw)
        case .hold, .kill: nil
        }
    }
}

enum GateOutcome: Hashable, Sendable {
    /// Done; what the host answered.
    case done(HostStatus)
    /// The gate is not what it was taken for.
    case stale
    /// The host answered, and could not.
    case refused(String)
    /// No host answered.
    case lost
}

/// Brings the gate to where consent wants it, and keeps it there. A value: it hears what was decided, what the
/// gate does and what the host answered, and says what to ask next. One command is in flight at a time.
struct GateKeeper: Hashable, Sendable {
    /// After a refusal, a stale read, or no answer (which took its own time).
    static let retryMs: Int64 = 500

    private(set) var standing: Standing
    private(set) var gate: GateView?
    private(set) var inFlight: GateCall?
    /// Why the host was not told yet.
    private(set) var problem: String?
    /// What the host has been told last.
    private var told: Told?
    private var retryAt: Int64 = 0
    private var renewAt: Int64 = 0
    private let renewMs: Int64

    private struct Told: Hashable {
        let launch: LaunchID
        let decision: UInt64
        let consent: ConsentState
    }

    /// - Parameter leaseMs: what each start is given; it is renewed three times within.
    init(standing: Standing, leaseMs: Int64) {
        self.standing = standing
        renewMs = max(1, leaseMs / 3)
    }

    /// The newest decision has reached the gate, as far as it can.
    var isSettled: Bool {
        guard let gate, inFlight == nil else { return false }
        guard let action = wanted(gate) else { return true }
        return told == telling(gate) && Self.isReached(action, gate.state)
    }

    mutating func decided(_ standing: Standing) {
        guard standing != self.standing else { return }
        self.standing = standing
        retryAt = 0
    }

    /// A transition, or the state that was found.
    mutating func saw(_ view: GateView) {
        if let gate, gate.launch == view.launch, view.seq <= gate.seq { return }
        // A drain's end does not say who began it.
        var view = view
        if let gate, gate.launch == view.launch, gate.state == .holdRequested, view.state == .onHold {
            view.closer = gate.closer
            view.closedMs = gate.closedMs
        }
        gate = view
        retryAt = 0
        // Somebody opened it, and whoever closes it next may say what becomes of gated events.
        if view.state == .operating, standing.consent != .given { told = nil }
    }

    /// The host, or this process, has come back: all is said again.
    mutating func attached() {
        told = nil
        renewAt = 0
    }

    mutating func answered(_ outcome: GateOutcome, now: Int64) {
        guard let call = inFlight else { preconditionFailure("an answer to nothing") }
        inFlight = nil
        switch outcome {
        case .done(let status): done(call, status, now: now)
        case .stale:
            // What has changed is about to be seen, or has been.
            if gate == call.seen { retryAt = now + Self.retryMs }
        case .refused(let message):
            problem = message
            retryAt = now + Self.retryMs
        case .lost:
            problem = "no host answers"
            retryAt = now + Self.retryMs
        }
    }

    /// What to ask now, if anything; it is in flight then.
    mutating func next(now: Int64) -> GateCall? {
        guard inFlight == nil, now >= retryAt, let gate, let action = wanted(gate), isDue(action, gate, now)
        else { return nil }
        let call = GateCall(action: action, standing: standing, seen: gate)
        inFlight = call
        return call
    }

    /// When `next` has something to ask at the latest; nil: only after something is heard.
    func deadline(now: Int64) -> Int64? {
        guard inFlight == nil, let gate, let action = wanted(gate) else { return nil }
        if isDue(action, gate, max(now, retryAt)) { return max(now, retryAt) }
        return action == .start ? max(retryAt, renewAt) : nil
    }

    /// Who has closed the gate since the newest decision was made, as far as that can be told; nil: nobody else.
    var overruledBy: String? {
        guard let gate, gate.state != .operating else { return nil }
        switch gate.closer {
        // This service kills upon a withdrawal: a consent that stands now came after it.
        case .launch, .consent: return nil
        case .other(let source):
            return standing.isAhead || gate.closedMs >= standing.decidedMs ? source : nil
        }
    }

    private func wanted(_ gate: GateView) -> GateAction? {
        Policy.action(standing.consent, gate.state, isOverruled: overruledBy != nil)
    }

    private func telling(_ gate: GateView) -> Told {
        Told(launch: gate.launch, decision: standing.decision, consent: standing.consent)
    }

    private func isDue(_ action: GateAction, _ gate: GateView, _ now: Int64) -> Bool {
        guard told == telling(gate), Self.isReached(action, gate.state) else { return true }
        return action == .start && now >= renewAt
    }

    private static func isReached(_ action: GateAction, _ state: LifecycleState) -> Bool {
        switch action {
        case .start: state == .operating
        case .hold: state == .holdRequested || state == .onHold
        case .kill: state == .killed
        case .newLaunch: false
        }
    }

    private mutating func done(_ call: GateCall, _ status: HostStatus, now: Int64) {
        problem = nil
        retryAt = 0
        told = Told(
            launch: status.launch, decision: call.standing.decision, consent: call.standing.consent)
        switch call.action {
        case .start: renewAt = now + renewMs
        case .hold, .kill: break
        case .newLaunch:
            // The next thing seen is the new launch.
            gate = nil
            return
        }
        guard let gate, gate.launch == status.launch, gate.seq < status.seq else { return }
        self.gate = GateView(
            launch: status.launch, seq: status.seq, state: status.state, closer: .consent,
            closedMs: gate.closedMs)
    }
}
