import Ledger
import Lifecycle
import Wire

// What is still waited for, and when a hold has settled.
extension Engine {
    /// Events in `(after, through]` that are still to be delivered: discarded ones don't count.
    func remaining(after: JournalSeq, through: JournalSeq) -> UInt64 {
        guard through > after else { return 0 }
        var count = through.raw - after.raw
        for range in discards.discarded where range.last > after && range.first <= through {
            let first = max(range.first.raw, after.raw + 1)
            let last = min(range.last.raw, through.raw)
            count -= last - first + 1
        }
        return count
    }

    /// Events accepted before the gate closed that somebody who must be waited for has not done, each once.
    /// While operating: those that any durable collector has not done.
    package var pending: UInt64 {
        if let drain {
            let lowest = drain.names.compactMap { durable[$0]?.cursor }.min()
            return lowest.map { remaining(after: $0, through: drain.through) } ?? 0
        }
        guard lifecycle.state != .killed, let lowest = durable.values.map(\.cursor).min() else { return 0 }
        return remaining(after: lowest, through: lifecycle.closedThrough ?? lastSeq)
    }

    /// Gated events that wait for a start.
    var gatedEvents: UInt64 {
        guard let through = lifecycle.closedThrough else { return 0 }
        return remaining(after: through, through: lastSeq)
    }

    /// Everything that a kill discards.
    var queuedEvents: UInt64 {
        guard lifecycle.state != .killed else { return 0 }
        return remaining(
            after: min(durable.values.map(\.cursor).min() ?? published, published), through: lastSeq)
    }

    /// What was sent and not acknowledged, by collector; of durable ones that are away too. Bounded: no collector
    /// can make the record of a kill larger than the disk's reserve.
    var inFlight: [String: [SeqRange]] {
        var result: [String: [SeqRange]] = [:]
        for attachment in attachments.values { result[attachment.name] = attachment.window?.inFlight }
        for (name, place) in durable {
            result[name, default: []] += place.sentBefore.compactMap {
                SeqRange(first: max($0.first, place.cursor.next), through: $0.last)
            }
        }
        result = result.filter { !$0.value.isEmpty }
        let limit = max(1, Self.inFlightRanges / max(1, result.count))
        return result.mapValues { $0.merged(limit: limit) }
    }

    /// Ranges that the record of a kill names at most, one a collector aside.
    static let inFlightRanges = 4096

    mutating func beginDrain(through: JournalSeq, now: Now) {
        func begun(_ total: UInt64) -> Drain {
            Drain(
                through: through, names: Set(durable.keys), total: total, beganMs: now.monotonicMs,
                deadlineMs: nil, lastProgressMs: now.monotonicMs, lastRemaining: total)
        }
        drain = begun(0)
        drain = begun(pending)
    }

    /// The hold is on disk: its time runs from here. (Blocks accepted before it are on disk by now too.)
    mutating func armDrain(now: Now, into effects: inout [Effect]) {
        if let drain, pending > 0 {
            publish(.drain(DrainBody(total: drain.total, remaining: pending)), into: &effects)
        }
        guard configuration.drainTimeoutMs > 0 else { return }
        drain?.deadlineMs = now.monotonicMs + configuration.drainTimeoutMs
    }

    /// Ends the drain when nothing is left of it, or its time is over.
    mutating func checkDrain(now: Now, into effects: inout [Effect]) {
        guard drain != nil, decision == nil, lifecycle.state == .holdRequested, !settleRetry else { return }
        if pending == 0 {
            take(.drained, nil, from: nil, now: now, into: &effects)
        } else if isDrainOver(at: now) {
            take(.drainTimeout, nil, from: nil, now: now, into: &effects)
        }
    }

    func isDrainOver(at now: Now) -> Bool { drain?.deadlineMs.map { $0 <= now.monotonicMs } ?? false }

    mutating func reportProgress(now: Now, into effects: inout [Effect]) {
        guard var current = drain, shown.state == .holdRequested,
            now.monotonicMs - current.lastProgressMs >= configuration.drainProgressMs
        else { return }
        let left = pending
        guard left != current.lastRemaining else { return }
        current.lastProgressMs = now.monotonicMs
        current.lastRemaining = left
        drain = current
        publish(.drain(DrainBody(total: current.total, remaining: left)), into: &effects)
    }

    /// Drops gated events up to `through`.
    mutating func dropGated(through: JournalSeq, _ reason: DiscardReason, into effects: inout [Effect]) {
        guard let closed = lifecycle.closedThrough, let range = SeqRange(first: closed.next, through: through)
        else { return }
        let count = remaining(after: closed, through: through)
        guard count > 0 else { return }
        discards.addDiscard(range)
        forgetDone()
        statistics.countDiscarded(count, reason)
        unrecordedDiscards[reason, default: 0] += count
        note(.discarded(range, reason), into: &effects)
    }

    // MARK: What the journal is told beside events

    /// Tells the journal; again later, if there is no room now.
    mutating func note(_ entry: Entry, into effects: inout [Effect]) {
        awaiting.append(persist(.entry(entry), into: &effects), .noted(entry))
    }

    /// There was no room for it.
    mutating func unwritten(_ entry: Entry) {
        if case .done(let collector, _) = entry {
            // The cursor may have moved on by the time it is noted again.
            durable[collector]?.notedCursor = .zero
            hasUnnotedCursors = true
        } else {
            unnoted.append(entry)
        }
    }

    mutating func noteAgain(into effects: inout [Effect]) {
        let waiting = unnoted
        unnoted = []
        for entry in waiting {
            if case .forgotten(let collector) = entry, let place = durable[collector] {
                // It is back, from where it was told to begin. Until that is on disk it may come to nothing.
                if place.beingNoted != nil { unnoted.append(entry) }
                continue
            }
            note(entry, into: &effects)
        }
    }

    /// What the records say was dropped stays so, though the journal had no room to say so too.
    mutating func restoreDropped(_ ranges: [SeqRange]) {
        for range in ranges where range.last > doneThrough && remaining(in: range) > 0 {
            discards.addDiscard(range)
            unnoted.append(.discarded(range, .policy))
        }
    }

    private func remaining(in range: SeqRange) -> UInt64 {
        remaining(after: JournalSeq(range.first.raw - 1), through: range.last)
    }

    /// The last event that is done where all up to `seq` are: what was discarded right behind it is as well.
    func lastDone(from seq: JournalSeq) -> JournalSeq {
        JournalSeq(firstUndiscarded(after: seq).raw - 1)
    }

    /// The first event after `seq` that was not discarded.
    func firstUndiscarded(after seq: JournalSeq) -> JournalSeq {
        var next = seq.next
        for range in discards.discarded where range.contains(next) { next = range.last.next }
        return next
    }
}
