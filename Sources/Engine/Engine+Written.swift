import Ledger
import Lifecycle
import Wire

// What happens when a job is on disk, or found no room there.
extension Engine {
    /// All jobs up to `ticket` are done.
    public mutating func persisted(through ticket: Ticket, now: Now, into effects: inout [Effect]) {
        while let item = awaiting.next(through: ticket) {
            switch item.awaited {
            case .block(let stamp, let requester, let id):
                blockWritten(item.ticket, stamp, into: &effects)
                tell(Waiting(stamp: stamp, requester: requester, id: id), into: &effects)
            case .requeued(let stamp, let batch, let requester, let id):
                blockWritten(item.ticket, stamp, into: &effects)
                endRequeue(stamp, batch, requester, id, nil, into: &effects)
            case .decision: decisionWritten(now: now, into: &effects)
            case .purge: purged(now: now, into: &effects)
            case .batch(let batch, let requester, let outcome, let id):
                writtenProducers.take(batch)
                effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
            case .verdict(let batch, let requester, let id): tellVerdict(batch, requester, id, into: &effects)
            case .ingestReply(let requester, let outcome, let id):
                effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
            case .reply(let requester, let id, let members):
                effects.append(.reply(requester, ControlReply(id: id, status: status, members: members)))
            case .configuration(let new): configurationWritten(new, nil, into: &effects)
            case .report(let report, let requester, let id):
                reportWritten(report, requester, id, into: &effects)
            case .known(let name): known(name, item.ticket, into: &effects)
            case .burial(let name): buried(name, item.ticket, now: now, into: &effects)
            case .roomAgain: roomAgain(into: &effects)
            case .gap: isHalted = false
            case .noted: break
            }
        }
        doneTicket = max(doneTicket, ticket)
        checkDrain(now: now, into: &effects)
    }

    private mutating func decisionWritten(now: Now, into effects: inout [Effect]) {
        guard var done = decision else { preconditionFailure("a decision was written that nobody took") }
        if done.transition?.state == .killed {
            done.isPurging = true
            decision = done
            awaiting.append(persist(.purge, into: &effects), .purge)
            return
        }
        finish(done, now: now, into: &effects)
    }

    /// Kill: the disk holds no event any more. Before the reply, nothing that is queued in a socket goes out either.
    private mutating func purged(now: Now, into effects: inout [Effect]) {
        guard let done = decision, done.isPurging else {
            preconditionFailure("a purge that no kill asked for")
        }
        producers = ProducerTable(limit: configuration.rememberedProducers)
        writtenProducers = producers
        discards = Ledger(producerLimit: 1)
        meter = QueueMeter(startBytes: 0)
        unnoted = []
        durable = [:]
        attachments = [:]
        strangers = []
        apps = AppTable()
        committed = lastSeq
        published = lastSeq
        shown = lifecycle
        let refusal = WireError(.notOperating, NotOperatingError(state: .killed).description)
        refuseConfigurationChanges(refusal, into: &effects)
        internalConfiguration = .object([])
        drain = nil
        effects.append(.rebind)
        // In the order in which they were read.
        for reply in repliesAfterKill.sorted(by: { $0.requester.raw < $1.requester.raw }) {
            effects.append(
                .ingestReply(
                    reply.requester,
                    IngestReply(id: reply.id, outcome: .refused(refusal, lastBatch: nil), status: status)))
        }
        repliesAfterKill = []
        finish(done, now: now, into: &effects)
    }

    private mutating func finish(_ done: Decision, now: Now, into effects: inout [Effect]) {
        decision = nil
        shown = lifecycle
        if isCovered(by: done) { unwritten = nil }
        if let through = done.record.facts.discardedThrough {
            // The record alone says so: a crash before the journal knows of it changes nothing.
            discardedThrough = max(discardedThrough, through)
            dropGated(through: through, .policy, into: &effects)
        }
        if let transition = done.transition {
            statistics.countTransition(to: transition.state)
            countEnd(of: transition, done.record, now: now)
            inForce(transition)
            announce(transition, done.record, into: &effects)
        }
        if let remembered = done.record.facts.remembered {
            replies.remember(
                .init(source: done.record.source, key: remembered.key),
                .init(fingerprint: remembered.fingerprint, status: status, members: done.members))
        }
        settleWaiters(after: done.transition, into: &effects)
        if let transition = done.transition {
            if !transition.state.isOperating { interruptRequests(into: &effects) }
            if transition.state == .killed {
                refuseReports(Self.notOperating(.killed), into: &effects)
                refuseChanges(Self.notOperating(.killed), into: &effects)
            }
            if transition.state.isOperating, transition.previous == .onHold { owesAllApps = true }
            tellApps(into: &effects)
        }
        if let transition = done.transition, transition.state == .holdRequested {
            armDrain(now: now, into: &effects)
        }
        answer(done.command, done.members, now: now, into: &effects)
        if case .endLaunch(let restart) = done.command.intent {
            stop(restart: restart, into: &effects)
        }
        checkDrain(now: now, into: &effects)
        decideNext(now: now, into: &effects)
    }

