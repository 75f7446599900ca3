import HoldgateClient

/// What the gate is to be told.
enum GateAction: Hashable, Sendable {
    /// `startOperation` under a lease; where it operates already, this renews the lease.
    case start
    case hold(GatedPolicy)
    case kill
    /// `endLaunch` with `restart`: a killed launch can't be opened again.
    case newLaunch
}

/// What consent means for a gate: the specification as a table.
///
/// One subject and its purposes decide over the one gate that a host has. Where hosts have a gate for each
/// subject and purpose, there will be a policy for each, and its commands will carry that gate's path.
enum Policy {
    /// What to tell the gate; nil: nothing.
    ///
    /// - Parameter isOverruled: somebody else closed the gate after the decision was made. That stands until
    ///   the next decision.
    static func action(
        _ consent: ConsentState, _ gate: LifecycleState, isOverruled: Bool
    ) -> GateAction? {
        switch (consent, gate) {
        case (.given, .operating): .start
        case (.given, .holdRequested), (.given, .onHold): isOverruled ? nil : .start
        case (.given, .killed): isOverruled ? nil : .newLaunch

        // The decision is open: what comes meanwhile may still be wanted.
        case (.undecided, .operating), (.undecided, .holdRequested), (.undecided, .onHold): .hold(.queue)
        case (.paused, .operating), (.paused, .holdRequested), (.paused, .onHold): .hold(.queue)
        case (.expired, .operating), (.expired, .holdRequested), (.expired, .onHold): .hold(.queue)

        case (.denied, .operating), (.denied, .holdRequested), (.denied, .onHold): .hold(.discard)
        case (.withdrawn, .operating), (.withdrawn, .holdRequested), (.withdrawn, .onHold): .kill

        // Nothing is there any more, and only consent begins anew.
        case (.undecided, .killed), (.paused, .killed), (.expired, .killed), (.denied, .killed),
            (.withdrawn, .killed):
            nil
        }
    }
}

/// All decisions of a gate's subject taken together.
struct Standing: Hashable, Sendable {
    /// The strictest over all purposes.
    var consent: ConsentState
    /// The newest decision's number; 0: none was made.
    var decision: UInt64
    /// Its hash: what the host's history is given to remember.
    var hash: String
    /// When it was made, in milliseconds since 1970.
    var decidedMs: Int64
    /// The clock has been set back since: what was before the decision and what after it can't be told any more.
    var isAhead = false

    static let none = Standing(consent: .undecided, decision: 0, hash: "", decidedMs: 0)

    /// For the host's history. It names no subject and no purpose.
    var reason: String {
        decision == 0 ? "consent undecided" : "consent \(consent.rawValue), decision \(decision), \(hash)"
    }
}
