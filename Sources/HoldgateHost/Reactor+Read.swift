import Access
import Engine
import Journal
import Ledger
import Lifecycle
import Platform
import Wire
import ZeroMQ

// Frames in, values to the engine. Whatever a peer sends ends in a reply or in nothing, never in a trap.
extension Reactor {
    /// Looks for itself, whatever the last wait found: it is called twice a turn.
    func readControl() throws(ZeroMQError) {
        var bytes = 0
        for _ in 0..<Self.controlMessagesPerTurn where bytes < Self.bytesPerTurn {
            guard try message.receive(from: sockets.callers.control) else { return }
            try sockets.callers.controlWatch.read(message)
            bytes += message.byteCount
            readRequest()
            perform()
            try cutOff()
        }
        isBusy = true
    }

    private func readRequest() {
        let payload = payloadStart
        let requester = envelopes.keep(message, payload: payload, .control)
        guard !message.isTruncated, message.count == payload + 1 else {
            let error: WireError =
                message.isTruncated
                ? WireError(.tooLarge, "the request is larger than a message may be")
                : WireError(.invalidMessage, "a request is one JSON frame, not \(message.count - payload)")
            return refuse(requester, id: nil, error)
        }
        if let error = ownRoutingID { return refuse(requester, id: nil, error) }
        let limits = configuration.wireLimits
        let decoded = message.withBytes(payload) { ControlRequest.decode($0, with: parser, limits: limits) }
        switch decoded.result {
        case .success(let request):
            if request.command == .stats { engine.note(gauges) }
            engine.handle(
                request, from: requester, by: caller(ofFrame: payload), now: now, into: &effects)
        case .failure(let error): refuse(requester, id: decoded.id, error)
        }
    }

    private func refuse(_ requester: Requester, id: String?, _ error: WireError) {
        engine.noteInvalid()
        effects.append(.reply(requester, ControlReply(id: id, status: engine.status, error: error)))
    }

    /// Among peers with names: under an id that its sender chose, a reply might reach whoever takes that id next.
    private var ownRoutingID: WireError? {
        guard access.asks, !message.hasGivenRoutingID else { return nil }
        return WireError(
            .invalidArgument,
            "with keys a client must not set a routing id: leave it to the library to choose one")
    }

    /// The payload's first frame, counted from the routing id.
    private var payloadStart: Int {
        1 + Envelope.payloadStart(frameCount: message.count - 1) { message.length($0 + 1) }
    }

    // MARK: Ingest

    func readIngest() throws(ZeroMQError) {
        guard sockets.isReadable(.ingest) else { return }
        var bytes = 0
        while bytes < Self.bytesPerTurn {
            guard try message.receive(from: sockets.callers.ingest) else { return }
            try sockets.callers.ingestWatch.read(message)
            bytes += message.byteCount + 256
            readBlock()
            perform()
        }
        isBusy = true
    }

    private func readBlock() {
        let payload = payloadStart
        let requester = envelopes.keep(message, payload: payload, .ingest)
        var id: String?
        do throws(WireError) {
            if message.isTruncated { throw tooLarge }
            if let error = ownRoutingID { throw error }
            let limits = configuration.wireLimits
            let split = try IngestMessage.split(
                from: payload - 1, frameCount: message.count - 1, limits: limits
            ) { message.length($0 + 1) }
            var header = IngestHeader()
            if let index = split.header {
                let decoded = message.withBytes(index + 1) { IngestHeader.decode($0, with: parser) }
                id = decoded.id
                header = try decoded.result.get()
                if header.producer == DeadLetters.producer {
                    throw WireError(
                        .invalidArgument, "the producer's name \(DeadLetters.producer) is the host's own")
                }
            }
            let block = blocks.spare()
            do throws(WireError) {
                try scan(split.events, into: block, limits: limits)
                try checkProducer(header, block, caller(ofFrame: payload))
            } catch {
                blocks.giveBack(block)
                throw error
            }
            message.clear()
            submit(block, header, requester)
        } catch {
            message.clear()
            engine.noteInvalid()
            let outcome = IngestReply.Outcome.refused(error, lastBatch: nil)
            effects.append(
                .ingestReply(requester, IngestReply(id: id, outcome: outcome, status: engine.status)))
        }
    }

