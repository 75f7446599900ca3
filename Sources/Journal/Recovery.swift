import Ledger
import Lifecycle

/// What the history's records add up to: where the host goes on after a restart.
///
/// A pure fold. Give `apply` each record that `History.open` visits; a record that does not follow from the
/// ones before it and the lifecycle's table throws, and is damage.
public struct RecoveredHistory: Hashable, Sendable {
    /// The newest launch; nil before the first record.
    public private(set) var lifecycle: Lifecycle?
    /// Its last transition, with what a `state` snapshot says of it.
    public private(set) var last: RecordedTransition?
    /// Whether the launch was ended: the next start begins a new one.
    public private(set) var isEnded = false
    /// The launch's keyed replies, oldest first.
    public var replies: [RememberedReply] { memory.rows }
    /// The newest record.
    public private(set) var head: HistoryHead?
    /// The last event that the newest record knows of.
    public private(set) var through: JournalSeq = .zero

    /// A hold has dropped what was queued up to here; the journal may not know of it yet.
    public private(set) var discardedThrough: JournalSeq = .zero

    /// What holds have dropped since the last kill, in order. The journal is told of each as well; these say so even
    /// if there was no room there, whatever state the gate is in by now.
    public private(set) var dropped: [SeqRange] = []

    private var memory = ReplyMemory()

    public init() {}

    /// Whether everything but the history must be (or may already be) gone: purge again before anything else,
    /// also before another launch begins.
    public var mustPurge: Bool { lifecycle?.state == .killed }

    /// What has been let out so far, for the launch that begins next.
    ///
    /// - Parameter lastAccepted: the last event in the journal.
    public func releasedThrough(lastAccepted: JournalSeq) -> JournalSeq {
        guard let lifecycle else { return .zero }
        switch lifecycle.state {
        case .operating, .killed: return lastAccepted
        case .holdRequested, .onHold: return lifecycle.closedThrough ?? .zero
        }
    }

    /// Takes the next record.
    public mutating func apply(_ record: HistoryRecord) throws(FormatFault) {
        let draft = record.draft
        guard draft.gate.isEmpty else { throw FormatFault("it is of a gate that this host does not serve") }
        let extras = try HistoryExtras(draft.extra, source: draft.source)
        if draft.previous == nil {
            try begin(draft, extras)
        } else {
            guard let lifecycle, draft.launch == lifecycle.launch else {
                throw FormatFault("launch \(draft.launch) has not begun")
            }
            if draft.isTransition {
                // A closing is dated back to when it was read; records beside the transitions may name later events.
                if let last, draft.through < last.transition.through {
                    throw FormatFault("`through` goes back")
                }
                try replay(draft, extras)
            } else {
                try note(draft, extras)
            }
        }
        try settle(draft, extras)
        if let remembered = extras.remembered { memory.add(remembered) }
        through = max(through, draft.through, extras.discardedThrough ?? .zero)
        head = record.head
    }

    private mutating func begin(_ draft: HistoryDraft, _ extras: HistoryExtras) throws(FormatFault) {
        guard let cause = LifecycleCause(rawValue: draft.command),
            cause == .initialize || cause == .initializeWithHoldingOperations
        else { throw FormatFault("no launch begins with `\(draft.command)`") }
        guard draft.launch != lifecycle?.launch else { throw FormatFault("its launch began before") }
        let released = extras.released ?? releasedThrough(lastAccepted: draft.through)
        let (begun, transition) = Lifecycle.begin(
            launch: draft.launch, cause: cause, through: draft.through, releasedThrough: released,
            wallMs: draft.wallMs)
        guard draft.seq == transition.seq, draft.state == transition.state else {
            throw FormatFault("a launch does not begin with `seq` \(draft.seq) and `\(draft.state.rawValue)`")
        }
        lifecycle = begun
        isEnded = false
        memory = ReplyMemory()
        last = RecordedTransition(transition, draft, extras)
    }

    private mutating func replay(_ draft: HistoryDraft, _ extras: HistoryExtras) throws(FormatFault) {
        guard !isEnded else { throw FormatFault("its launch was ended") }
        guard let cause = LifecycleCause(rawValue: draft.command) else {
            throw FormatFault("`\(draft.command)` changes no state")
        }
        let transition = Transition(
            seq: draft.seq, state: draft.state, previous: draft.previous, cause: cause,
            through: draft.through,
            wallMs: draft.wallMs)
        guard lifecycle?.replay(transition) == true else {
            let state = lifecycle?.state.rawValue ?? "nothing"
            throw FormatFault(
                "`\(draft.command)` to `\(draft.state.rawValue)` does not follow from `\(state)`")
        }
        if transition.state == .killed { dropped = [] }
        last = RecordedTransition(transition, draft, extras)
    }

