import Engine
import Journal
import Ledger
import Lifecycle
import Platform
import Wire
import ZeroMQ

// The one place where what the engine decided is done.
extension Reactor {
    /// Performs all effects in order. Performing may report back (a peer is gone), which adds effects at the end.
    func perform() {
        var index = 0
        while index < effects.count {
            let effect = effects[index]
            index += 1
            do {
                try perform(effect)
            } catch {
                log.log(.error, "a socket failed", [.init("error", .string("\(error)"))])
                exit = .failed("\(error)")
            }
        }
        effects.removeAll(keepingCapacity: true)
    }

    private func perform(_ effect: Effect) throws(ZeroMQError) {
        switch effect {
        case .persist(let ticket, let job): persist(job, ticket)
        case .reply(let requester, let reply):
            try send(to: requester) { reply.write(into: &$0) }
        case .ingestReply(let requester, let reply):
            try send(to: requester) { reply.write(into: &$0) }
        case .publish(let header, let publication): try publish(header, publication)
        case .publishBlock(let ticket, let stamp): try publishBlock(ticket, stamp)
        case .releaseBlock(let ticket): blocks.release(ticket)
        case .send(let peer, let message): try send(message, to: peer)
        case .rebind: try rebind()
        case .lookUp(let lookUp, let requester, let reply): answer(lookUp, requester, reply)
        case .requeue(let requester, let id, let seqs): requeue(seqs, requester, id: id)
        case .endRequeue(let batch, let isTaken):
            if isTaken { journal.settleRequeue(batch) } else { journal.abandonRequeue(batch) }
        case .supervise(let requester, let reply, let name, let action):
            supervise(name, action, requester, reply)
        case .reload(let requester, let reply): reload(requester, reply)
        case .stop(let restart):
            stopping = (restart, Clock.monotonicMs() + Self.stopTimeoutMs)
            stopSupervising()
            for endpoint in Sockets.Endpoint.allCases where endpoint != .inbox {
                sockets.watch(endpoint, false)
            }
        case .log(let level, let message, let fields): log.log(level, message, fields)
        }
    }

    // MARK: Replies

    private func send(to requester: Requester, _ write: (inout JSONWriter) -> Void) throws(ZeroMQError) {
        guard let envelope = envelopes.take(requester) else {
            preconditionFailure("a request is answered once")
        }
        guard let frames = envelope.frames else { return }
        writer.reset()
        write(&writer)
        switch envelope.endpoint {
        case .control: try Self.send(frames, writer.bytes, over: sockets.callers.control)
        case .ingest: try Self.send(frames, writer.bytes, over: sockets.callers.ingest)
        }
    }

    /// A peer that has gone gets nothing; nobody waits for it.
    private static func send(
        _ envelope: [[UInt8]], _ body: [UInt8], over socket: borrowing Socket
    ) throws(ZeroMQError) {
        do throws(ZeroMQError) {
            for frame in envelope {
                guard try socket.send(frame, more: true) else { return }
            }
            _ = try socket.send(body)
        } catch {
            guard error.code == .hostUnreachable else { throw error }
        }
    }

    private func answer(_ lookUp: LookUp, _ requester: Requester, _ reply: ControlReply) {
        switch lookUp {
        case .history(let after, let limit):
            var reply = reply
            do throws(JournalError) {
                let lines = try historyReader.read(after: after, limit: limit)
                reply.members.append(.init("records", .array(lines.map { .raw($0) })))
            } catch {
                reply.error = WireError(.internalError, "\(error)")
            }
            effects.append(.reply(requester, reply))
        case .deadLetters(let after, let limit):
            guard lookUps < Self.maxLookUps else {
                var reply = reply
                reply.error = WireError(.overloaded, "too many look-ups wait for the disk", retryable: true)
                return effects.append(.reply(requester, reply))
            }
            lookUps += 1
            journal.listDeadLetters(after: JournalSeq(after), limit: limit, requester, reply)
        }
    }

    // MARK: Plugins

    func send(_ message: HostMessage, to peer: PeerID) throws(ZeroMQError) {
        writer.reset()
        message.write(into: &writer)
        do throws(ZeroMQError) {
            guard try sendPrefix(to: peer), try sockets.peers.plugin.send(writer.bytes) else {
                // Its queue is full: it hears the next one.
                if case .request(let number, _, _, _) = message {
                    engine.unsent(number, isGone: false, into: &effects)
                }
                return
            }
        } catch {
            if case .request(let number, _, _, _) = message, error.code == .hostUnreachable {
                engine.unsent(number, isGone: true, into: &effects)
            }
            try lose(peer, error)
        }
        if case .refused = message { sockets.forget(peer) }
    }

    /// The frames ahead of a message to a plugin; false where its queue is full.
    func sendPrefix(to peer: PeerID) throws(ZeroMQError) -> Bool {
        guard try sockets.peers.plugin.send(peer.routingID, more: true) else { return false }
        return sockets.isDelimited(peer) ? try sockets.peers.plugin.send([], more: true) : true
    }

