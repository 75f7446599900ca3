import Ledger
import Lifecycle
import Wire

// How a command becomes a transition: read (closings take effect), decided when the decision before it is on disk,
// written, and only then shown, answered, and, if it is an opening, in force.
extension Engine {
    /// Lifecycle commands that may wait for the disk at once.
    static let deferredLimit = 10_000

    mutating func take(
        _ intent: Intent, _ request: ControlRequest?, from requester: Requester?, now: Now,
        into effects: inout [Effect]
    ) {
        let command = DeferredCommand(
            intent: intent, request: request, requester: requester, readAfter: lastSeq,
            readAt: now)
        if let request, requester != nil, deferred.count >= Self.deferredLimit {
            let error = WireError(.overloaded, "too many commands wait for the disk", retryable: true)
            return refuse(request, requester, error, into: &effects)
        }
        if intent.closes { closeAtOnce(command) }
        deferred.append(command)
        decideNext(now: now, into: &effects)
    }

    /// A closing takes effect when it is read, whatever is being written.
    private mutating func closeAtOnce(_ command: DeferredCommand) {
        gate.close(through: command.readAfter)
        if command.intent == .kill { gate = .dead }
    }

    mutating func decideNext(now: Now, into effects: inout [Effect]) {
        while decision == nil, let command = deferred.popFirst() {
            decide(command, now: now, into: &effects)
            if decision == nil { settleGate(now: now, into: &effects) }
        }
    }

    /// After a command that changed nothing: what it closed on being read opens again, as far as no other one closes.
    private mutating func settleGate(now: Now, into effects: inout [Effect]) {
        gate = Self.gate(of: shown)
        let closings = [unwritten, deferred.firstClosing].compactMap { $0 }
        for closing in closings { closeAtOnce(closing) }
        if deferred.hasKill { gate = .dead }
        if gate != .dead { tellTakenAfterKill(into: &effects) }
        settleReports(into: &effects)
        settleChanges(now: now, into: &effects)
        guard closings.isEmpty else { return }
        tellApps(into: &effects)
        resumeRequests(now: now, into: &effects)
    }

    private mutating func decide(_ command: DeferredCommand, now: Now, into effects: inout [Effect]) {
        // The launch may have ended: nothing may follow that in its history.
        if isStopping, command.request == nil || command.isRetry { return }
        if command.isRetry {
            // It was decided once, and has been closing the gate since: what it expected does not matter any more.
            guard unwritten == command else { return }
            unwritten = nil
        } else if let request = command.request, !isFresh(command, request, now: now, into: &effects) {
            return
        }
        switch command.intent {
        case .start(let leaseMs): decideStart(command, leaseMs, now: now, into: &effects)
        case .hold(let cause, _, let policy): decideHold(command, cause, policy, now: now, into: &effects)
        case .kill: decideKill(command, now: now, into: &effects)
        case .noOp: write(command, nil, RecordFacts(), now: now, into: &effects)
        case .endLaunch(let restart):
            var facts = RecordFacts()
            facts.restart = restart
            write(command, nil, facts, mustRecord: true, now: now, into: &effects)
        case .drained: decideSettled(command, .drained, .drained, now: now, into: &effects)
        case .drainTimeout: decideSettled(command, .drainTimeout, .drainTimeout, now: now, into: &effects)
        case .note(_, let facts): write(command, nil, facts, mustRecord: true, now: now, into: &effects)
        }
    }

    /// Answers what needs no decision: a repeated key, an expectation that does not hold, a stopping host.
    private mutating func isFresh(
        _ command: DeferredCommand, _ request: ControlRequest, now: Now, into effects: inout [Effect]
    ) -> Bool {
        let requester = command.requester
        if isStopping {
            let error = WireError(
                .shuttingDown, "the host is stopping; send it again to the next one", retryable: true)
            refuse(request, requester, error, into: &effects)
            return false
        }
        if let key = request.key, let entry = replies[.init(source: request.source, key: key)] {
            if let waiter = replay(entry, command, request, now: now, into: &effects) {
                wait(waiter, into: &effects)
            }
            return false
        }
        if let complaint = complaint(about: request.expect) {
            refuse(request, requester, WireError(.conflict, complaint), into: &effects)
            return false
        }
        return true
    }

    private func complaint(about expect: Expectation?) -> String? {
        guard let expect else { return nil }
        if let launch = expect.launch, launch != lifecycle.launch.raw {
            return "expected launch \(launch), but this is \(lifecycle.launch); nothing was changed"
        }
        if let state = expect.state, state != lifecycle.state {
            return
                "expected state \(state.rawValue), but it is \(lifecycle.state.rawValue); nothing was changed"
        }
        if let seq = expect.seq, seq != lifecycle.seq.raw {
            return "expected seq \(seq), but it is \(lifecycle.seq); nothing was changed"
        }
        return nil
    }

    // MARK: The decisions

    private mutating func decideStart(
        _ command: DeferredCommand, _ leaseMs: Int64?, now: Now, into effects: inout [Effect]
    ) {
        if unwritten != nil, let request = command.request {
            let error = WireError(
                .storageFull, "the disk is full and a closing is not written yet: nothing opens before",
                retryable: true)
            return refuse(request, command.requester, error, into: &effects)
        }
        let before = decided
        let transition = lifecycle.apply(
            .startOperation, cause: .startOperation, through: command.readAfter, wallMs: now.wallMs)
        var facts = RecordFacts()
        if lifecycle.state.isOperating, let leaseMs {
            let lease = Lease(durationMs: leaseMs, setAtWallMs: command.readAt.wallMs)
            lifecycle.setLease(lease)
            leaseDeadlineMs = command.readAt.monotonicMs + leaseMs
            facts.lease = lease
        }
        write(
            command, transition, facts, before: before, now: now, into: &effects)
    }

