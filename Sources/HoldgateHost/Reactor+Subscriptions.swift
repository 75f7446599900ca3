import Access
import Engine
import Wire
import ZeroMQ

// What comes in on `stream`: who wants to hear what.
extension Reactor {
    /// What waits is read to its end where peers have names. More than this in a turn is no subscriber's.
    private static let grantsPerTurn = 65_536
    private static let grantBytesPerTurn = 16 << 20

    func readSubscriptions() throws(ZeroMQError) {
        guard sockets.isReadable(.stream) else { return }
        if access.asks { return try readGrants() }
        for _ in 0..<Self.subscriptionsPerTurn {
            guard try message.receive(from: sockets.peers.stream) else { return }
            try watchMessage()
            guard let (isAdded, prefix) = subscription else { continue }
            if !isAdded {
                subscriptions.remove(prefix)
            } else if subscriptions.add(prefix) {
                engine.subscribedToState(now: now)
            }
        }
        isBusy = true
    }

    /// What its sender costs.
    private func watchMessage() throws(ZeroMQError) {
        let change = subscription
        // libzmq unsubscribes for those that have left, which is no message of theirs.
        if message.connection != nil || change?.isAdded != false {
            try sockets.peers.streamWatch.read(message)
        }
        guard let (isAdded, prefix) = change else { return }
        if isAdded {
            sockets.peers.streamWatch.subscribe(prefix, message.connection)
        } else {
            sockets.peers.streamWatch.unsubscribe(prefix, message.connection)
        }
    }

    /// The message as a change of a subscription; nil: it is something else.
    private var subscription: (isAdded: Bool, prefix: [UInt8])? {
        guard message.count == 1, !message.isTruncated else { return nil }
        let change = message.bytes(0)
        guard let first = change.first, first <= 1 else { return nil }
        return (first == 1, Array(change.dropFirst()))
    }

    /// Grants or denies each subscription.
    ///
    /// libzmq 4.3 keeps the senders of what waits beside the messages, and a grant goes to the sender that it took off
    /// that list last. Two things spoil it. A message that is no subscription takes off a sender all the same, so that
    /// grants go to those who sent something later. And a sender that has gone meanwhile is still on it: its place in
    /// memory is somebody else's by then, or nobody's. No subscriber sends the one; the other shows in a subscription
    /// and its end among what waits. Either cuts everybody off before anything is published that a wrong grant lets out,
    /// which is why all that waits is read at once.
    private func readGrants() throws(ZeroMQError) {
        var granted: Set<[UInt8]> = []
        var counts: [String: Int] = [:]
        var bytes = 0
        for _ in 0..<Self.grantsPerTurn where bytes < Self.grantBytesPerTurn {
            guard try message.receive(from: sockets.peers.stream) else { return }
            bytes += message.byteCount
            try watchMessage()
            let sender = message.count == 0 ? nil : message.userID(0)
            if let sender { counts[sender, default: 0] += 1 }
            guard let (isAdded, prefix) = subscription else {
                return try shutOut(sender, "a message on stream was no subscription")
            }
            if isAdded {
                subscriptions.ask(prefix)
                guard try grant(prefix, to: access.caller(sender)) else { continue }
                granted.insert(prefix)
                if subscriptions.add(prefix) { engine.subscribedToState(now: now) }
            } else if sender != nil {
                try sockets.peers.stream.revoke(prefix)
            } else {
                // From libzmq itself: a connection has ended.
                subscriptions.leave(prefix)
                guard !granted.contains(prefix) else {
                    log.log(.info, "a subscriber left as it came, and everybody subscribes anew", [])
                    return try cutOffPeers("a subscriber left as it came")
                }
            }
        }
        let most = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }
        try shutOut(most?.key, "too many subscriptions came at once")
    }

    /// False: its sender may not hear that.
    private func grant(_ prefix: [UInt8], to caller: Caller) throws(ZeroMQError) -> Bool {
        let topic = String(decoding: prefix, as: UTF8.self)
        guard caller.permissions.reaches(.observe, topic) else {
            engine.noteForbidden()
            log.log(
                .warning, "a subscription was not granted",
                [.init("name", .string(caller.name ?? "")), .init("topic", .string(topic))])
            return false
        }
        try sockets.peers.stream.grant(prefix)
        return true
    }

    /// Cuts everybody off, and lets this name to `stream` no more until the keys are read again.
    private func shutOut(_ name: String?, _ reason: String) throws(ZeroMQError) {
        if let name { access.shutOutOfStream(name) }
        log.log(
            .warning, "a peer is shut out of stream",
            [.init("name", .string(name ?? "")), .init("reason", .string(reason))])
        try cutOffPeers(reason)
    }
}
