import Lifecycle

/// What may pass now. The lifecycle says what was decided; the gate says what is in force: it closes when a closing
/// command is read and opens when an opening is on disk.
public enum Gate: Hashable, Sendable {
    /// Everything committed may be handed over.
    case open(Opening)
    /// What was accepted up to `through` may still be handed over.
    case draining(through: JournalSeq, Opening)
    case closed
    /// Killed, or about to be.
    case dead

    /// Whether a new event passes, rather than being gated or refused.
    public var admits: Bool {
        switch self {
        case .open: true
        case .draining, .closed, .dead: false
        }
    }

    /// The opening under which events are handed over; nil where none are.
    public var opening: Opening? {
        switch self {
        case .open(let opening), .draining(_, let opening): opening
        case .closed, .dead: nil
        }
    }

    /// The last event that may be handed over, of those committed; nil where none may.
    public func limit(committed: JournalSeq) -> JournalSeq? {
        switch self {
        case .open: committed
        case .draining(let through, _): min(through, committed)
        case .closed, .dead: nil
        }
    }

    /// Closes for what is read from now on; what was accepted before drains on.
    public mutating func close(through: JournalSeq) {
        switch self {
        case .open(let opening): self = .draining(through: through, opening)
        case .draining, .closed, .dead: break
        }
    }

    /// What was accepted before is done, or no longer waited for.
    public mutating func endDraining() {
        switch self {
        case .draining: self = .closed
        case .open, .closed, .dead: break
        }
    }
}
