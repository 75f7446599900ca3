import Access
import Ledger
import Lifecycle
import Wire

// Who is attached, and under which name.
extension Engine {
    /// A message from a connection on `plugin`.
    ///
    /// - Parameter caller: looked at in a hello; whoever is attached has been let in.
    public mutating func receive(
        _ message: PluginMessage, from peer: PeerID, by caller: Caller = .anybody, now: Now,
        into effects: inout [Effect]
    ) {
        if case .hello(let hello) = message { return greet(hello, peer, caller, now: now, into: &effects) }
        guard var attachment = attachments[peer] else {
            if case .result = message { statistics.resultsDropped += 1 }
            return notKnown(peer, into: &effects)
        }
        attachment.lastHeardMs = now.monotonicMs
        let wasSilent = attachment.isSilent
        attachment.isSilent = false
        attachments[peer] = attachment
        if wasSilent { report(attachment.name, .attached, "heard again", into: &effects) }
        switch message {
        case .hello: preconditionFailure("taken above")
        case .ack(let through, let rejects):
            acknowledge(peer, through: through, rejects, now: now, into: &effects)
        case .heartbeat: break
        case .bye: detach(peer, change: .detached, reason: "bye", into: &effects)
        case .result(let number, let result): take(result, for: number, from: peer, now: now, into: &effects)
        }
    }

    /// Something came that is no message of the protocol.
    public mutating func receiveInvalid(_ error: WireError, from peer: PeerID, into effects: inout [Effect]) {
        statistics.invalidMessages += 1
        if attachments[peer] == nil {
            effects.append(.send(peer, .refused(error)))
        } else {
            effects.append(.send(peer, .error(error)))
        }
    }

    /// The socket has lost this peer.
    public mutating func lost(_ peer: PeerID, now: Now, into effects: inout [Effect]) {
        strangers.remove(peer)
        detach(peer, change: .detached, reason: "connection lost", into: &effects)
    }

    private mutating func notKnown(_ peer: PeerID, into effects: inout [Effect]) {
        guard strangers.count < Self.strangerLimit, strangers.insert(peer).inserted else { return }
        effects.append(.send(peer, .helloWanted))
    }

    /// Peers that are told `hello?` between two heartbeats; further ones are told after the next.
    static let strangerLimit = 4096

    private mutating func greet(
        _ hello: PluginMessage.Hello, _ peer: PeerID, _ caller: Caller, now: Now,
        into effects: inout [Effect]
    ) {
        if let refusal = forbids(hello, caller) ?? refusal(of: hello, peer) {
            effects.append(.send(peer, .refused(refusal)))
            if attachments[peer] != nil {
                detach(peer, change: .detached, reason: "refused hello", into: &effects)
            }
            return
        }
        if let old = attachments.values.first(where: { $0.name == hello.name && $0.peer != peer }) {
            let error = WireError(.superseded, "a newer process has attached as \(hello.name)")
            effects.append(.send(old.peer, .refused(error)))
            detach(old.peer, change: .detached, reason: "superseded", into: &effects)
        }
        if let before = attachments[peer], before.name != hello.name {
            detach(peer, change: .detached, reason: "renamed", into: &effects)
        }
        let isNew = attachments[peer] == nil
        noteSent(peer)
        attachments[peer] = Attachment(
            peer: peer, name: hello.name, version: hello.version, services: Set(hello.services),
            sinceWallMs: now.wallMs,
            lastHeardMs: now.monotonicMs, window: window(for: hello))
        rememberServices(Set(hello.services))
        // A process that says hello again has forgotten what it was asked.
        if !isNew { abandonRequests(of: peer, into: &effects) }
        if isNew { report(hello.name, .attached, nil, into: &effects) }
        if let collect = hello.collect, collect.durable, lifecycle.state != .killed,
            durable[hello.name] == nil
        {
            let cursor = placeOfNewcomer
            durable[hello.name] = DurableCollector(cursor: cursor, notedCursor: cursor, handedThrough: cursor)
            attachments[peer]?.window?.sentThrough = cursor
            let ticket = persist(.entry(.known(collector: hello.name, cursor: cursor)), into: &effects)
            durable[hello.name]?.beingNoted = ticket
            awaiting.append(ticket, .known(collector: hello.name))
        } else if durable[hello.name]?.beingNoted == nil {
            welcome(peer, into: &effects)
        }
    }

    private func refusal(of hello: PluginMessage.Hello, _ peer: PeerID) -> WireError? {
        if isStopping { return WireError(.shuttingDown, "the host is stopping", retryable: true) }
        if attachments[peer] == nil, attachments.count >= configuration.maxPlugins,
            !attachments.values.contains(where: { $0.name == hello.name })
        {
            return WireError(
                .overloaded, "\(configuration.maxPlugins) plugins are attached, and no more are allowed",
                retryable: true)
        }
        if let collect = hello.collect, !collect.durable, durable[hello.name] != nil {
            return WireError(
                .invalidArgument,
                "\(hello.name) is known as a durable collector: say durable:true, or `forget` it first")
        }
        if hello.collect == nil || hello.collect?.durable == true, durable.count >= Self.durableLimit,
            hello.collect != nil, durable[hello.name] == nil
        {
            return WireError(
                .overloaded, "\(Self.durableLimit) durable collectors are known; `forget` some first")
        }
        return nil
    }