    private mutating func countEnd(of transition: Transition, _ record: Record, now: Now) {
        switch transition.state {
        case .operating, .holdRequested: break
        case .onHold:
            guard let drain else { break }
            statistics.histograms.drainMs.observe(UInt64(max(0, now.monotonicMs - drain.beganMs)))
        case .killed: statistics.countDiscarded(record.facts.discarded ?? 0, .killed)
        }
    }

    /// Whether the closing that still waits for room is on disk with this one: a kill closes for good, any transition
    /// that is no opening closes as a hold does.
    private func isCovered(by done: Decision) -> Bool {
        guard let unwritten, let state = done.transition?.state, !state.isOperating else { return false }
        return state == .killed || unwritten.intent != .kill
    }

    /// The gate follows what is now on disk. Openings open here, and only here.
    private mutating func inForce(_ transition: Transition) {
        switch transition.state {
        case .operating:
            drain = nil
            guard !deferred.hasKill else { return }
            gate = Self.gate(of: lifecycle)
            // A closing that was read while this opening was being written has closed for what came after it.
            if let closing = deferred.firstClosing { gate.close(through: closing.readAfter) }
        case .holdRequested: break
        case .onHold: drain = nil
        case .killed: gate = .dead
        }
        heldWarningAtMs = nil
    }

    private mutating func announce(_ transition: Transition, _ record: Record, into effects: inout [Effect]) {
        let body = StateBody(
            state: transition.state, previous: transition.previous, command: transition.cause.rawValue,
            source: record.source, reason: record.reason, wallMs: transition.wallMs,
            pending: transition.state == .killed ? 0 : record.facts.pending ?? pending,
            undelivered: record.facts.undelivered)
        publish(.state(body), into: &effects)
        for peer in attachments.keys.sorted() {
            effects.append(.send(peer, .state(body, seq: transition.seq, launch: lifecycle.launch)))
        }
    }

    /// The disk failed for good: everybody who waits for it is answered with `error`, outcome unknown.
    public mutating func abandon(_ error: WireError, into effects: inout [Effect]) {
        isStopping = true
        while let item = awaiting.next(through: lastTicket) {
            switch item.awaited {
            case .block(_, let requester, let id), .batch(_, let requester, _, let id),
                .verdict(_, let requester, let id), .ingestReply(let requester, _, let id):
                let outcome = IngestReply.Outcome.refused(error, lastBatch: nil)
                effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
            case .reply(let requester, let id, _), .requeued(_, _, let requester, let id),
                .report(_, let requester, let id):
                effects.append(.reply(requester, ControlReply(id: id, status: status, error: error)))
            case .decision, .purge:
                guard let command = decision?.command, let request = command.request else { continue }
                refuse(request, command.requester, error, into: &effects)
            case .configuration, .known, .roomAgain, .gap, .burial, .noted: break
            }
        }
        for waiting in repliesAfterKill {
            let outcome = IngestReply.Outcome.refused(error, lastBatch: nil)
            effects.append(
                .ingestReply(waiting.requester, IngestReply(id: waiting.id, outcome: outcome, status: status))
            )
        }
        refuseConfigurationChanges(error, into: &effects)
        for command in deferred.all {
            if let request = command.request { refuse(request, command.requester, error, into: &effects) }
        }
        for waiter in waiters {
            effects.append(
                .reply(waiter.requester, ControlReply(id: waiter.id, status: status, error: error)))
        }
        repliesAfterKill = []
        deferred = CommandQueue()
        waiters = []
        refuseRequests(error, into: &effects)
        refuseReports(error, into: &effects)
        refuseChanges(error, into: &effects)
        gate = .dead
    }

