// What the gate is: four states, the inputs that move between them, and the table, as values.
//
// This room decides nothing about events, time or files; it is the specification that the engine, the history and
// the wire share. Read the table here first, then `Lifecycle`.

/// Where the gate is. The raw value is the name on the wire.
public enum LifecycleState: String, Hashable, Sendable, CaseIterable {
    /// The gate is open: events are accepted and delivered.
    case operating
    /// The gate is closed to new events; what was accepted before is being delivered.
    case holdRequested
    /// The gate is closed and nothing is handed over.
    case onHold
    /// Everything was discarded. Only a new launch leaves this state.
    case killed

    /// True in `operating` alone.
    public var isOperating: Bool { self == .operating }
}

/// What moves the gate. A lease that runs out is a `holdOperation` under another command's name.
public enum LifecycleInput: String, Hashable, Sendable, CaseIterable {
    case startOperation
    case holdOperation
    case drained
    case drainTimeout
    case kill
}

/// What the table says of one input in one state.
public enum LifecycleOutcome: Hashable, Sendable {
    /// The state stays; no transition is recorded.
    case unchanged
    case transition(to: LifecycleState)
    /// The input can't occur in this state: only the host itself sends it, and only while draining.
    case impossible
}

extension LifecycleState {
    /// The table. Every state and every input is named: adding one to either does not compile until it is decided here.
    public func outcome(of input: LifecycleInput) -> LifecycleOutcome {
        switch (self, input) {
        case (.operating, .startOperation): .unchanged
        case (.operating, .holdOperation): .transition(to: .holdRequested)
        case (.operating, .drained), (.operating, .drainTimeout): .impossible
        case (.operating, .kill): .transition(to: .killed)

        case (.holdRequested, .startOperation): .transition(to: .operating)
        case (.holdRequested, .holdOperation): .unchanged
        case (.holdRequested, .drained), (.holdRequested, .drainTimeout): .transition(to: .onHold)
        case (.holdRequested, .kill): .transition(to: .killed)

        case (.onHold, .startOperation): .transition(to: .operating)
        case (.onHold, .holdOperation): .unchanged
        case (.onHold, .drained), (.onHold, .drainTimeout): .impossible
        case (.onHold, .kill): .transition(to: .killed)

        case (.killed, .startOperation), (.killed, .holdOperation), (.killed, .kill): .unchanged
        case (.killed, .drained), (.killed, .drainTimeout): .impossible
        }
    }
}

/// What happens to events that arrive while the gate is closed. The raw value is the name on the wire.
public enum GatedPolicy: String, Hashable, Sendable, CaseIterable {
    /// Stored, and released by the next start.
    case queue
    /// Answered `ok`, counted, and dropped.
    case discard
    /// Answered `notOperating`, to be sent again later.
    case refuse
}

/// What caused a transition. The raw value is the `command` of its history record and `state` message.
public enum LifecycleCause: String, Hashable, Sendable, CaseIterable {
    case initialize
    case initializeWithHoldingOperations
    case startOperation
    case holdOperation
    case leaseExpired
    case drained
    case drainTimeout
    case kill
}
