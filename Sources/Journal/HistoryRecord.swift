import Ledger
import Lifecycle
import Wire

/// What the engine has to say of one record of the history; the history itself adds number and hashes.
///
/// A *transition* has a `seq` one higher than the record before it in the launch. Every other record (a keyed
/// no-op, a renewed lease, a count of discards, …) keeps `seq`, has `state == previous`, and says so with
/// `"changed":false`.
public struct HistoryDraft: Hashable, Sendable {
    /// When it was decided, in milliseconds since 1970 (UTC).
    public var wallMs: Int64
    public var launch: LaunchID
    /// The gate's path; empty is the host's own.
    public var gate: [String]
    public var seq: TransitionSeq
    public var state: LifecycleState
    /// Nil for a launch's beginning.
    public var previous: LifecycleState?
    /// A `LifecycleCause`'s name, or one of `HistoryCommand`.
    public var command: String
    /// The last event accepted before it.
    public var through: JournalSeq
    public var source: String?
    public var reason: String?
    /// Further members, after `reason`; what they mean stands in `HistoryExtras`.
    public var extra: [JSONValue.Member]

    public init(
        wallMs: Int64, launch: LaunchID, gate: [String] = [], seq: TransitionSeq, state: LifecycleState,
        previous: LifecycleState?, command: String, through: JournalSeq, source: String? = nil,
        reason: String? = nil, extra: [JSONValue.Member] = []
    ) {
        self.wallMs = wallMs
        self.launch = launch
        self.gate = gate
        self.seq = seq
        self.state = state
        self.previous = previous
        self.command = command
        self.through = through
        self.source = source
        self.reason = reason
        self.extra = extra
    }

    /// The record of a transition.
    public init(
        _ transition: Transition, launch: LaunchID, source: String? = nil, reason: String? = nil,
        extra: [JSONValue.Member] = []
    ) {
        self.init(
            wallMs: transition.wallMs, launch: launch, seq: transition.seq, state: transition.state,
            previous: transition.previous, command: transition.cause.rawValue, through: transition.through,
            source: source, reason: reason, extra: extra)
    }

    /// Whether the record changes the state or begins a launch.
    public var isTransition: Bool { previous != state }
}

/// One record of the history, as it stands in its file.
public struct HistoryRecord: Hashable, Sendable {
    public var draft: HistoryDraft
    /// From 1, without end, across files and launches.
    public var n: UInt64
    /// The hash of the line before; 64 zeros for the first line of all.
    public var prev: String
    /// SHA-256 of the line's bytes before `,"hash"`: 64 lowercase hexadecimal digits.
    public var hash: String

    public init(draft: HistoryDraft, n: UInt64, prev: String, hash: String) {
        self.draft = draft
        self.n = n
        self.prev = prev
        self.hash = hash
    }

    public var head: HistoryHead { HistoryHead(n: n, hash: hash) }
}
