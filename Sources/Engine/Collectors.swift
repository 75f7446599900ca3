import Lifecycle
import Wire

/// One delivery that is not wholly acknowledged.
struct Delivery: Hashable, Sendable {
    /// The journal was read up to here for it, unmatched events included.
    var through: JournalSeq
    /// What was sent, in order; ranges that are acknowledged are cut off the front.
    var ranges: [SeqRange]
    var bytes: Int
}

/// What one attached collector has in hand.
struct Window: Hashable, Sendable {
    let types: [String]
    let limitBytes: Int
    let isDurable: Bool
    /// The journal was read for it up to here: sent, unmatched, or skipped.
    var sentThrough: JournalSeq
    /// Events up to here were handed to this name before: sending them again is a redelivery.
    var redeliveredThrough: JournalSeq
    /// Oldest first.
    var deliveries: [Delivery] = []
    var bytesInFlight = 0
    /// Events that a passing collector did not get because its window was full.
    var skipped: UInt64 = 0
    /// The socket would not take more: wait for the next turn.
    var isBlocked = false

    var takesAll: Bool { types.contains("*") }

    /// The ranges that are sent and not acknowledged, in order.
    var inFlight: [SeqRange] { deliveries.flatMap(\.ranges) }

    /// The first of these, which are in order, that was not sent or is acknowledged.
    func firstStray(of rejects: [Reject]) -> Reject? {
        var ranges = deliveries.lazy.flatMap(\.ranges).makeIterator()
        var range = ranges.next()
        for reject in rejects {
            while let passed = range, passed.last < reject.seq { range = ranges.next() }
            guard let range, range.contains(reject.seq) else { return reject }
        }
        return nil
    }

    /// Takes a cumulative ack.
    ///
    /// - Returns: everything up to here is done; nil where `through` lies past what was sent.
    mutating func acknowledge(through: JournalSeq) -> JournalSeq? {
        guard through <= sentThrough else { return nil }
        var passed = 0
        while passed < deliveries.count, (deliveries[passed].ranges.last?.last ?? .zero) <= through {
            bytesInFlight -= deliveries[passed].bytes
            passed += 1
        }
        deliveries.removeFirst(passed)
        guard let first = deliveries.first?.ranges.first else {
            // Nothing is in flight: what was read and did not match is done too.
            return sentThrough
        }
        if first.first <= through {
            deliveries[0].ranges = deliveries[0].ranges.compactMap { range in
                range.last <= through
                    ? nil : SeqRange(first: max(range.first, through.next), through: range.last)
            }
        }
        let next = deliveries[0].ranges.first?.first ?? sentThrough
        return JournalSeq(max(through.raw, next.raw - 1))
    }
}

/// One connection on `plugin` that said hello.
struct Attachment: Hashable, Sendable {
    let peer: PeerID
    let name: String
    let version: String
    let services: Set<String>
    let sinceWallMs: Int64
    var lastHeardMs: Int64
    /// Three heartbeats went by without a word.
    var isSilent = false
    /// When it last got a callback request, in turns.
    var lastRequest: UInt64 = 0
    /// Nil: it takes no events.
    var window: Window?

    var roles: [String] {
        (window == nil ? [] : ["collect"]) + (services.isEmpty ? [] : ["serve"])
    }
}

/// A collector whose place is kept, attached or not.
struct DurableCollector: Hashable, Sendable {
    /// It is done with everything up to here.
    var cursor: JournalSeq
    /// Its cursor was noted in the journal up to here.
    var notedCursor: JournalSeq
    /// Its place is not on disk yet: it is welcomed, and handed events, once this job is done.
    var beingNoted: Ticket?
    /// It was handed events up to here by this process, or maybe by one before.
    var handedThrough: JournalSeq
    /// Rejected events are being copied to the dead letters; the cursor waits for the last of these jobs.
    var burial: Ticket?
    /// Where the cursor goes then.
    var cursorAfterBurial: JournalSeq = .zero
    /// What connections that are gone were sent, of what lies beyond the cursor.
    var sentBefore: [SeqRange] = []
}

extension [SeqRange] {
    /// In order, with those that meet or overlap merged. Of more than `limit` the last ones are joined, over what
    /// lies between them.
    func merged(limit: Int) -> [SeqRange] {
        precondition(limit > 0)
        var merged: [SeqRange] = []
        for range in sorted(by: { $0.first < $1.first }) {
            if let open = merged.last, range.first <= open.last.next || merged.count == limit,
                let joined = SeqRange(first: open.first, through: Swift.max(open.last, range.last))
            {
                merged[merged.count - 1] = joined
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

/// What one collector may be handed next. The reactor reads the journal, sends, and reports with `handed`.
public struct Grant: Hashable, Sendable {
    public let peer: PeerID
    public let name: String
    /// Read from here to `through`, both included.
    public let from: JournalSeq
    public let through: JournalSeq
    /// Send at most this many bytes, whole blocks.
    public let budgetBytes: Int
    /// One block that is larger than the budget may go out all the same: nothing is in flight.
    public let mayExceed: Bool
    /// Every event matches: blocks may go out as they are.
    public let takesAll: Bool
    public let types: [String]
    public let launch: LaunchID
    public let opening: Opening
    public let redelivered: Bool
}