    func lose(_ peer: PeerID, _ error: ZeroMQError) throws(ZeroMQError) {
        guard error.code == .hostUnreachable else { throw error }
        sockets.forget(peer)
        engine.lost(peer, now: now, into: &effects)
    }

    func sendRefusal(_ error: WireError, to routingID: [UInt8]) {
        writer.reset()
        HostMessage.refused(error).write(into: &writer)
        do throws(ZeroMQError) {
            guard try sockets.peers.plugin.send(routingID, more: true) else { return }
            _ = try sockets.peers.plugin.send(writer.bytes)
        } catch {
            log.log(.warning, "a refusal could not be sent", [.init("error", .string("\(error)"))])
        }
    }

    private func rebind() throws(ZeroMQError) {
        subscriptions.clear()
        try sockets.rebindPeers(access)
    }

    // MARK: The disk

    private func persist(_ job: DiskJob, _ ticket: Ticket) {
        switch job {
        case .record(let record): journal.submit(.history(HistoryDraft(record)), ticket: ticket.raw)
        case .entry(let entry): journal.submit(.entry(entry), ticket: ticket.raw)
        case .purge: journal.purge(ticket: ticket.raw)
        case .configuration(let object): journal.replaceConfiguration(with: object, ticket: ticket.raw)
        case .deadLetters(let collector, let rejects): bury(rejects, of: collector, ticket)
        case .resumeBlocks: journal.submit(.resume, ticket: ticket.raw)
        }
    }

    /// Blanks delivered events that are older than they may be.
    func erase() {
        let before = now.wallMs - configuration.eraseAfterMs
        journal.submit(
            .erase(through: engine.doneThrough, arrivedBeforeMs: before), ticket: journal.lastTicket)
    }

    /// Rejected events are copied out of the journal before the ack lets it forget them.
    private func bury(_ rejects: [Reject], of collector: String, _ ticket: Ticket) {
        var letters: [DeadLetter] = []
        do {
            letters = try grants.letters(rejects, of: collector, wallMs: now.wallMs)
        } catch {
            fail("a rejected event could not be read", "\(error)")
        }
        journal.bury(letters, ticket: ticket.raw)
    }

    private func requeue(_ seqs: [UInt64], _ requester: Requester, id: String?) {
        let maxBytes = configuration.wireLimits.maxMessageBytes
        journal.beginRequeue(seqs.map { JournalSeq($0) }, maxBytes: maxBytes, requester, id: id)
    }

    func take(_ completion: JournalCompletion, now: Now) {
        switch completion {
        case .done(let done):
            if let commit = done.commit { engine.noteCommit(CommitCost(commit)) }
            engine.persisted(through: Ticket(done.ticket), now: now, into: &effects)
        case .committed(let commit): engine.noteCommit(CommitCost(commit))
        case .full(let ticket, _): engine.diskFull(Ticket(ticket), now: now, into: &effects)
        case .erased(let more): if more { erase() }
        case .failed(let error):
            if case .syncFailed = error { engine.noteSyncFailure() }
            // Final: nothing more is answered or released. Recovery decides what was written.
            failWaiting()
            fail("the journal failed, and the host stops", "\(error)")
        }
    }

    /// Whoever waits for the disk hears that the outcome is unknown.
    private func failWaiting() {
        let error = WireError(
            .internalError,
            "the disk failed: whether it was written is unknown; send the same batch or key again",
            retryable: true)
        engine.abandon(error, into: &effects)
        perform()
    }

    private func rescan(_ bytes: [UInt8], into block: LineBlock) throws(WireError) {
        block.reset(capacity: bytes.count)
        block.withMutableCapacity { $0.copyBytes(from: bytes) }
        block.byteCount = bytes.count
        try scanner.rescan(block)
    }

    func fail(_ message: String, _ error: String) {
        log.log(.error, message, [.init("error", .string(error))])
        exit = .failed("\(message): \(error)")
    }

    func takeRequeue(_ result: RequeueResult, now: Now) {
        let requester = result.requester
        switch result.outcome {
        case .refused(let error):
            engine.refuseRequeued(requester, id: result.id, error, into: &effects)
        case .lines(let lines, let batch):
            let block = blocks.spare()
            let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
            do throws(WireError) {
                try rescan(bytes, into: block)
            } catch {
                blocks.giveBack(block)
                journal.abandonRequeue(batch)
                return engine.refuseRequeued(requester, id: result.id, error, into: &effects)
            }
            let admission = engine.admitRequeued(
                block.summary, batch, from: requester, id: result.id, now: now, into: &effects)
            commit(block, admission)
        }
    }
}

extension CommitCost {
    init(_ facts: CommitFacts) {
        self.init(
            durationUs: UInt64(max(0, facts.nanoseconds)) / 1000, byteCount: UInt64(facts.byteCount),
            eventCount: facts.eventCount)
    }
}
