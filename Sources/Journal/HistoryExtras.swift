import Ledger
import Lifecycle
import Wire

/// The commands of records that are not transitions and not no-ops of a lifecycle command.
public enum HistoryCommand: String, Hashable, Sendable, CaseIterable {
    /// The launch is over; the next start begins a new one.
    case endLaunch
    /// Events left undelivered: the record's `reason` names why (`DiscardReason`), `discarded` how many.
    case discarded
    /// A durable collector lagged too far and is no longer kept for: `collector`.
    case evicted
    /// A durable collector was forgotten on request: `collector`.
    case forget
    /// A copied or mended state was accepted.
    case restored
    /// Lifecycle commands were refused for want of a role: `source` gave them, `forbidden` says which, `count` how many.
    case forbidden
    /// A keyed command's reply that was known only later (a hold with `waitMs`).
    case reply
}

/// A reply that comes again when its request does: `reply` is JSON text of an object.
public struct RememberedReply: Hashable, Sendable {
    public var key: String
    /// The record's `source`: keys belong to it.
    public var source: String?
    /// Tells the same request from another one under the same key.
    public var fingerprint: String
    public var reply: String
    public init(key: String, source: String?, fingerprint: String, reply: String) {
        self.key = key
        self.source = source
        self.fingerprint = fingerprint
        self.reply = reply
    }
}

/// What a killed collector's connection already held: ranges sent and not acknowledged.
public struct InFlightRanges: Hashable, Sendable {
    public var name: String
    public var ranges: [SeqRange]
    public init(name: String, ranges: [SeqRange]) {
        self.name = name
        self.ranges = ranges
    }
}

/// The further members of a record, with types: the only place that knows their names.
///
/// The host writes `extras.members` into `HistoryDraft.extra`; recovery reads them back with
/// `init(_:source:)`.
public struct HistoryExtras: Hashable, Sendable {
    /// `key`, `fingerprint`, `reply`.
    public var remembered: RememberedReply?
    /// `leaseMs`, `leaseSetAt`: on starts and renewals.
    public var lease: Lease?
    /// `gatedEvents`: the policy that a hold names.
    public var gatedEvents: GatedPolicy?
    /// `discardedThrough`, on a hold with the policy `discard`: it dropped what was queued by then.
    public var discardedThrough: JournalSeq?
    /// `released`, on a launch's beginning: what earlier launches had let out.
    public var released: JournalSeq?
    /// `pending`: events accepted before, not gated, not yet done by all who must.
    public var pending: UInt64?
    /// `undelivered`, on `drainTimeout`.
    public var undelivered: UInt64?
    /// `discarded`, on `kill` and `discarded`: a count of events.
    public var discarded: UInt64?
    /// `inFlight`, on `kill`.
    public var inFlight: [InFlightRanges]?
    /// `collector`, on `evicted` and `forget`.
    public var collector: String?

    public init(
        remembered: RememberedReply? = nil, lease: Lease? = nil, gatedEvents: GatedPolicy? = nil,
        discardedThrough: JournalSeq? = nil,
        released: JournalSeq? = nil, pending: UInt64? = nil, undelivered: UInt64? = nil,
        discarded: UInt64? = nil, inFlight: [InFlightRanges]? = nil, collector: String? = nil
    ) {
        self.remembered = remembered
        self.lease = lease
        self.gatedEvents = gatedEvents
        self.discardedThrough = discardedThrough
        self.released = released
        self.pending = pending
        self.undelivered = undelivered
        self.discarded = discarded
        self.inFlight = inFlight
        self.collector = collector
    }

    /// The members as they are written, in a fixed order.
    public var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue?) {
            if let value { members.append(JSONValue.Member(name, value)) }
        }
        add("pending", pending.map(Self.number))
        add("undelivered", undelivered.map(Self.number))
        add("leaseMs", lease.map { .int($0.durationMs) })
        add("leaseSetAt", lease.map { .string(Timestamp.text(ms: $0.setAtWallMs)) })
        add("gatedEvents", gatedEvents.map { .string($0.rawValue) })
        add("discardedThrough", discardedThrough.map { Self.number($0.raw) })
        add("released", released.map { Self.number($0.raw) })
        add("discarded", discarded.map(Self.number))
        add("inFlight", inFlight.map(Self.value(of:)))
        add("collector", collector.map { .string($0) })
        add("key", remembered.map { .string($0.key) })
        add("fingerprint", remembered.map { .string($0.fingerprint) })
        add("reply", remembered.map { .raw($0.reply) })
        return members
    }

    /// Reads the members back; those of other names are left alone.
    ///
    /// - Parameter source: the record's own.
    public init(_ members: [JSONValue.Member], source: String?) throws(FormatFault) {
        let fields = JSONFields(members)
        self.init(
            pending: try fields.uint("pending"), undelivered: try fields.uint("undelivered"),
            discarded: try fields.uint("discarded"), collector: try fields.string("collector"))
        discardedThrough = try fields.uint("discardedThrough").map { JournalSeq($0) }
        released = try fields.uint("released").map { JournalSeq($0) }
        if let durationMs = try fields.int("leaseMs") {
            let setAt = try fields.need("leaseSetAt", fields.string)
            guard durationMs > 0, let wallMs = Timestamp.parse(setAt) else {
                throw FormatFault("`leaseMs` or `leaseSetAt` is no lease")
            }
            lease = Lease(durationMs: durationMs, setAtWallMs: wallMs)
        }
        if let name = try fields.string("gatedEvents") {
            guard let policy = GatedPolicy(rawValue: name) else {
                throw FormatFault("`gatedEvents` names no policy: `\(name)`")
            }
            gatedEvents = policy
        }
        if let value = fields["inFlight"] { inFlight = try Self.inFlight(value) }
        if let key = try fields.string("key") {
            let reply = try fields.required("reply")
            guard case .object = reply else { throw FormatFault("`reply` is no object") }
            remembered = RememberedReply(
                key: key, source: source, fingerprint: try fields.need("fingerprint", fields.string),
                reply: reply.text)
        }
    }

    /// As a reader of JSON gives it, so that a record reads back equal to what was written.
    private static func number(_ value: UInt64) -> JSONValue {
        Int64(exactly: value).map { .int($0) } ?? .uint(value)
    }

    private static func value(of inFlight: [InFlightRanges]) -> JSONValue {
        .object(
            inFlight.map { row in
                let ranges = row.ranges.map { JSONValue.array([number($0.first.raw), number($0.count)]) }
                return JSONValue.Member(row.name, .array(ranges))
            })
    }

    private static func inFlight(_ value: JSONValue) throws(FormatFault) -> [InFlightRanges] {
        var rows: [InFlightRanges] = []
        for member in try JSONFields(value).members {
            guard case .array(let items) = member.value else { throw FormatFault("`inFlight` is malformed") }
            var ranges: [SeqRange] = []
            for item in items {
                guard case .array(let pair) = item, pair.count == 2 else {
                    throw FormatFault("`inFlight` is malformed")
                }
                let first = try JSONFields.uint(pair[0], "inFlight")
                let count = try JSONFields.uint(pair[1], "inFlight")
                let (end, overflow) = first.addingReportingOverflow(count)
                guard first > 0, count > 0, !overflow, end > 0 else {
                    throw FormatFault("`inFlight` is malformed")
                }
                ranges.append(SeqRange(first: JournalSeq(first), count: count))
            }
            rows.append(InFlightRanges(name: member.name, ranges: ranges))
        }
        return rows
    }
}
