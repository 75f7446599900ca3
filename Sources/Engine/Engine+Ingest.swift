import Ledger
import Lifecycle
import Wire

/// What becomes of a block that was read.
public enum Admission: Hashable, Sendable {
    /// Commit it under this ticket; the reply follows the disk.
    case commit(Ticket, BlockStamp)
    /// Nothing of it is kept; the reply is among the effects, or follows.
    case settled
}

extension Engine {
    /// Decides about one block of valid events, at the moment when it was read.
    public mutating func admit(
        _ header: IngestHeader, _ summary: BlockSummary, from requester: Requester, now: Now,
        into effects: inout [Effect]
    ) -> Admission {
        if gate == .dead, shown.state != .killed, unwritten?.intent != .kill,
            repliesAfterKill.count < Self.awaitingKillLimit
        {
            // A kill was read and is not on disk yet: the answer shows it, and so comes after it.
            statistics.countRefused(summary.count)
            repliesAfterKill.append(Waiting(stamp: nil, requester: requester, id: header.id))
            return .settled
        }
        if let refusal = refusalBeforeAnything() {
            statistics.countRefused(summary.count)
            reply(requester, header.id, .refused(refusal, lastBatch: nil), into: &effects)
            return .settled
        }
        var batch: ProducerBatch?
        if let producer = header.producer, let run = header.run, let number = header.batch {
            let taken = ProducerBatch(producer: producer, run: run, batch: number)
            guard producers.verdict(on: taken) == .next else {
                judge(taken, summary, requester, header.id, into: &effects)
                return .settled
            }
            batch = taken
        }
        let isGated = !gate.admits
        switch isGated ? gatedPolicy : .queue {
        case .queue: break
        case .discard:
            discard(summary, batch, requester, header.id, into: &effects)
            return .settled
        case .refuse:
            statistics.countRefused(summary.count)
            let error = NotOperatingError(state: lifecycle.state)
            let refusal = WireError(.notOperating, error.description, retryable: error.isRetryable)
            reply(requester, header.id, .refused(refusal, lastBatch: nil), into: &effects)
            return .settled
        }
        if queuedBytes + UInt64(summary.byteCount) > configuration.queueLimitBytes {
            statistics.countRefused(summary.count)
            let refusal = WireError(
                .overloaded,
                "the queue is full (\(queuedBytes) bytes): collectors are behind; send it again later",
                retryable: true)
            reply(requester, header.id, .refused(refusal, lastBatch: nil), into: &effects)
            return .settled
        }
        return commit(summary, batch, isGated: isGated, now: now, into: &effects) {
            .block($0, requester, id: header.id)
        }
    }

    /// Batches that may wait for a kill to be written.
    static let awaitingKillLimit = 65_536

    func refusalBeforeAnything() -> WireError? {
        if shown.state == .killed {
            return WireError(.notOperating, NotOperatingError(state: .killed).description)
        }
        if isStopping {
            return WireError(
                .shuttingDown, "the host is stopping; send the batch again to the next one", retryable: true)
        }
        if gate == .dead {
            return WireError(.overloaded, "a kill is being written; nothing was taken", retryable: true)
        }
        if isHalted {
            return Self.storageFull
        }
        return nil
    }

    /// A batch that is not the next one: told so once those before it are on disk, or are not.
    private mutating func judge(
        _ batch: ProducerBatch, _ summary: BlockSummary, _ requester: Requester, _ id: String?,
        into effects: inout [Effect]
    ) {
        if case .duplicate = producers.verdict(on: batch) {
            statistics.eventsDuplicate += UInt64(summary.count)
        } else {
            statistics.countRefused(summary.count)
        }
        guard doneTicket == lastTicket, awaiting.isEmpty else {
            return awaiting.append(lastTicket, .verdict(batch, requester, id: id))
        }
        tellVerdict(batch, requester, id, into: &effects)
    }

    func tellVerdict(
        _ batch: ProducerBatch, _ requester: Requester, _ id: String?, into effects: inout [Effect]
    ) {
        let outcome: IngestReply.Outcome
        switch writtenProducers.verdict(on: batch) {
        case .next:
            // What came before it found no room: it was seen, and not taken.
            outcome = .refused(Self.storageFull, lastBatch: nil)
        case .duplicate(let last): outcome = .duplicate(lastBatch: last)
        case .outOfOrder(let last):
            let message = "batch \(batch.batch) does not follow batch \(last): send the missing ones first"
            outcome = .refused(WireError(.outOfOrder, message, retryable: true), lastBatch: last)
        case .superseded:
            let message = "producer \(batch.producer) has begun a newer run than \(batch.run)"
            outcome = .refused(WireError(.superseded, message), lastBatch: nil)
        }
        effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
    }

    static let storageFull = WireError(.storageFull, "the disk is full; nothing was taken", retryable: true)

    /// What happens to events that are read now; `.queue` until a closing that was read is also decided.
    private var gatedPolicy: GatedPolicy {
        guard lifecycle.closedThrough != nil else { return .queue }
        return lifecycle.holdPolicy ?? configuration.gatedEvents
    }

    private mutating func discard(
        _ summary: BlockSummary, _ batch: ProducerBatch?, _ requester: Requester, _ id: String?,
        into effects: inout [Effect]
    ) {
        statistics.countDiscarded(UInt64(summary.count), .policy)
        unrecordedDiscards[.policy, default: 0] += UInt64(summary.count)
        let outcome = IngestReply.Outcome.taken(
            accepted: 0, gated: 0, discarded: summary.count, kept: false, last: nil)
        guard let batch else { return reply(requester, id, outcome, into: &effects) }
        producers.take(batch)
        let ticket = persist(.entry(.batch(batch)), into: &effects)
        awaiting.append(ticket, .batch(batch, requester, outcome, id: id))
    }