    /// Durable collectors that may be known, attached or not: each costs a row in every checkpoint.
    static let durableLimit = 1024

    /// The event before the first that was not released yet.
    private var placeOfNewcomer: JournalSeq {
        lifecycle.closedThrough ?? committed
    }

    private func window(for hello: PluginMessage.Hello) -> Window? {
        guard let collect = hello.collect else { return nil }
        let known = collect.durable ? durable[hello.name] : nil
        let place = known?.cursor ?? placeOfNewcomer
        return Window(
            types: collect.types, limitBytes: max(1, min(collect.windowBytes, configuration.maxWindowBytes)),
            isDurable: collect.durable, sentThrough: place, redeliveredThrough: known?.handedThrough ?? place)
    }

    /// The collector's place is on disk: whoever is attached under its name may hear so.
    mutating func known(_ name: String, _ ticket: Ticket, into effects: inout [Effect]) {
        guard durable[name]?.beingNoted == ticket else { return }
        durable[name]?.beingNoted = nil
        if let peer = holder(of: name) { welcome(peer, into: &effects) }
    }

    /// There was no room for the collector's place: it is not known, and nothing is kept for it.
    mutating func unknown(_ name: String, _ ticket: Ticket, _ error: WireError, into effects: inout [Effect])
    {
        guard durable[name]?.beingNoted == ticket else { return }
        durable[name] = nil
        drain?.names.remove(name)
        guard let peer = holder(of: name) else { return }
        effects.append(.send(peer, .refused(error)))
        detach(peer, change: .detached, reason: "no room for its place", into: &effects)
    }

    /// The connection that has the name.
    func holder(of name: String) -> PeerID? { attachments.values.first { $0.name == name }?.peer }

    func welcome(_ peer: PeerID, into effects: inout [Effect]) {
        guard let attachment = attachments[peer] else { return }
        let cursor = attachment.window.flatMap {
            $0.isDurable ? durable[attachment.name]?.cursor : $0.sentThrough
        }
        effects.append(
            .send(
                peer,
                .welcome(
                    status: status, run: run, cursor: cursor, heartbeatMs: Int(configuration.heartbeatMs))))
    }

    mutating func detach(
        _ peer: PeerID, change: PluginBody.Change?, reason: String?, into effects: inout [Effect]
    ) {
        noteSent(peer)
        guard let attachment = attachments.removeValue(forKey: peer) else { return }
        abandonRequests(of: peer, into: &effects)
        if let change { report(attachment.name, change, reason, into: &effects) }
    }

    /// A window ends: what a durable collector was sent in it and has not acknowledged can't be recalled.
    private mutating func noteSent(_ peer: PeerID) {
        guard let attachment = attachments[peer], let sent = attachment.window?.inFlight, !sent.isEmpty,
            let place = durable[attachment.name]
        else { return }
        let before = place.sentBefore.filter { $0.last > place.cursor }
        durable[attachment.name]?.sentBefore = (before + sent).merged(limit: Self.sentBeforeRanges)
    }

    /// Ranges that are remembered of a durable collector's former connections.
    private static let sentBeforeRanges = 64

    mutating func report(
        _ name: String, _ change: PluginBody.Change, _ reason: String?, into effects: inout [Effect]
    ) {
        publish(.plugin(PluginBody(plugin: name, change: change, reason: reason)), into: &effects)
    }

    /// Once a heartbeat: tell everybody, and look for those who fell silent.
    mutating func beat(now: Now, into effects: inout [Effect]) {
        nextHeartbeatMs = now.monotonicMs + configuration.heartbeatMs
        strangers.removeAll(keepingCapacity: true)
        publish(
            .heartbeat(
                HeartbeatBody(
                    state: shown.state, wallMs: now.wallMs, stateHead: stream.lastStateSeq,
                    eventHead: published.raw)),
            into: &effects)
        for peer in attachments.keys.sorted() {
            effects.append(.send(peer, .heartbeat))
            guard let attachment = attachments[peer], !attachment.isSilent,
                now.monotonicMs - attachment.lastHeardMs > 3 * configuration.heartbeatMs
            else { continue }
            attachments[peer]?.isSilent = true
            abandonRequests(of: peer, into: &effects)
            report(attachment.name, .silent, "nothing heard for three heartbeats", into: &effects)
        }
        noteAgain(into: &effects)
        flushCursors(into: &effects)
    }
}
