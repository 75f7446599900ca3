import Lifecycle

/// What every reply of `control` and `ingest` says of the host. It shows only what is on disk.
public struct HostStatus: Hashable, Sendable {
    public let state: LifecycleState
    public let seq: TransitionSeq
    public let launch: LaunchID
    public init(state: LifecycleState, seq: TransitionSeq, launch: LaunchID) {
        self.state = state
        self.seq = seq
        self.launch = launch
    }
}

/// A reply of `control`.
///
/// On the wire: `{"v":1,"id":…,"ok":…,"state":…,"isOperating":…,"seq":…,"launch":…, members…, "error":{…}}`.
public struct ControlReply: Hashable, Sendable {
    /// The request's `id` as JSON text; nil when it gave none.
    public var id: String?
    public var status: HostStatus
    /// The command's own result, after the members that every reply has.
    public var members: [JSONValue.Member]
    /// Nil: `ok` is true.
    public var error: WireError?

    public init(id: String?, status: HostStatus, members: [JSONValue.Member] = [], error: WireError? = nil) {
        self.id = id
        self.status = status
        self.members = members
        self.error = error
    }
}

/// A reply of `ingest`.
///
/// On the wire: `{"v":1,"id":…,"ok":…,"accepted":…,…,"state":…,"isOperating":…,"seq":…,"launch":…}`.
public struct IngestReply: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// `accepted` counts stored or published events, `gated` those among them that wait for a start, `discarded`
        /// those that the policy dropped. `last`: the seq of the last accepted one, nil when none was.
        case taken(accepted: Int, gated: Int, discarded: Int, kept: Bool, last: JournalSeq?)
        case duplicate(lastBatch: UInt64)
        /// `lastBatch` goes with `outOfOrder`: the producer sees where to go on.
        case refused(WireError, lastBatch: UInt64?)
    }
    public var id: String?
    public var outcome: Outcome
    public var status: HostStatus

    public init(id: String?, outcome: Outcome, status: HostStatus) {
        self.id = id
        self.outcome = outcome
        self.status = status
    }
}
