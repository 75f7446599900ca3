import Ledger
import Lifecycle
import Wire

// What happens because time passes, and how the engine comes up.
extension Engine {
    /// Goes on with a launch that a restart interrupted. Before anything is bound, perform the effects until
    /// `isSettled`: a lease that ran out meanwhile closes the gate here.
    public mutating func boot(now: Now, into effects: inout [Effect]) {
        if lifecycle.state != .killed {
            noteGap(into: &effects)
            noteAgain(into: &effects)
            dropGated(through: discardedThrough, .policy, into: &effects)
            for name in configuration.collectors where durable[name] == nil {
                let cursor = lifecycle.closedThrough ?? committed
                durable[name] = DurableCollector(cursor: cursor, notedCursor: cursor, handedThrough: cursor)
                _ = persist(.entry(.known(collector: name, cursor: cursor)), into: &effects)
            }
        }
        switch lifecycle.state {
        case .operating:
            guard let lease = lifecycle.lease else { break }
            if lease.hasRunOut(atWallMs: now.wallMs) {
                leaseDeadlineMs = now.monotonicMs
                take(.hold(.leaseExpired, waitMs: nil, policy: nil), nil, from: nil, now: now, into: &effects)
            } else {
                leaseDeadlineMs = now.monotonicMs + (lease.expiresAtWallMs - now.wallMs)
            }
        case .holdRequested:
            beginDrain(through: lifecycle.closedThrough ?? committed, now: now)
            armDrain(now: now, into: &effects)
            checkDrain(now: now, into: &effects)
        case .onHold:
            if lifecycle.seq.raw == 1 { heldWarningAtMs = now.monotonicMs + configuration.heldWarningMs }
        case .killed: break
        }
    }

    /// Numbers that the history names and the journal never saw belong to blocks that a crash took: never answered.
    private mutating func noteGap(into effects: inout [Effect]) {
        guard recordedThrough > lastSeq, let gap = SeqRange(first: lastSeq.next, through: recordedThrough)
        else { return }
        lastSeq = recordedThrough
        discards.addDiscard(gap)
        _ = persist(.entry(.discarded(gap, .unwritten)), into: &effects)
    }

    /// When `tick` is due next, by the monotonic clock.
    public var nextTickMs: Int64 {
        var next = nextHeartbeatMs
        func consider(_ time: Int64?) { if let time { next = min(next, time) } }
        consider(stream.snapshotDueMs)
        if !isExpiring { consider(leaseDeadlineMs) }
        consider(retryAtMs)
        consider(heldWarningAtMs)
        if let drain, shown.state == .holdRequested {
            if decision == nil, !settleRetry { consider(drain.deadlineMs) }
            if pending != drain.lastRemaining {
                consider(drain.lastProgressMs + configuration.drainProgressMs)
            }
        }
        for waiter in waiters { consider(waiter.deadlineMs) }
        consider(nextRequestDeadlineMs)
        return next
    }

    /// Does all that is due.
    public mutating func tick(now: Now, into effects: inout [Effect]) {
        if let due = stream.snapshotDueMs, due <= now.monotonicMs { publishSnapshot(into: &effects) }
        if let deadline = leaseDeadlineMs, deadline <= now.monotonicMs {
            expireLease(now: now, into: &effects)
        }
        if let due = retryAtMs, due <= now.monotonicMs { retryUnwritten(now: now, into: &effects) }
        checkDrain(now: now, into: &effects)
        reportProgress(now: now, into: &effects)
        expireWaiters(now: now, into: &effects)
        expireRequests(now: now, into: &effects)
        warnHeld(now: now, into: &effects)
        guard nextHeartbeatMs <= now.monotonicMs else { return }
        beat(now: now, into: &effects)
        ageOut(now: now, into: &effects)
        evict(now: now, into: &effects)
        recordDiscards(now: now, into: &effects)
        recordForbidden(now: now, into: &effects)
    }

    /// The lease's end was read and is not decided yet, or a closing that comes to the same waits for room: the same
    /// end is not taken twice.
    private var isExpiring: Bool {
        unwritten != nil
            || deferred.all.contains {
                if case .hold(.leaseExpired, _, _) = $0.intent { true } else { false }
            }
    }

    private mutating func expireLease(now: Now, into effects: inout [Effect]) {
        guard lifecycle.state.isOperating else {
            leaseDeadlineMs = nil
            return
        }
        guard !isExpiring else { return }
        take(.hold(.leaseExpired, waitMs: nil, policy: nil), nil, from: nil, now: now, into: &effects)
    }

    private mutating func retryUnwritten(now: Now, into effects: inout [Effect]) {
        retryAtMs = nil
        if gapRetry {
            gapRetry = false
            roomAgain(into: &effects)
        }
        if settleRetry {
            settleRetry = false
            checkDrain(now: now, into: &effects)
        }
        guard let command = unwritten else { return }
        deferred.prepend(command)
        decideNext(now: now, into: &effects)
    }

    private mutating func warnHeld(now: Now, into effects: inout [Effect]) {
        guard let due = heldWarningAtMs, due <= now.monotonicMs else { return }
        heldWarningAtMs = now.monotonicMs + configuration.heldWarningRepeatMs
        effects.append(
            .log(
                .warning,
                "this launch was never started: nothing is leaving; send startOperation to open the gate",
                [.init("gated", .uint(gatedEvents))]))
    }

    /// Drops gated events that are older than allowed.
    private mutating func ageOut(now: Now, into effects: inout [Effect]) {
        guard configuration.gatedMaxAgeMs > 0, let closed = lifecycle.closedThrough else { return }
        let arrivedBy = now.wallMs - configuration.gatedMaxAgeMs
        guard let last = meter.last(after: closed, arrivedBy: arrivedBy), last > closed else { return }
        dropGated(through: last, .aged, into: &effects)
    }

    private mutating func evict(now: Now, into effects: inout [Effect]) {
        let maxBytes = configuration.collectorMaxLagBytes
        let maxMs = configuration.collectorMaxLagMs
        guard maxBytes > 0 || maxMs > 0, gate.opening != nil else { return }
        for (name, place) in durable.sorted(by: { $0.key < $1.key }) {
            let isTooFar = maxBytes > 0 && meter.bytes(after: place.cursor) > maxBytes
            let age = meter.oldestMs(after: place.cursor).map { now.wallMs - $0 } ?? 0
            if isTooFar || (maxMs > 0 && age > maxMs) {
                let reason = isTooFar ? "lag over collectorMaxLagBytes" : "lag over collectorMaxLagMs"
                drop(name, command: "evicted", reason: reason, nil, nil, now: now, into: &effects)
            }
        }
    }

    /// Sums discards into the history, at most one record a minute a reason.
    private mutating func recordDiscards(now: Now, into effects: inout [Effect]) {
        guard !unrecordedDiscards.isEmpty, nextDiscardRecordMs <= now.monotonicMs, lifecycle.state != .killed
        else {
            return
        }
        nextDiscardRecordMs = now.monotonicMs + configuration.discardRecordMs
        let sums = unrecordedDiscards.sorted { $0.key.rawValue < $1.key.rawValue }
        unrecordedDiscards = [:]
        for (reason, count) in sums {
            var facts = RecordFacts()
            facts.discarded = count
            facts.discardReason = reason
            take(.note(command: "discarded", facts), nil, from: nil, now: now, into: &effects)
        }
    }
}
