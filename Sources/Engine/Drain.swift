import Lifecycle
import Wire

/// What a hold waits for.
struct Drain: Hashable, Sendable {
    /// Events up to here were accepted before the hold.
    let through: JournalSeq
    /// The durable collectors that were known when it began; `forget` takes one out.
    var names: Set<String>
    /// Events that somebody waited for when it began.
    let total: UInt64
    /// By the monotonic clock.
    let beganMs: Int64
    /// By the monotonic clock; nil before the hold is on disk, and without a timeout.
    var deadlineMs: Int64?
    var lastProgressMs: Int64
    var lastRemaining: UInt64
}

/// A request that asked to be answered when the hold has settled.
struct HoldWaiter: Hashable, Sendable {
    let requester: Requester
    let id: String?
    /// The hold's transition.
    let hold: TransitionSeq
    let deadlineMs: Int64
    /// The hold's own result.
    let members: [JSONValue.Member]
}
