import HoldgateClient

/// What is posted and when, what is acknowledged, and what becomes of it all when the host or the receiver goes away: a
/// value without a clock and without a socket.
///
/// One post is under way at a time. Its events stay the same until the receiver has taken or refused them, so that each
/// attempt has the same key; what comes meanwhile waits behind them.
struct Sender: Sendable {
    struct Limits: Hashable, Sendable {
        /// Of one post.
        var events = 1000
        /// Of one post's body before it is compressed; one event may have more.
        var bytes = 1 << 20
        /// So many events are rejected one after another with none taken between; 0: any number.
        var rejectsInRow = 1000
        var firstBackoffMs: Int64 = 200
        var maxBackoffMs: Int64 = 30_000
        /// Longer waits are cut, whatever the receiver asks for.
        var maxRetryAfterMs: Int64 = 300_000
    }

    enum Step: Sendable {
        /// Until something happens.
        case idle
        case wait(untilMs: Int64)
        case post(Post)
    }

    /// Events that are to be posted together.
    struct Post: Sendable {
        /// What was posted before all was dropped has no effect any more.
        fileprivate let epoch: UInt64
        let launch: LaunchID
        let events: [Event]
        /// Whether it may be.
        let isCompressed: Bool
    }

    enum Effect: Hashable {
        case acknowledge(through: JournalSeq, LaunchID, [Reject])
        case report(Report)
    }

    /// Openings of the gate that one post may span: each is named in its head.
    static let maxOpenings = 64
    /// Rejects that are remembered, in case that their acknowledgement is lost: as many as one may have.
    static let maxRejects = 10_000
    /// After so many posts in a row the receiver may be able to take larger ones again.
    static let postsBeforeLarger = 256

    private let limits: Limits
    private var queue = EventQueue()
    /// The first events of the queue.
    private var batch: Batch?
    private var epoch: UInt64 = 0
    private var launch: LaunchID?
    /// A host is there, and has not been killed. Else nothing is posted: a kill could not be heard.
    private var isOpen = false
    /// The last event that was put in the queue.
    private var through = JournalSeq.zero
    /// The last event that was taken, or rejected.
    private var done = JournalSeq.zero
    private var rejects: [Reject] = []
    private var rejectedInRow = 0
    private var notBeforeMs: Int64 = .min
    private var backoff: Backoff
    private(set) var maxBytes: Int
    private var postsSinceTooLarge = 0
    private var compresses: Bool

    init(_ limits: Limits, compresses: Bool) {
        self.limits = limits
        self.compresses = compresses
        backoff = Backoff(firstMs: limits.firstBackoffMs, maxMs: limits.maxBackoffMs)
        maxBytes = limits.bytes
    }

    // MARK: The host

    /// True: what is under way is to be broken off.
    mutating func attached(_ launch: LaunchID, cursor: JournalSeq?, isKilled: Bool) -> Bool {
        // Another launch may follow a kill that nobody heard of here. What was not killed comes again.
        let isOther = launch != self.launch || isKilled
        if isOther {
            drop()
            done = cursor ?? .zero
            through = done
        }
        self.launch = launch
        isOpen = !isKilled
        return isOther
    }

    mutating func detached() { isOpen = false }

    mutating func killed() {
        isOpen = false
        drop()
    }

    private mutating func drop() {
        queue.removeAll()
        batch = nil
        rejects = []
        epoch += 1
    }

    /// Events of one delivery, in order.
    mutating func take(_ events: [Event], of launch: LaunchID) -> [Effect] {
        guard isOpen, launch == self.launch, let first = events.first, let last = events.last else {
            return []
        }
        for event in events where event.seq > through {
            queue.append(event)
            through = event.seq
        }
        guard first.seq <= done else { return [] }
        // The acknowledgement was lost.
        let again = min(done, last.seq)
        return [
            .acknowledge(through: again, launch, rejects.filter { first.seq <= $0.seq && $0.seq <= again })
        ]
    }