    private func checkProducer(
        _ header: IngestHeader, _ block: LineBlock, _ caller: Caller
    ) throws(WireError) {
        guard caller.name != nil else { return }
        let error = engine.forbidsProducing(header.producer, caller) { permissions in
            block.lines.indices.lazy.map { ($0, block.type(of: $0)) }
                .first { !permissions.reaches(.produce, $0.1) }
        }
        if let error { throw error }
    }

    private var tooLarge: WireError {
        let limits = configuration.wireLimits
        return WireError(
            .tooLarge,
            "the message has more than \(limits.maxMessageBytes) bytes or \(limits.maxFrames) frames")
    }

    private func scan(_ frames: Range<Int>, into block: LineBlock, limits: WireLimits) throws(WireError) {
        var bytes = 0
        for index in frames { bytes += message.length(index + 1) }
        scanner.begin(block, byteCount: bytes, frameCount: frames.count)
        for index in frames {
            try message.withBytes(index + 1) { (bytes) throws(WireError) in
                try scanner.append(bytes, to: block, limits: limits)
            }
        }
        try scanner.finish(block)
    }

    private func submit(_ block: LineBlock, _ header: IngestHeader, _ requester: Requester) {
        let admission = engine.admit(header, block.summary, from: requester, now: now, into: &effects)
        commit(block, admission)
    }

    func commit(_ block: LineBlock, _ admission: Admission) {
        switch admission {
        case .commit(let ticket, let stamp):
            // Cursors that ride along have earlier tickets.
            perform()
            blocks.append(ticket, block)
            journal.submit(.block(stamp, block), ticket: ticket.raw)
        case .settled:
            blocks.giveBack(block)
        }
    }

    // MARK: Plugin

    func readPlugin() throws(ZeroMQError) {
        if sockets.isReadable(.plugin) { _ = try readPluginMessages() }
    }

    /// False: there may be more.
    private func readPluginMessages() throws(ZeroMQError) -> Bool {
        var bytes = 0
        for _ in 0..<Self.pluginMessagesPerTurn where bytes < Self.bytesPerTurn {
            guard try message.receive(from: sockets.peers.plugin) else { return true }
            try sockets.peers.pluginWatch.read(message)
            bytes += message.byteCount
            readPluginMessage()
            perform()
        }
        isBusy = true
        return false
    }

    /// After a connection broke, a heartbeat to each plugin: the socket says which one is gone. First what they sent
    /// before is read, so that an answer counts and its sender's end comes after it.
    func probe() throws(ZeroMQError) {
        let nowMs = Clock.monotonicMs()
        if sockets.isReadable(.pluginWatch), try sockets.peers.pluginWatch.take() {
            probes.begin(nowMs: nowMs)
        }
        guard probes.isDue(nowMs: nowMs), try readPluginMessages() else { return }
        probes.take(nowMs: nowMs)
        for peer in engine.peers { try send(.heartbeat, to: peer) }
        perform()
    }

    private func readPluginMessage() {
        let name = message.bytes(0)
        guard let peer = PeerID(routingID: name) else {
            let error = WireError(
                .invalidArgument,
                "a plugin's socket must not set a routing id: a reconnect under it would lose messages")
            sendRefusal(error, to: name)
            return
        }
        // An empty frame ahead, as REQ-like clients send, comes back likewise.
        let delimited = message.count > 1 && message.length(1) == 0
        sockets.remember(peer, isDelimited: delimited)
        // Whoever is not attached has its answer by now, and may never be heard of again.
        defer {
            perform()
            if !engine.isAttached(peer) { sockets.forget(peer) }
        }
        let index = delimited ? 2 : 1
        do throws(WireError) {
            if message.isTruncated { throw tooLarge }
            guard message.count > index else {
                throw WireError(.invalidMessage, "a plugin's message begins with a JSON frame")
            }
            let (size, limit) = (message.length(index), configuration.wireLimits.maxFrameBytes)
            guard size <= limit else {
                throw WireError(.tooLarge, "the frame has \(size) bytes; at most \(limit) are taken")
            }
            let value = try message.withBytes(index) { (bytes) throws(WireError) in
                try PluginMessage.parse(bytes, with: parser)
            }
            engine.receive(value, from: peer, by: caller(ofFrame: index), now: now, into: &effects)
        } catch {
            engine.receiveInvalid(error, from: peer, into: &effects)
        }
    }
}
