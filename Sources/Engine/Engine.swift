// What the host decides, as a value: no clock, no socket, no file, no lock.
//
// `Engine` takes an `Input` and the time, changes itself, and says in `Effect`s what is to be done. The reactor performs
// them and reports back. Read `Gate` for what passes, `Engine+Commands` for how a decision becomes a transition that
// is on disk, `Engine+Collectors` for who is handed what.
import Ledger
import Lifecycle
import Wire

/// What the engine starts from: the disk, folded.
public struct Recovered: Hashable, Sendable {
    public var lifecycle: Lifecycle
    public var ledger: Ledger
    /// The highest `through` of any record.
    public var recordedThrough: JournalSeq
    /// What is queued up to here was dropped by a hold.
    public var discardedThrough: JournalSeq
    /// What holds have dropped, in order, by their records alone.
    public var dropped: [SeqRange]
    /// The last transition, as it was published.
    public var lastState: StateBody
    public var replies: RememberedReplies
    /// One bucket a segment.
    public var meter: QueueMeter
    /// The internal configuration, an object.
    public var configuration: JSONValue

    public init(
        lifecycle: Lifecycle, ledger: Ledger, recordedThrough: JournalSeq,
        discardedThrough: JournalSeq = .zero, dropped: [SeqRange] = [], lastState: StateBody,
        replies: RememberedReplies, meter: QueueMeter,
        configuration: JSONValue = .object([])
    ) {
        self.lifecycle = lifecycle
        self.ledger = ledger
        self.recordedThrough = recordedThrough
        self.discardedThrough = discardedThrough
        self.dropped = dropped
        self.lastState = lastState
        self.replies = replies
        self.meter = meter
        self.configuration = configuration
    }
}

/// Everything that the host decides.
public struct Engine: Hashable, Sendable {
    public let configuration: EngineConfiguration
    /// This process's random name within the launch.
    public let run: String

    // MARK: What was decided

    /// With the decision that is being written, if there is one.
    public internal(set) var lifecycle: Lifecycle
    /// What peers may be shown: the lifecycle without the decision that is being written.
    public internal(set) var shown: Lifecycle
    public internal(set) var gate: Gate
    /// The decision that is being written; at most one at a time.
    var decision: Decision?
    /// Lifecycle commands that wait for it, oldest first.
    var deferred = CommandQueue()
    /// A closing that found the disk full: tried again at `retryAtMs`, and nothing opens until it is written.
    var unwritten: DeferredCommand?
    var retryAtMs: Int64?
    /// A drain's end found the disk full: decided again at `retryAtMs`.
    var settleRetry = false
    /// The launch has ended, or the host is stopping: commands are answered `shuttingDown`.
    public internal(set) var isStopping = false

    // MARK: Events

    /// The last number given to an event, committed or not.
    public internal(set) var lastSeq: JournalSeq
    public internal(set) var committed: JournalSeq
    /// Events up to here were published on `stream`, or nobody will.
    public internal(set) var published: JournalSeq
    /// The last event that was gated: until it is published, what comes behind it is read from the journal too.
    var lastGated: JournalSeq
    var producers: ProducerTable
    /// The same as far as it is on disk: to go back to when the disk is full.
    var writtenProducers: ProducerTable
    /// The disk was full, and blocks that were under way are still failing.
    var isHalted = false
    /// The highest `through` of any record: numbers up to here are never given again.
    var recordedThrough: JournalSeq
    /// What a hold that is on disk has dropped.
    var discardedThrough: JournalSeq
    /// A gap in the numbers found no room: it is noted again at `retryAtMs`, and no events are taken before.
    var gapRetry = false
    /// Ingest that awaited its commit when a kill was read: answered when the kill is on disk, or has come to nothing.
    var repliesAfterKill: [Waiting] = []
    /// Ranges that are no longer delivered. Only this member of the ledger is used while running.
    var discards: Ledger
    /// What the journal must be told and had no room for, or does not know of for another reason. It is noted again
    /// with each heartbeat.
    var unnoted: [Entry] = []
    /// Bytes of what is committed.
    var meter: QueueMeter
    public internal(set) var uncommittedBytes: UInt64 = 0
    /// Dead letters are on their way back into the queue: one request at a time.
    var isRequeueing = false
    /// Jobs that somebody waits for, oldest first.
    var awaiting = TicketQueue()
    var lastTicket = Ticket(0)
    var doneTicket = Ticket(0)

    // MARK: Collectors

    var durable: [String: DurableCollector]
    /// Some cursor is ahead of what the journal was told.
    var hasUnnotedCursors = false
    var attachments: [PeerID: Attachment] = [:]
    /// Collectors whose socket would not take more in this turn of the loop.
    var blockedBySocket: Set<PeerID> = []
    /// Peers that were told `hello?` since the last heartbeat.
    var strangers: Set<PeerID> = []
    /// Where the next round of deliveries begins, so that no collector is served ahead of the others for ever.
    var deliveryTurn = 0

    // MARK: Callbacks