    // MARK: The receiver

    mutating func next(nowMs: Int64) -> Step {
        guard isOpen, let launch, !queue.isEmpty else { return .idle }
        guard nowMs >= notBeforeMs else { return .wait(untilMs: notBeforeMs) }
        let count: Int
        if let next = batch?.next {
            count = next
        } else {
            count = batchCount()
            batch = Batch(count: count)
        }
        return .post(
            Post(epoch: epoch, launch: launch, events: queue.first(count), isCompressed: compresses))
    }

    /// How many of the queue's first events make the next batch.
    private func batchCount() -> Int {
        var bytes = 1 + Post.byteCount(queue[0])
        var openings = 1
        for index in 1..<max(1, min(queue.count, limits.events)) {
            bytes += Post.byteCount(queue[index])
            if queue[index].under != queue[index - 1].under { openings += 1 }
            if bytes > maxBytes || openings > Self.maxOpenings { return index }
        }
        return min(queue.count, limits.events)
    }

    mutating func answered(
        _ post: Post, _ answer: Verdict, nowMs: Int64, random: UInt64
    ) -> [Effect] {
        guard post.epoch == epoch else { return [] }
        switch answer {
        case .taken:
            batch?.taken()
            backoff.reset()
            rejectedInRow = 0
            grow()
            return [.report(.back)] + finish(post, [])
        case .refused(let reason): return refused(post, reason, nowMs, random)
        case .tooLarge(let reason):
            // Not by one event that is too large alone.
            if post.events.count > 1 { maxBytes = max(1, min(maxBytes, post.byteCount / 2)) }
            postsSinceTooLarge = 0
            let effects = refused(post, reason, nowMs, random)
            return effects + (post.events.count > 1 ? [.report(.smaller(bytes: maxBytes))] : [])
        case .plainWanted:
            compresses = false
            return [.report(.plain)]
        case .later(let reason, let afterMs): return later(reason, afterMs, nowMs, random)
        }
    }

    private mutating func refused(
        _ post: Post, _ reason: String, _ nowMs: Int64, _ random: UInt64
    ) -> [Effect] {
        if post.events.count == 1, limits.rejectsInRow > 0, rejectedInRow >= limits.rejectsInRow {
            let all =
                "\(reason): \(rejectedInRow) events one after another were refused, which is not their fault: no more "
                + "are given up (--max-rejects)"
            return later(all, nil, nowMs, random)
        }
        // It answers, so it is there.
        backoff.reset()
        if batch?.refused() == true { return [] }
        rejectedInRow += 1
        let reject = Reject(seq: post.events[0].seq, reason: reason)
        rejects.append(reject)
        if rejects.count > Self.maxRejects { rejects.removeFirst(rejects.count - Self.maxRejects) }
        return finish(post, [reject]) + [.report(.rejected(reject))]
    }

    /// The queue's first events are done with.
    private mutating func finish(_ post: Post, _ rejects: [Reject]) -> [Effect] {
        queue.removeFirst(post.events.count)
        if batch?.next == nil { batch = nil }
        done = post.events[post.events.count - 1].seq
        return [.acknowledge(through: done, post.launch, rejects)]
    }

    private mutating func later(
        _ reason: String, _ afterMs: Int64?, _ nowMs: Int64, _ random: UInt64
    ) -> [Effect] {
        let waitMs = max(backoff.next(random: random), min(afterMs ?? 0, limits.maxRetryAfterMs))
        notBeforeMs = nowMs + waitMs
        return [.report(.away(reason, waitMs: waitMs))]
    }

    private mutating func grow() {
        guard maxBytes < limits.bytes else { return }
        postsSinceTooLarge += 1
        guard postsSinceTooLarge >= Self.postsBeforeLarger else { return }
        postsSinceTooLarge = 0
        maxBytes = min(limits.bytes, maxBytes * 2)
    }
}
