import Lifecycle
import Wire

/// The reply to a lifecycle command.
public struct LifecycleAnswer: Hashable, Sendable {
    /// Of the command's own transition; of a no-op, what it found; of a hold that waited, the settled one.
    public let status: HostStatus
    public let previous: LifecycleState?
    /// Whether this command made a transition.
    public let changed: Bool
    /// Events accepted before, not gated, and not yet done by all who must.
    public let pending: UInt64
    /// `kill` alone: how many events were discarded.
    public let discarded: UInt64?
    /// `kill` alone: what had been sent and not acknowledged, by collector.
    public let inFlight: [String: [SeqRange]]
    /// This is the first execution's reply, sent again.
    public let replayed: Bool
    /// The whole reply.
    public let answer: Answer

    init(_ answer: Answer) throws(HoldgateError) {
        let value = answer.value
        status = answer.status
        previous = value["previous"]?.asString.flatMap(LifecycleState.init(rawValue:))
        changed = value["changed"]?.asBool ?? false
        pending = value["pending"]?.asUInt64 ?? 0
        discarded = value["discarded"]?.asUInt64
        replayed = value["replayed"]?.asBool ?? false
        var inFlight: [String: [SeqRange]] = [:]
        for member in value["inFlight"]?.asMembers ?? [] {
            inFlight[member.name] = try (member.value.asArray ?? []).map { pair throws(HoldgateError) in
                guard let pair = pair.asArray, pair.count == 2, let first = pair[0].asUInt64, first > 0,
                    let count = pair[1].asUInt64, count > 0
                else { throw Answer.invalid("\"inFlight\" has no ranges") }
                return SeqRange(first: JournalSeq(first), count: count)
            }
        }
        self.inFlight = inFlight
        self.answer = answer
    }
}

/// The reply to `state`.
public struct HostReport: Hashable, Sendable {
    public struct Drain: Hashable, Sendable {
        /// Events that the drain began with.
        public let total: UInt64
        /// Those of them that are not done yet.
        public let remaining: UInt64
        /// RFC 3339; nil where the drain has no timeout.
        public let deadline: String?
    }
    public struct Lease: Hashable, Sendable {
        /// How long each renewal lasts, in milliseconds.
        public let leaseMs: Int64
        /// Until the host closes the gate itself, in milliseconds.
        public let remainingMs: Int64
    }
    public let status: HostStatus
    /// When the present state began, RFC 3339.
    public let since: String
    /// Events accepted before the hold, or while operating, that a durable collector still has to take.
    public let pending: UInt64
    /// Events that wait for a start.
    public let gated: UInt64
    public let queuedBytes: UInt64
    /// Only in `holdRequested`.
    public let drain: Drain?
    /// Only in `operating`, under a lease.
    public let lease: Lease?
    public let initializedWith: String
    /// The whole reply.
    public let answer: Answer

    init(_ answer: Answer) throws(HoldgateError) {
        let value = answer.value
        status = answer.status
        since = value["since"]?.asString ?? ""
        pending = try answer.count("pending")
        gated = try answer.count("gated")
        queuedBytes = try answer.count("queuedBytes")
        initializedWith = value["initializedWith"]?.asString ?? ""
        drain = value["drain"].flatMap { drain in
            guard let total = drain["total"]?.asUInt64, let remaining = drain["remaining"]?.asUInt64
            else { return nil }
            return Drain(total: total, remaining: remaining, deadline: drain["deadline"]?.asString)
        }
        lease = value["lease"].flatMap { lease in
            guard let leaseMs = lease["leaseMs"]?.asInt64, let remaining = lease["remainingMs"]?.asInt64
            else { return nil }
            return Lease(leaseMs: leaseMs, remainingMs: remaining)
        }
        self.answer = answer
    }
}