    var requests = RequestTable()
    /// Requests that were read while a closing was being written.
    var undecided: [UndecidedRequest] = []
    /// Reports that were read while a kill was being written.
    var undecidedReports: [UndecidedReport] = []
    /// Changes beside the lifecycle, likewise.
    var undecidedChanges: [UndecidedChange] = []
    var requestTurn: UInt64 = 0
    /// Services that somebody provided since the process began.
    var servicesSeen: Set<String> = []
    var apps: AppTable
    /// A full restart is on disk, and a closing that was read since keeps it from telling where the apps are.
    var owesAllApps = false
    /// Plugins that the host started itself, by name.
    var supervised: [String: SupervisedPlugin] = [:]

    // MARK: The hold

    var drain: Drain?
    var waiters: [HoldWaiter] = []
    /// By the monotonic clock; only while the lease is in force.
    var leaseDeadlineMs: Int64?

    // MARK: The rest

    var replies: RememberedReplies
    /// As it is on disk.
    var internalConfiguration: JSONValue
    /// Changes to it, oldest first; the first one is being written.
    var configurationChanges: [ConfigurationChange] = []
    var stream: StreamState
    var nextHeartbeatMs: Int64
    var unrecordedDiscards: [DiscardReason: UInt64] = [:]
    var nextDiscardRecordMs: Int64 = 0
    /// Lifecycle commands that were refused for want of a role, by name and command.
    var forbidden = ForbiddenTable()
    var heldWarningAtMs: Int64?
    public internal(set) var statistics = Statistics()
    var gauges = HostGauges()
    let startedMs: Int64

    /// Goes on with what the disk says. Call `boot` next, before anything is bound.
    public init(_ recovered: Recovered, configuration: EngineConfiguration, run: String, now: Now) {
        self.configuration = configuration
        self.run = run
        let ledger = recovered.ledger
        lifecycle = recovered.lifecycle
        shown = lifecycle
        gate = Engine.gate(of: lifecycle)
        lastSeq = ledger.lastSeq
        committed = ledger.lastSeq
        published = lifecycle.closedThrough ?? ledger.lastSeq
        lastGated = ledger.lastSeq
        producers = ledger.producers
        writtenProducers = ledger.producers
        recordedThrough = max(recovered.recordedThrough, ledger.lastSeq)
        discardedThrough = recovered.discardedThrough
        discards = ledger
        discards.producers = ProducerTable(limit: 1)
        meter = recovered.meter
        durable = ledger.cursors.mapValues {
            DurableCollector(
                cursor: $0, notedCursor: $0,
                handedThrough: recovered.lifecycle.closedThrough ?? ledger.lastSeq)
        }
        replies = recovered.replies
        apps = ledger.apps
        if lifecycle.state.isOperating { apps.settle() }
        internalConfiguration = recovered.configuration
        stream = StreamState(
            lastState: StreamState.Sent(body: recovered.lastState, seq: lifecycle.seq.raw, prev: 0),
            lastStateSeq: lifecycle.seq.raw)
        startedMs = now.monotonicMs
        nextHeartbeatMs = now.monotonicMs + configuration.heartbeatMs
        if lifecycle.state != .killed { restoreDropped(recovered.dropped) }
        forgetDone()
    }

    /// The gate that a host comes up with: what the last written transition says, no more.
    static func gate(of lifecycle: Lifecycle) -> Gate {
        switch lifecycle.state {
        case .operating:
            guard let opening = lifecycle.opening else { preconditionFailure("operating without an opening") }
            return .open(opening)
        case .holdRequested:
            guard let opening = lifecycle.opening, let through = lifecycle.closedThrough else {
                preconditionFailure("draining without an opening")
            }
            return .draining(through: through, opening)
        case .onHold: return .closed
        case .killed: return .dead
        }
    }

    /// Who waits to hear what became of a block that is committed.
    struct Waiting: Hashable, Sendable {
        /// Nil where the block was read after the kill: nothing of it was taken.
        let stamp: BlockStamp?
        let requester: Requester
        let id: String?
    }

    // MARK: Derived

    public var status: HostStatus { HostStatus(state: shown.state, seq: shown.seq, launch: shown.launch) }

    /// Nothing that was decided waits for the disk.
    public var isSettled: Bool { decision == nil && deferred.isEmpty }

    /// Every durable collector is done with everything up to here.
    public var doneThrough: JournalSeq { min(durable.values.map(\.cursor).min() ?? committed, published) }

    /// Bytes of events that are kept, those on their way to the disk included.
    public var queuedBytes: UInt64 { meter.bytes + uncommittedBytes }

    /// Every job is done, those that nobody waits for included.
    public var isOnDisk: Bool { doneTicket == lastTicket }

    /// Nothing waits for the disk.
    public var isIdle: Bool { decision == nil && awaiting.isEmpty }

    /// Everybody who is attached.
    public var peers: [PeerID] { attachments.keys.sorted() }

    public func isAttached(_ peer: PeerID) -> Bool { attachments[peer] != nil }

    public func isDurable(_ grant: Grant) -> Bool { attachments[grant.peer]?.window?.isDurable ?? false }

    mutating func takeTicket() -> Ticket {
        lastTicket = lastTicket.next
        return lastTicket
    }

    mutating func persist(_ job: DiskJob, into effects: inout [Effect]) -> Ticket {
        let ticket = takeTicket()
        effects.append(.persist(ticket, job))
        return ticket
    }
}
