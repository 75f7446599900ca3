/// Counters since the process began. Names are those of the metrics.
public struct Statistics: Hashable, Sendable {
    public var eventsAccepted: UInt64 = 0
    public var eventsGated: UInt64 = 0
    public var eventsDiscarded: UInt64 = 0
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
    public var requests: UInt64 = 0
    public var resultsDropped: UInt64 = 0
    public var invalidMessages: UInt64 = 0
    /// Messages that their senders have no role for.
    public var forbidden: UInt64 = 0
    public var storageFull: UInt64 = 0
    public init() {}
}