    /// - Parameter awaited: what is to happen once the block is on disk.
    mutating func commit(
        _ summary: BlockSummary, _ batch: ProducerBatch?, isGated: Bool, now: Now,
        into effects: inout [Effect], awaited: (BlockStamp) -> Awaited
    ) -> Admission {
        flushCursors(into: &effects)
        let range = SeqRange(first: lastSeq.next, count: UInt64(summary.count))
        let isWanted = !durable.isEmpty || attachments.values.contains { $0.window != nil }
        let stamp = BlockStamp(
            range: range, arrivalMs: now.wallMs, launch: lifecycle.launch,
            under: gate.opening.map { isGated ? lifecycle.seq : $0.seq } ?? lifecycle.seq, gated: isGated,
            kept: isWanted || isGated || published < lastGated, batch: batch, byteCount: summary.byteCount)
        if let batch { producers.take(batch) }
        lastSeq = range.last
        if isGated { lastGated = lastSeq }
        uncommittedBytes += UInt64(summary.byteCount)
        let ticket = takeTicket()
        awaiting.append(ticket, awaited(stamp))
        return .commit(ticket, stamp)
    }

    /// Answers once everything that was sent to the disk before is there, at once if it is.
    private mutating func reply(
        _ requester: Requester, _ id: String?, _ outcome: IngestReply.Outcome, into effects: inout [Effect]
    ) {
        guard doneTicket == lastTicket, awaiting.isEmpty else {
            awaiting.append(lastTicket, .ingestReply(requester, outcome, id: id))
            return
        }
        effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
    }

    // MARK: After the disk

    mutating func blockWritten(_ ticket: Ticket, _ stamp: BlockStamp, into effects: inout [Effect]) {
        committed = max(committed, stamp.range.last)
        uncommittedBytes -= UInt64(stamp.byteCount)
        statistics.eventsAccepted += stamp.range.count
        statistics.blocksAccepted += 1
        statistics.bytesAccepted += UInt64(stamp.byteCount)
        if stamp.gated { statistics.eventsGated += stamp.range.count }
        meter.add(
            last: stamp.range.last, bytes: stamp.kept ? UInt64(stamp.byteCount) : 0,
            arrivalMs: stamp.arrivalMs)
        if let batch = stamp.batch { writtenProducers.take(batch) }
        let isNext = firstUndiscarded(after: published) == stamp.range.first
        if !stamp.gated, isNext, gate.opening != nil {
            published = stamp.range.last
            effects.append(.publishBlock(ticket, stamp))
        }
        effects.append(.releaseBlock(ticket))
        if durable.isEmpty { forgetDone() }
    }

    /// A block is on disk; what it comes to is known once a kill that was read is decided.
    mutating func tell(_ waiting: Waiting, into effects: inout [Effect]) {
        if gate == .dead, unwritten?.intent != .kill { return repliesAfterKill.append(waiting) }
        tellTaken(waiting, into: &effects)
    }

    private func tellTaken(_ waiting: Waiting, into effects: inout [Effect]) {
        let outcome: IngestReply.Outcome
        if let stamp = waiting.stamp {
            let count = Int(stamp.range.count)
            outcome = .taken(
                accepted: count, gated: stamp.gated ? count : 0, discarded: 0,
                kept: stamp.kept && (stamp.gated || !durable.isEmpty), last: stamp.range.last)
        } else {
            let error = WireError(.overloaded, "a kill was being decided; nothing was taken", retryable: true)
            outcome = .refused(error, lastBatch: nil)
        }
        effects.append(
            .ingestReply(waiting.requester, IngestReply(id: waiting.id, outcome: outcome, status: status)))
    }

    /// The kill that blocks waited for has come to nothing, or must wait for room itself.
    mutating func tellTakenAfterKill(into effects: inout [Effect]) {
        for waiting in repliesAfterKill.sorted(by: { $0.requester.raw < $1.requester.raw }) {
            tellTaken(waiting, into: &effects)
        }
        repliesAfterKill = []
    }

    /// The disk was full: this block's numbers and batch were not taken.
    mutating func blockUnwritten(_ stamp: BlockStamp, into effects: inout [Effect]) {
        uncommittedBytes -= UInt64(stamp.byteCount)
        discards.addDiscard(stamp.range)
        blocksHaltedAtFull(into: &effects)
    }

    mutating func blocksHaltedAtFull(into effects: inout [Effect]) {
        guard !isHalted else { return }
        isHalted = true
        awaiting.append(persist(.resumeBlocks, into: &effects), .roomAgain)
        effects.append(.log(.error, "disk full: events are refused until there is room", []))
    }

    /// Nothing is under way: batches and numbers go on from what is on disk.
    mutating func roomAgain(into effects: inout [Effect]) {
        producers = writtenProducers
        // Numbers that a record names, or will name, are never given again; the others are.
        let waiting = (deferred.all + [unwritten].compactMap { $0 }).map(\.readAfter).max()
        lastSeq = max(committed, recordedThrough, waiting ?? .zero)
        discards.removeDiscards(after: lastSeq)
        guard let gap = SeqRange(first: committed.next, through: lastSeq) else {
            isHalted = false
            return
        }
        discards.addDiscard(gap)
        awaiting.append(persist(.entry(.discarded(gap, .unwritten)), into: &effects), .gap)
    }
}
