import Ledger
import Lifecycle

/// Counters since the process began. Names are those of the metrics.
public struct Statistics: Hashable, Sendable {
    public var eventsAccepted: UInt64 = 0
    public var eventsGated: UInt64 = 0
    public var eventsDiscardedPolicy: UInt64 = 0
    public var eventsDiscardedAged: UInt64 = 0
    public var eventsDiscardedKilled: UInt64 = 0
    public var eventsDuplicate: UInt64 = 0
    public var eventsRefused: UInt64 = 0
    public var eventsDelivered: UInt64 = 0
    public var eventsRedelivered: UInt64 = 0
    public var eventsRejected: UInt64 = 0
    public var eventsSkipped: UInt64 = 0
    public var blocksAccepted: UInt64 = 0
    public var blocksRefused: UInt64 = 0
    public var bytesAccepted: UInt64 = 0
    public var deliveries: UInt64 = 0
    public var acks: UInt64 = 0
    public var transitions: UInt64 = 0
    public var transitionsOperating: UInt64 = 0
    public var transitionsHoldRequested: UInt64 = 0
    public var transitionsOnHold: UInt64 = 0
    public var transitionsKilled: UInt64 = 0
    public var requests: UInt64 = 0
    public var callbackRequests: UInt64 = 0
    public var callbackRequestsAnswered: UInt64 = 0
    public var callbackRequestsFailed: UInt64 = 0
    public var resultsDropped: UInt64 = 0
    public var invalidMessages: UInt64 = 0
    /// Messages that their senders have no role for.
    public var forbidden: UInt64 = 0
    public var collectorsEvicted: UInt64 = 0
    /// Connections that passed a bound, or were not let in.
    public var connectionsCut: UInt64 = 0
    public var commits: UInt64 = 0
    public var commitBytes: UInt64 = 0
    public var syncFailures: UInt64 = 0
    public var storageFull: UInt64 = 0
    public var histograms = Histograms()
    public init() {}

    /// For whatever reason.
    public var eventsDiscarded: UInt64 {
        eventsDiscardedPolicy + eventsDiscardedAged + eventsDiscardedKilled
    }

    mutating func countDiscarded(_ events: UInt64, _ reason: DiscardReason) {
        switch reason {
        case .policy: eventsDiscardedPolicy += events
        case .aged: eventsDiscardedAged += events
        case .killed: eventsDiscardedKilled += events
        case .unwritten: break
        }
    }

    /// A block that was read, and not taken.
    mutating func countRefused(_ events: Int) {
        blocksRefused += 1
        eventsRefused += UInt64(events)
    }

    mutating func countTransition(to state: LifecycleState) {
        transitions += 1
        switch state {
        case .operating: transitionsOperating += 1
        case .holdRequested: transitionsHoldRequested += 1
        case .onHold: transitionsOnHold += 1
        case .killed: transitionsKilled += 1
        }
    }
}

/// What the engine shows in `stats` and does not know by itself.
public struct HostGauges: Hashable, Sendable {
    /// Open ones, of all endpoints.
    public var connections = 0
    public var deadLetters = 0
    public init(connections: Int = 0, deadLetters: Int = 0) {
        self.connections = connections
        self.deadLetters = deadLetters
    }
}

/// What one commit took.
public struct CommitCost: Hashable, Sendable {
    public let durationUs: UInt64
    public let byteCount: UInt64
    public let eventCount: UInt64
    public init(durationUs: UInt64, byteCount: UInt64, eventCount: UInt64) {
        self.durationUs = durationUs
        self.byteCount = byteCount
        self.eventCount = eventCount
    }
}
