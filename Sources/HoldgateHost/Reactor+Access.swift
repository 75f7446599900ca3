import Access
import Engine
import Wire
import ZeroMQ

// Who is let in, what they may do, and what happens when that changes.
extension Reactor {
    /// Handshakes that are decided a turn, at each of the two doors.
    private static let admissionsPerTurn = 64
    /// For replies that were given before everybody is cut off.
    private static let cutOffLingerMs = 200

    func answerDoors() throws(ZeroMQError) {
        if sockets.isReadable(.callersAtDoor) { try answer(sockets.callers.authenticator) }
        if sockets.isReadable(.peersAtDoor) { try answer(sockets.peers.authenticator) }
    }

    private func answer(_ door: borrowing Authenticator?) throws(ZeroMQError) {
        switch door {
        case .some(let door):
            let more = try door.answer(limit: Self.admissionsPerTurn) { peer in
                let name = access.admit(peer)
                if name == nil { noteRefused(peer) }
                return name
            }
            if more { isBusy = true }
        case .none: break
        }
    }

    private func noteRefused(_ peer: Peer) {
        engine.noteCut(1)
        let who =
            switch peer.credentials {
            case .curve(let key): "key \(key)"
            case .none(let user?): "uid \(user.uid)"
            case .none(nil): "no key"
            case .other(let mechanism): mechanism
            }
        log.log(
            .warning, "a peer was not let in",
            [
                .init("endpoint", .string(peer.domain)), .init("address", .string(peer.address)),
                .init("credentials", .string(who)),
            ])
    }

    /// Who sent the message that was read last.
    ///
    /// - Parameter frame: one that libzmq left the name on: not a ROUTER's first.
    func caller(ofFrame frame: Int) -> Caller {
        access.asks ? access.caller(message.userID(frame)) : .anybody
    }

    // MARK: Reload

    /// SIGHUP: nobody waits for an answer.
    func reload() {
        supervisor?.order(.reload)
        _ = reloadKeys()
    }

    /// As SIGHUP does; answers with what is wrong with the file of keys. What is wrong with a plugin is in the log.
    func reload(_ requester: Requester, _ reply: ControlReply) {
        supervisor?.order(.reload)
        var reply = reply
        reply.error = reloadKeys()
        reply.members = [.init("keys", access.keys.map { .int(Int64($0.authorized.entries.count)) } ?? .null)]
        effects.append(.reply(requester, reply))
    }

    private func reloadKeys() -> WireError? {
        do {
            // Everybody has to come in anew; not before the answer is given.
            if try access.reload() { mustCutOff = true }
            if let keys = access.keys {
                log.log(
                    .info, "authorised keys were read",
                    [.init("keys", .int(Int64(keys.authorized.entries.count)))])
            }
            return nil
        } catch {
            let message = "the authorised keys in force stay: \(error)"
            log.log(.error, message, [])
            return WireError(.invalidArgument, message)
        }
    }

    /// Cuts every connection, for libzmq can't cut a single one: before anything more is read from those that are there.
    /// What was acknowledged stays so; who is still let in comes back by itself, and sends again what was not answered.
    func cutOff() throws(ZeroMQError) {
        // A host that stops reads nothing more, and would answer nobody over a new socket.
        guard mustCutOff, stopping == nil else { return }
        mustCutOff = false
        envelopes.forget()
        try cutOffPeers("keys changed")
        try sockets.rebindCallers(access, lingerMs: Self.cutOffLingerMs)
    }

    /// Cuts those of `plugin` and `stream`.
    func cutOffPeers(_ reason: String) throws(ZeroMQError) {
        subscriptions.clear()
        engine.cutOff(reason, now: now, into: &effects)
        try sockets.rebindPeers(access)
        perform()
    }
}