    /// A record that changes no state.
    private mutating func note(_ draft: HistoryDraft, _ extras: HistoryExtras) throws(FormatFault) {
        guard draft.state == lifecycle?.state, draft.seq == lifecycle?.seq else {
            throw FormatFault("it changes nothing, and its `state` or `seq` is not that of the record before")
        }
        if LifecycleCause(rawValue: draft.command) != nil { return }
        switch HistoryCommand(rawValue: draft.command) {
        case .endLaunch:
            isEnded = true
        case .discarded:
            guard extras.discarded != nil, DiscardReason(rawValue: draft.reason ?? "") != nil else {
                throw FormatFault("`discarded` needs a count and its reason")
            }
        case .evicted, .forget:
            guard extras.collector != nil else { throw FormatFault("`collector` is missing") }
        case .restored, .reply, .forbidden:
            break
        case nil:
            throw FormatFault("there is no command `\(draft.command)`")
        }
    }

    /// The lease and the hold's policy, on transitions and other records alike.
    private mutating func settle(_ draft: HistoryDraft, _ extras: HistoryExtras) throws(FormatFault) {
        if let lease = extras.lease {
            guard draft.state == .operating else { throw FormatFault("only an open gate has a lease") }
            lifecycle?.setLease(lease)
        }
        if let policy = extras.gatedEvents {
            guard draft.state == .holdRequested || draft.state == .onHold else {
                throw FormatFault("only a hold names `gatedEvents`")
            }
            lifecycle?.setHoldPolicy(policy)
            if let through = extras.discardedThrough { drop(through: through) }
        }
    }

    private mutating func drop(through: JournalSeq) {
        discardedThrough = max(discardedThrough, through)
        guard let closed = lifecycle?.closedThrough,
            let range = SeqRange(first: closed.next, through: through)
        else { return }
        if let open = dropped.last, open.first <= range.first, range.first <= open.last.next,
            let joined = SeqRange(first: open.first, through: max(open.last, range.last))
        {
            dropped[dropped.count - 1] = joined
        } else {
            dropped.append(range)
        }
    }
}

/// A transition with what its record says besides.
public struct RecordedTransition: Hashable, Sendable {
    public let transition: Transition
    public let source: String?
    public let reason: String?
    /// Events accepted before it that somebody still waited for.
    public let pending: UInt64
    /// Set when a drain ended by its timeout.
    public let undelivered: UInt64?

    init(_ transition: Transition, _ draft: HistoryDraft, _ extras: HistoryExtras) {
        self.transition = transition
        source = draft.source
        reason = draft.reason
        pending = extras.pending ?? 0
        undelivered = extras.undelivered
    }
}

/// The newest keyed replies, at most `limit`, in the order in which they came.
struct ReplyMemory: Hashable {
    static let limit = 1024

    private struct Key: Hashable {
        let key: String
        let source: String?
    }
    /// From `start` on; a reply that was replaced is nil. What lies before `start` has been dropped.
    private var ordered: [RememberedReply?] = []
    private var start = 0
    private var places: [Key: Int] = [:]

    var rows: [RememberedReply] { ordered[start...].compactMap { $0 } }

    static func == (a: Self, b: Self) -> Bool { a.rows == b.rows }
    func hash(into hasher: inout Hasher) { hasher.combine(rows) }

    mutating func add(_ reply: RememberedReply) {
        let key = Key(key: reply.key, source: reply.source)
        if let old = places[key] { ordered[old] = nil }
        places[key] = ordered.count
        ordered.append(reply)
        while places.count > Self.limit || (start < ordered.count && ordered[start] == nil) {
            if let oldest = ordered[start] { places[Key(key: oldest.key, source: oldest.source)] = nil }
            ordered[start] = nil
            start += 1
        }
        if ordered.count >= 4 * Self.limit { compact() }
    }

    private mutating func compact() {
        ordered = Array(rows)
        start = 0
        for (place, reply) in ordered.enumerated() {
            if let reply { places[Key(key: reply.key, source: reply.source)] = place }
        }
    }
}