    private mutating func decideHold(
        _ command: DeferredCommand, _ cause: LifecycleCause, _ policy: GatedPolicy?, now: Now,
        into effects: inout [Effect]
    ) {
        if cause == .leaseExpired {
            // Renewed, or closed by somebody else, while it waited for its turn.
            guard let deadline = leaseDeadlineMs, deadline <= now.monotonicMs, lifecycle.state.isOperating
            else { return }
        }
        let before = decided
        // An earlier closing that was not written may have closed the gate before this one was read.
        var through = command.readAfter
        if case .draining(let closedAfter, _) = gate { through = min(through, closedAfter) }
        let transition = lifecycle.apply(.holdOperation, cause: cause, through: through, wallMs: now.wallMs)
        var facts = RecordFacts()
        if lifecycle.state != .killed, let policy {
            facts.gatedEvents = policy
            lifecycle.setHoldPolicy(policy)
            if policy == .discard { facts.discardedThrough = lastSeq }
        }
        if transition != nil {
            leaseDeadlineMs = nil
            beginDrain(through: through, now: now)
            facts.pending = pending
        }
        write(
            command, transition, facts, before: before, now: now, into: &effects)
    }

    private mutating func decideKill(_ command: DeferredCommand, now: Now, into effects: inout [Effect]) {
        let before = decided
        let queued = queuedEvents
        let transition = lifecycle.apply(.kill, cause: .kill, through: lastSeq, wallMs: now.wallMs)
        var facts = RecordFacts()
        if transition != nil {
            gate = .dead
            leaseDeadlineMs = nil
            facts.discarded = queued
            facts.inFlight = inFlight
        }
        write(
            command, transition, facts, before: before, now: now, into: &effects)
    }

    /// The host's own transition at a drain's end; dropped where a start came first.
    private mutating func decideSettled(
        _ command: DeferredCommand, _ input: LifecycleInput, _ cause: LifecycleCause, now: Now,
        into effects: inout [Effect]
    ) {
        guard lifecycle.state == .holdRequested, drain != nil else { return }
        let remaining = pending
        // It may have waited behind a start and another hold, whose drain has its own time.
        if input == .drained ? remaining > 0 : !isDrainOver(at: now) { return }
        let before = decided
        // Of its place in the queue of decisions: a start behind it may have been read before the last event.
        let transition = lifecycle.apply(
            input, cause: cause, through: command.readAfter, wallMs: now.wallMs)
        gate.endDraining()
        var facts = RecordFacts()
        if input == .drainTimeout { facts.undelivered = remaining }
        flushCursors(into: &effects)
        write(command, transition, facts, before: before, now: now, into: &effects)
    }

    // MARK: Writing

    /// Writes a decision, or answers at once where there is nothing to write.
    private mutating func write(
        _ command: DeferredCommand, _ transition: Transition?, _ facts: RecordFacts, before: Decided? = nil,
        mustRecord: Bool = false, now: Now, into effects: inout [Effect]
    ) {
        let before = before ?? decided
        let members = replyMembers(command, transition, facts, before: before.lifecycle)
        var facts = facts
        if let request = command.request, let key = request.key {
            let reply = ControlReply(id: nil, status: decidedStatus, members: members)
            facts.remembered = .init(key: key, fingerprint: request.fingerprint, reply: reply)
        }
        guard transition != nil || mustRecord || facts != RecordFacts() else {
            return answer(command, members, now: now, into: &effects)
        }
        let record = Record(
            wallMs: now.wallMs, launch: lifecycle.launch, seq: lifecycle.seq, state: lifecycle.state,
            previous: transition == nil ? lifecycle.state : transition?.previous,
            command: commandName(command, transition),
            through: transition?.through ?? lastSeq,
            source: command.request?.source ?? facts.forbidden?.name,
            reason: command.request?.reason,
            facts: facts)
        recordedThrough = max(recordedThrough, record.through, facts.discardedThrough ?? .zero)
        decision = Decision(
            command: command, record: record, transition: transition, before: before, members: members)
        let ticket = persist(.record(record), into: &effects)
        awaiting.append(ticket, .decision)
    }

    private var decided: Decided { Decided(lifecycle: lifecycle, leaseDeadlineMs: leaseDeadlineMs) }

    private var decidedStatus: HostStatus {
        HostStatus(state: lifecycle.state, seq: lifecycle.seq, launch: lifecycle.launch)
    }

    private func commandName(_ command: DeferredCommand, _ transition: Transition?) -> String {
        if let transition { return transition.cause.rawValue }
        if case .note(let name, _) = command.intent { return name }
        return command.request?.command.name ?? LifecycleCause.holdOperation.rawValue
    }

    private func replyMembers(
        _ command: DeferredCommand, _ transition: Transition?, _ facts: RecordFacts, before: Lifecycle
    ) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("previous", .string((transition?.previous ?? before.state).rawValue)),
            .init("changed", .bool(transition != nil)),
        ]
        if transition?.state == .killed {
            members.append(.init("pending", .uint(0)))
            members.append(.init("discarded", .uint(facts.discarded ?? 0)))
            members.append(.init("inFlight", Self.json(facts.inFlight ?? [:])))
        } else {
            members.append(.init("pending", .uint(pending)))
        }
        return members
    }

    static func json(_ inFlight: [String: [SeqRange]]) -> JSONValue {
        .object(
            inFlight.sorted { $0.key < $1.key }.map { name, ranges in
                .init(name, .array(ranges.map { .array([.uint($0.first.raw), .uint($0.count)]) }))
            })
    }
}
