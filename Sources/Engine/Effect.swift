import Ledger
import Lifecycle
import Wire

/// One record for the history.
public struct Record: Hashable, Sendable {
    public var wallMs: Int64
    public var launch: LaunchID
    public var seq: TransitionSeq
    public var state: LifecycleState
    /// Nil for a launch's beginning; equal to `state` where the record is no transition.
    public var previous: LifecycleState?
    public var command: String
    public var through: JournalSeq
    public var source: String?
    public var reason: String?
    public var facts: RecordFacts

    public init(
        wallMs: Int64, launch: LaunchID, seq: TransitionSeq, state: LifecycleState, previous: LifecycleState?,
        command: String, through: JournalSeq, source: String? = nil, reason: String? = nil,
        facts: RecordFacts = RecordFacts()
    ) {
        self.wallMs = wallMs
        self.launch = launch
        self.seq = seq
        self.state = state
        self.previous = previous
        self.command = command
        self.through = through
        self.source = source
        self.reason = reason
        self.facts = facts
    }
}

/// Lifecycle commands of one name that it has no role for.
public struct Forbidden: Hashable, Sendable {
    public let name: String
    public let command: String
    /// Since the last record of both.
    public var count: UInt64
    public init(name: String, command: String, count: UInt64) {
        self.name = name
        self.command = command
        self.count = count
    }
}

/// What a record says beside the transition.
public struct RecordFacts: Hashable, Sendable {
    /// A reply that is remembered under a key.
    public struct Remembered: Hashable, Sendable {
        public let key: String
        public let fingerprint: String
        public let reply: ControlReply
        public init(key: String, fingerprint: String, reply: ControlReply) {
            self.key = key
            self.fingerprint = fingerprint
            self.reply = reply
        }
    }
    public var remembered: Remembered?
    public var lease: Lease?
    public var gatedEvents: GatedPolicy?
    /// What an earlier launch had let out (on a launch's beginning).
    public var releasedThrough: JournalSeq?
    /// Events accepted before a hold that somebody still waits for.
    public var pending: UInt64?
    /// Events that a drain's timeout left.
    public var undelivered: UInt64?
    /// A hold with the policy `discard` dropped what was queued beyond its own place, up to here.
    public var discardedThrough: JournalSeq?
    /// Events dropped, and why.
    public var discarded: UInt64?
    public var discardReason: DiscardReason?
    /// What a kill could not recall: ranges sent and not acknowledged, by collector.
    public var inFlight: [String: [SeqRange]]?
    /// The collector that an `evicted` or `forget` record names.
    public var collector: String?
    /// A lifecycle command that its sender may not give.
    public var forbidden: Forbidden?
    /// `endLaunch`: whether the host begins the next launch at once.
    public var restart: Bool?
    public init() {}
}

/// One job for the journal's thread.
public enum DiskJob: Hashable, Sendable {
    case record(Record)
    case entry(Entry)
    /// Overwrites or removes everything but the history.
    case purge
    /// Replaces the internal configuration, an object.
    case configuration(JSONValue)
    /// Copies rejected events to the dead letters, before the `done` that follows.
    case deadLetters(collector: String, [Reject])
    /// After a block found no room, every block up to this job fails too, so that no batch overtakes another.
    case resumeBlocks
}

/// A message for `stream`, the events aside.
public enum Publication: Hashable, Sendable {
    case state(StateBody)
    case drain(DrainBody)
    case plugin(PluginBody)
    case heartbeat(HeartbeatBody)
    case app(AppBody)
}

/// A query whose answer lies on the disk.
public enum LookUp: Hashable, Sendable {
    case history(after: UInt64, limit: Int)
    case deadLetters(after: UInt64, limit: Int)
}

/// What the engine wants done. Performed in order, in one place: `Reactor+Perform`.
public enum Effect: Hashable, Sendable {
    case persist(Ticket, DiskJob)
    case reply(Requester, ControlReply)
    case ingestReply(Requester, IngestReply)
    case publish(StreamHeader, Publication)
    /// The block of this ticket is committed and let out: its events go to `stream`.
    case publishBlock(Ticket, BlockStamp)
    /// The block of this ticket is done with, published or not: its memory is free.
    case releaseBlock(Ticket)
    case send(PeerID, HostMessage)
    /// Close and rebind `stream` and `plugin` without lingering: nothing queued there goes out.
    case rebind
    /// Answer from the disk; the reply's common members are given.
    case lookUp(LookUp, Requester, ControlReply)
    /// Read these dead letters, and bring them back with `admitRequeued` or `refuseRequeued`.
    case requeue(Requester, id: String?, [UInt64])
    /// The dead letters of this batch are committed, and none any more; or they certainly are not.
    case endRequeue(ProducerBatch, isTaken: Bool)
    /// Start, stop or restart a plugin that the host started, and answer.
    case supervise(Requester, ControlReply, name: String, PluginAction)
    /// Read the authorised keys and the folder of plugins again, and answer.
    case reload(Requester, ControlReply)
    /// The launch has ended: stop the host, or begin the next launch at once.
    case stop(restart: Bool)
    /// For the operator's log: a constant message and its fields.
    case log(LogLevel, String, [JSONValue.Member])
}

public enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case info
    case warning
    case error
}
