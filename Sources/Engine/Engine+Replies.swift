import Lifecycle
import Wire

// Who is answered when: at once, when the hold has settled, or with what an earlier execution was answered.
extension Engine {
    func refuse(
        _ request: ControlRequest, _ requester: Requester?, _ error: WireError, into effects: inout [Effect]
    ) {
        guard let requester else { return }
        effects.append(.reply(requester, ControlReply(id: request.id, status: status, error: error)))
    }

    /// Answers a command whose decision is on disk, or that needed none.
    mutating func answer(
        _ command: DeferredCommand, _ members: [JSONValue.Member], now: Now, into effects: inout [Effect]
    ) {
        guard let request = command.request, let requester = command.requester else { return }
        if case .hold(_, let waitMs?, _) = command.intent, shown.state == .holdRequested {
            guard !isStopping else { return refuse(request, requester, Self.stopping, into: &effects) }
            let waiter = HoldWaiter(
                requester: requester, id: request.id, hold: shown.seq,
                deadlineMs: command.readAt.monotonicMs + waitMs, members: members)
            return wait(waiter, into: &effects)
        }
        effects.append(.reply(requester, ControlReply(id: request.id, status: status, members: members)))
    }

    mutating func wait(_ waiter: HoldWaiter, into effects: inout [Effect]) {
        guard waiters.count >= Self.deferredLimit else { return waiters.append(waiter) }
        let error = WireError(
            .overloaded, "too many wait for the end of this drain; the hold stands", retryable: true)
        effects.append(.reply(waiter.requester, ControlReply(id: waiter.id, status: status, error: error)))
    }

    /// The same key again: the first execution's reply, or the wait that it asked for.
    func replay(
        _ entry: RememberedReplies.Entry, _ command: DeferredCommand, _ request: ControlRequest, now: Now,
        into effects: inout [Effect]
    ) -> HoldWaiter? {
        guard let requester = command.requester else { return nil }
        guard entry.fingerprint == request.fingerprint else {
            let error = WireError(.conflict, "this key was used with another request; take a new one")
            effects.append(.reply(requester, ControlReply(id: request.id, status: status, error: error)))
            return nil
        }
        let replayed = entry.members + [.init("replayed", .bool(true))]
        if case .hold(_, let waitMs?, _) = command.intent, entry.status.state == .holdRequested {
            if shown.state == .holdRequested, shown.seq == entry.status.seq {
                return HoldWaiter(
                    requester: requester, id: request.id, hold: shown.seq,
                    deadlineMs: command.readAt.monotonicMs + waitMs, members: replayed)
            }
            if shown.state == .onHold, shown.seq == entry.status.seq.next {
                let reply = ControlReply(id: request.id, status: status, members: settled(replayed))
                effects.append(.reply(requester, reply))
                return nil
            }
        }
        effects.append(
            .reply(requester, ControlReply(id: request.id, status: entry.status, members: replayed)))
        return nil
    }

    /// A hold's own result, with what is pending now that it has settled.
    private func settled(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        members.map { $0.name == "pending" ? .init("pending", .uint(pending)) : $0 }
    }

    /// A transition is in force: holds that waited for it are answered.
    mutating func settleWaiters(after transition: Transition?, into effects: inout [Effect]) {
        guard let transition, !waiters.isEmpty else { return }
        for waiter in waiters {
            var reply = ControlReply(id: waiter.id, status: status)
            switch transition.state {
            case .onHold: reply.members = settled(waiter.members)
            case .operating: reply.error = WireError(.conflict, "the hold was cancelled by a startOperation")
            case .killed: reply.error = WireError(.conflict, "the hold was overtaken by a kill")
            case .holdRequested: continue
            }
            effects.append(.reply(waiter.requester, reply))
        }
        if transition.state != .holdRequested { waiters = [] }
    }

    mutating func expireWaiters(now: Now, into effects: inout [Effect]) {
        for waiter in waiters where waiter.deadlineMs <= now.monotonicMs {
            let error = WireError(
                .timeout,
                "the drain goes on with \(pending) \(pending == 1 ? "event" : "events") pending; the hold stands",
                retryable: true)
            let members = [JSONValue.Member("pending", .uint(pending))]
            effects.append(
                .reply(
                    waiter.requester,
                    ControlReply(id: waiter.id, status: status, members: members, error: error)))
        }
        waiters.removeAll { $0.deadlineMs <= now.monotonicMs }
    }

    private static let stopping = WireError(
        .shuttingDown, "the host is stopping; the hold stands", retryable: true)

    /// The host stops: nobody is left waiting.
    public mutating func stop(restart: Bool, into effects: inout [Effect]) {
        guard !isStopping else { return }
        isStopping = true
        for waiter in waiters {
            effects.append(
                .reply(waiter.requester, ControlReply(id: waiter.id, status: status, error: Self.stopping)))
        }
        waiters = []
        refuseRequests(Self.stoppingError, into: &effects)
        flushCursors(into: &effects)
        for peer in attachments.keys.sorted() { effects.append(.send(peer, .goodbye)) }
        effects.append(.stop(restart: restart))
    }
}
