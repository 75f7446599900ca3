import Ledger
import Lifecycle
import Wire

/// What is to be decided once the decisions before it are on disk.
enum Intent: Hashable, Sendable {
    case start(leaseMs: Int64?)
    /// `cause` is `.holdOperation` or `.leaseExpired`.
    case hold(LifecycleCause, waitMs: Int64?, policy: GatedPolicy?)
    case kill
    /// `initialize` and its sibling within a launch.
    case noOp
    case endLaunch(restart: Bool)
    case drained
    case drainTimeout
    /// A record that leaves the lifecycle alone: `forget`, `evicted`, `discarded`.
    case note(command: String, RecordFacts)

    /// Whether it closes the gate as soon as it is read.
    var closes: Bool {
        switch self {
        case .hold, .kill: true
        case .start, .noOp, .endLaunch, .drained, .drainTimeout, .note: false
        }
    }
}

/// A command, or the host's own move, that waits for its turn.
struct DeferredCommand: Hashable, Sendable {
    let intent: Intent
    /// Nil for the host's own moves.
    let request: ControlRequest?
    let requester: Requester?
    /// The last event accepted before it was read: where a closing closes.
    let readAfter: JournalSeq
    let readAt: Now
    /// A closing that found the disk full, tried again.
    var isRetry = false
}

/// A change to the internal configuration that waits for the one before it.
struct ConfigurationChange: Hashable, Sendable {
    let patch: JSONValue
    let byteCount: Int
    let requester: Requester
    let id: String?
}

/// What decisions change.
struct Decided: Hashable, Sendable {
    let lifecycle: Lifecycle
    let leaseDeadlineMs: Int64?
}

/// A decision that is being written.
struct Decision: Hashable, Sendable {
    let command: DeferredCommand
    let record: Record
    /// Nil where the record is no transition.
    let transition: Transition?
    /// To go back to if the disk is full.
    let before: Decided
    /// The reply's own members.
    let members: [JSONValue.Member]
    /// The killed record is written, and the purge is under way.
    var isPurging = false
}