    // MARK: A full disk

    /// The job of this ticket found no room, and nothing of it was written.
    public mutating func diskFull(_ ticket: Ticket, now: Now, into effects: inout [Effect]) {
        persisted(through: Ticket(ticket.raw - 1), now: now, into: &effects)
        statistics.storageFull += 1
        guard let item = awaiting.next(through: ticket) else { return }
        let error = Self.storageFull
        switch item.awaited {
        case .block(let stamp, let requester, let id):
            effects.append(.releaseBlock(item.ticket))
            blockUnwritten(stamp, into: &effects)
            statistics.countRefused(Int(stamp.range.count))
            let outcome = IngestReply.Outcome.refused(error, lastBatch: nil)
            effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
        case .requeued(let stamp, let batch, let requester, let id):
            effects.append(.releaseBlock(item.ticket))
            blockUnwritten(stamp, into: &effects)
            endRequeue(stamp, batch, requester, id, error, into: &effects)
        case .decision: decisionUnwritten(error, now: now, into: &effects)
        case .batch(_, let requester, _, let id):
            blocksHaltedAtFull(into: &effects)
            let outcome = IngestReply.Outcome.refused(error, lastBatch: nil)
            effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
        case .verdict(let batch, let requester, let id): tellVerdict(batch, requester, id, into: &effects)
        case .ingestReply(let requester, let outcome, let id):
            effects.append(.ingestReply(requester, IngestReply(id: id, outcome: outcome, status: status)))
        case .configuration(let new): configurationWritten(new, error, into: &effects)
        case .reply(let requester, let id, _), .report(_, let requester, let id):
            effects.append(.reply(requester, ControlReply(id: id, status: status, error: error)))
        case .known(let name): unknown(name, item.ticket, error, into: &effects)
        case .burial(let name): unburied(name, error, into: &effects)
        case .purge: preconditionFailure("a purge needs no room")
        case .roomAgain: roomAgain(into: &effects)
        case .gap:
            gapRetry = true
            retryAtMs = now.monotonicMs + configuration.retryMs
        case .noted(let entry): unwritten(entry)
        }
    }

    /// An opening that found no room did not happen. A closing stays in force in memory, and is tried again.
    private mutating func decisionUnwritten(_ error: WireError, now: Now, into effects: inout [Effect]) {
        guard let failed = decision else { preconditionFailure("a decision failed that nobody took") }
        decision = nil
        lifecycle = failed.before.lifecycle
        leaseDeadlineMs = failed.before.leaseDeadlineMs
        if let reason = failed.record.facts.discardReason, let count = failed.record.facts.discarded {
            unrecordedDiscards[reason, default: 0] += count
        }
        if let row = failed.record.facts.forbidden { forbidden.takeBack(row) }
        var error = error
        if let name = failed.record.facts.collector {
            error = WireError(
                .storageFull,
                "\(name) is no longer kept for, and the disk is full: it is noted once there is room, and a crash "
                    + "before that brings it back", retryable: true)
        }
        let isClosing = failed.transition != nil && failed.transition?.state != .operating
        if let request = failed.command.request, let requester = failed.command.requester {
            var members: [JSONValue.Member] = []
            if isClosing { members.append(.init("closedInMemory", .bool(true))) }
            effects.append(
                .reply(
                    requester, ControlReply(id: request.id, status: status, members: members, error: error)))
        }
        if isClosing {
            if failed.command.intent.closes {
                drain = nil
                interruptRequestsInMemory(into: &effects)
                refuseReports(Self.closedInMemory, into: &effects)
                refuseChanges(Self.closedInMemory, into: &effects)
                unwritten = DeferredCommand(
                    intent: failed.command.intent, request: failed.command.request, requester: nil,
                    readAfter: failed.command.readAfter, readAt: failed.command.readAt, isRetry: true)
            } else {
                // A drain's end: the hold stands, and its end is decided again.
                settleRetry = true
                if gate != .dead { gate = Self.gate(of: shown) }
            }
            if unwritten?.intent == .kill { tellTakenAfterKill(into: &effects) }
            retryAtMs = now.monotonicMs + configuration.retryMs
            effects.append(
                .log(.error, "disk full: the gate is closed in memory, and the record is tried again", []))
        }
        decideNext(now: now, into: &effects)
    }
}
