import Engine
import HoldgateHost
import Journal
import Lifecycle
import Simulator
import Wire

// What comes out of the host reaches those it is for, or is lost on the way; the judge sees all of it.
extension World {
    func takeOutputs() throws {
        guard let host else { return }
        let outputs = host.outputs
        host.outputs = []
        for output in outputs {
            try judge.callbacks.comesOut(output)
            try take(output)
        }
        try judge.callbacks.endTurn(now)
        if self.host?.hasFailed == true { return try die("the host has failed") }
        if isStopping { try stop() }
    }

    private func take(_ output: Output) throws {
        switch output {
        case .reply(let requester, let reply): try take(requester, reply)
        case .ingestReply(let requester, let reply):
            guard case .producer(let name, let lines)? = clients.removeValue(forKey: requester) else {
                throw Verdict("\(requester) was answered twice")
            }
            note("answers \(name): \(reply.outcome)")
            try judge.told(name, lines, reply)
            if isEnding || !random.chance(8) { producers[name.producer].hear(name, reply) }
        case .state(let body, let seq, let launch):
            note("state \(seq): \(body.state) by \(body.command)")
            try judge.stated(body, seq: seq, launch)
            if body.command == "drained" { try checkDrained() }
        case .streamed(let seq, let line, _): try judge.streamed(seq, line)
        case .delivered(let peer, let delivered): try deliver(delivered, to: peer)
        case .message(let peer, let message):
            hear(message, peer)
            try hearAsProvider(message, peer)
        case .unsent(let peer, let message, let why):
            guard case .request(let number, let service, let arguments, let timeoutMs) = message else {
                return
            }
            note("the request under \(number) for \(service) does not leave for \(peer.raw): \(why)")
            try judge.callbacks.handed(
                .init(number: number, service: service, arguments: arguments, timeoutMs: timeoutMs), to: peer,
                unsent: why, now)
        case .unreachable(let peer): judge.callbacks.foundBroken(peer)
        case .rebound:
            for index in collectors.indices {
                // What a connection already held can't be recalled.
                let held = collectors[index].inbox
                collectors[index].disconnect()
                collectors[index].inbox = held
            }
            for index in providers.indices { disconnectProvider(index) }
            judge.callbacks.rebound()
        case .stopped:
            isStopping = true
            try judge.callbacks.stopped()
        case .full(let record):
            note("no room for \(record.state)")
            if record.previous == .operating { judge.callbacks.metFullDisk() }
        case .failed(let what, let isAnswered):
            note("failed: \(what)")
            if !isTroubled { throw Verdict("the host failed: \(what)") }
            if isAnswered { judge.callbacks.failed() }
        case .turn: try judge.callbacks.endTurn(now)
        }
    }

    private func take(_ requester: Requester, _ reply: ControlReply) throws {
        let index: Int
        let request: ControlRequest
        let readAt: Int
        switch clients.removeValue(forKey: requester) {
        case .person(let person, let asked, let at)?: (index, request, readAt) = (person, asked, at)
        case .asker?:
            note("answers the request \(requester.raw): \(reply.error.map { "\($0)" } ?? "\(reply.members)")")
            lastAnswer = reply
            return try judge.callbacks.answered(requester, reply, now)
        case .producer?, nil: throw Verdict("\(requester) was answered twice")
        }
        note(
            "answers \(request.command): \(reply.status.state) \(reply.status.seq) \(reply.error.map { "\($0)" } ?? "")"
        )
        judge.callbacks.replied(requester, request, reply)
        try judge.replied(request, source: people[index].name, readAt: readAt, reply)
        if people[index].request == request, isEnding || !random.chance(8) { people[index].request = nil }
    }

    private func deliver(_ delivered: Delivered, to peer: PeerID) throws {
        guard let index = collectors.firstIndex(where: { $0.peer == peer }) else { return }
        note(
            "\(collectors[index].name) is handed \(delivered.events.map(\.seq.raw)) under \(delivered.under)"
                + (delivered.redelivered ? " again" : ""))
        guard collectors[index].isWelcome else {
            throw Verdict("\(collectors[index].name) was handed events before its welcome")
        }
        try judge.delivered(delivered, to: collectors[index].name)
        collectors[index].inbox.append(delivered)
    }

    private func hear(_ message: HostMessage, _ peer: PeerID) {
        guard let index = collectors.firstIndex(where: { $0.peer == peer }) else { return }
        switch message {
        case .welcome: collectors[index].isWelcome = true
        case .refused, .goodbye, .helloWanted:
            note("\(collectors[index].name) hears \(message)")
            collectors[index].disconnect()
        case .error(let error): note("\(collectors[index].name) hears \(error)")
        case .deliver, .state, .heartbeat, .request, .app: break
        }
    }

    private func checkDrained() throws {
        guard let through = host?.engine.lifecycle.closedThrough else { return }
        let durable = collectors.filter(\.isDurable)
        try judge.drained(through: through) { event in
            guard let seq = event.seq else { return true }
            return durable.allSatisfy { !$0.wants(event.type) || $0.acked.contains(seq) }
        }
    }
}
