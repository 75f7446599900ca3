import Ledger
import Lifecycle
import Wire

// Who is handed what, and what comes back.
extension Engine {
    /// What the next collector in turn may be handed; nil when there is nothing to hand over now.
    public mutating func nextGrant() -> Grant? {
        guard let opening = gate.opening, let limit = gate.limit(committed: committed), !attachments.isEmpty
        else {
            return nil
        }
        let peers = attachments.keys.sorted()
        for step in 0..<peers.count {
            let index = (deliveryTurn + step) % peers.count
            if let grant = grant(to: peers[index], limit: limit, opening: opening) {
                deliveryTurn = (index + 1) % peers.count
                return grant
            }
        }
        return nil
    }

    private mutating func grant(to peer: PeerID, limit: JournalSeq, opening: Opening) -> Grant? {
        guard let attachment = attachments[peer], let window = attachment.window, !window.isBlocked else {
            return nil
        }
        if window.isDurable {
            guard let place = durable[attachment.name], place.beingNoted == nil else { return nil }
        }
        let from = firstUndiscarded(after: window.sentThrough)
        guard from <= limit else { return nil }
        let isFull =
            window.bytesInFlight >= window.limitBytes
            || window.deliveries.count >= configuration.maxWindowMessages
        if isFull {
            if !window.isDurable { skip(peer, through: limit) }
            return nil
        }
        var through = limit
        for range in discards.discarded where range.first > from {
            through = min(through, JournalSeq(range.first.raw - 1))
            break
        }
        let redelivered = from <= window.redeliveredThrough
        if redelivered { through = min(through, window.redeliveredThrough) }
        return Grant(
            peer: peer, name: attachment.name, from: from, through: through,
            budgetBytes: min(configuration.deliverBytes, window.limitBytes - window.bytesInFlight),
            mayExceed: window.deliveries.isEmpty, takesAll: window.takesAll, types: window.types,
            launch: shown.launch, opening: opening, redelivered: redelivered)
    }

    /// A passing collector whose window is full misses what is released meanwhile.
    private mutating func skip(_ peer: PeerID, through limit: JournalSeq) {
        guard let window = attachments[peer]?.window else { return }
        let count = remaining(after: window.sentThrough, through: limit)
        attachments[peer]?.window?.sentThrough = limit
        attachments[peer]?.window?.skipped += count
        statistics.eventsSkipped += count
    }

    /// A grant was carried out: the journal was read up to `through`, and `ranges` were sent.
    public mutating func handed(
        _ grant: Grant, through: JournalSeq, ranges: [SeqRange], bytes: Int, now: Now,
        into effects: inout [Effect]
    ) {
        guard var window = attachments[grant.peer]?.window else { return }
        window.sentThrough = through
        if !ranges.isEmpty {
            window.deliveries.append(Delivery(through: through, ranges: ranges, bytes: bytes))
            window.bytesInFlight += bytes
            let count = ranges.reduce(0) { $0 + $1.count }
            statistics.deliveries += 1
            statistics.eventsDelivered += count
            if grant.redelivered { statistics.eventsRedelivered += count }
        }
        attachments[grant.peer]?.window = window
        guard window.isDurable, var place = durable[grant.name] else { return }
        place.handedThrough = max(place.handedThrough, through)
        durable[grant.name] = place
        // What did not match is done once all before it is.
        if window.deliveries.isEmpty {
            advance(grant.name, to: through, now: now, into: &effects)
        } else if window.deliveries.count == 1, let first = ranges.first {
            advance(grant.name, to: JournalSeq(first.first.raw - 1), now: now, into: &effects)
        }
    }

    /// A grant was not carried out: the next block exceeds the window's room, or the socket would not take it.
    ///
    /// - Parameter untilAck: true for the former; otherwise it is tried again in the loop's next turn.
    public mutating func notHanded(_ grant: Grant, untilAck: Bool) {
        if untilAck, attachments[grant.peer]?.window?.isDurable == false {
            return skip(grant.peer, through: grant.through)
        }
        attachments[grant.peer]?.window?.isBlocked = true
        if !untilAck { blockedBySocket.insert(grant.peer) }
    }

    /// Events that the journal no longer has: a passing collector goes on behind them.
    public mutating func missing(_ grant: Grant, through: JournalSeq) {
        precondition(attachments[grant.peer]?.window?.isDurable != true, "kept events are gone")
        skip(grant.peer, through: through)
    }

    /// Some collector's queue was full.
    public var isBlockedBySocket: Bool { !blockedBySocket.isEmpty }

    /// The sockets may take more again.
    public mutating func retryBlocked() {
        for peer in blockedBySocket { attachments[peer]?.window?.isBlocked = false }
        blockedBySocket.removeAll(keepingCapacity: true)
    }

    mutating func acknowledge(
        _ peer: PeerID, through: JournalSeq, _ rejects: [Reject], now: Now, into effects: inout [Effect]
    ) {
        guard let attachment = attachments[peer] else { return }
        guard lifecycle.state != .killed, gate != .dead else {
            let error = WireError(.notOperating, NotOperatingError(state: .killed).description)
            return effects.append(.send(peer, .error(error)))
        }
        guard var window = attachment.window else {
            let error = WireError(.invalidMessage, "an ack from \(attachment.name), which collects nothing")
            effects.append(.send(peer, .error(error)))
            return
        }
        let rejects = Self.inOrder(rejects)
        if let stray = window.firstStray(of: rejects) ?? rejects.last(where: { $0.seq > through }) {
            let error = WireError(
                .invalidArgument,
                "reject of \(stray.seq), which is not in flight or lies past the ack; nothing was taken")
            effects.append(.send(peer, .error(error)))
            return
        }
        let before = window.sentThrough
        guard let done = window.acknowledge(through: through) else {
            let error = WireError(
                .invalidArgument,
                "ack through \(through), but only \(before) was delivered; nothing was taken")
            effects.append(.send(peer, .error(error)))
            return
        }
        statistics.acks += 1
        window.isBlocked = false
        blockedBySocket.remove(peer)
        attachments[peer]?.window = window
        if !rejects.isEmpty {
            statistics.eventsRejected += UInt64(rejects.count)
            bury(rejects, of: attachment.name, into: &effects)
        }
        if window.isDurable { advance(attachment.name, to: done, now: now, into: &effects) }
    }

    /// By their seqs, each once: the first reason counts.
    private static func inOrder(_ rejects: [Reject]) -> [Reject] {
        var kept: [Reject] = []
        for (_, reject) in rejects.enumerated().sorted(by: { ($0.1.seq, $0.0) < ($1.1.seq, $1.0) })
        where kept.last?.seq != reject.seq { kept.append(reject) }
        return kept
    }

    private mutating func bury(_ rejects: [Reject], of name: String, into effects: inout [Effect]) {
        let ticket = persist(.deadLetters(collector: name, rejects), into: &effects)
        durable[name]?.burial = ticket
        awaiting.append(ticket, .burial(collector: name))
    }

    /// The rejected events are among the dead letters, and may leave the journal.
    mutating func buried(_ name: String, _ ticket: Ticket, now: Now, into effects: inout [Effect]) {
        guard let place = durable[name], place.burial == ticket else { return }
        durable[name]?.burial = nil
        advance(name, to: place.cursorAfterBurial, now: now, into: &effects)
    }

    /// There was no room for the rejected events: their ack did not happen, and they are delivered again.
    mutating func unburied(_ name: String, _ error: WireError, into effects: inout [Effect]) {
        guard durable[name]?.burial != nil else { return }
        durable[name]?.burial = nil
        durable[name]?.cursorAfterBurial = .zero
        guard let peer = holder(of: name) else { return }
        effects.append(.send(peer, .refused(error)))
        detach(peer, change: .detached, reason: "no room for its rejects", into: &effects)
    }

    private mutating func advance(_ name: String, to seq: JournalSeq, now: Now, into effects: inout [Effect])
    {
        guard var place = durable[name], seq > place.cursor else { return }
        if place.burial != nil {
            durable[name]?.cursorAfterBurial = max(place.cursorAfterBurial, seq)
            return
        }
        place.cursor = seq
        durable[name] = place
        hasUnnotedCursors = true
        forgetDone()
        checkDrain(now: now, into: &effects)
    }

    /// Nobody reads again what lies at or before `doneThrough`, nor what was discarded right behind it.
    mutating func forgetDone() {
        let done = doneThrough
        meter.drop(through: min(lastDone(from: done), lastDone(from: published)))
        guard let first = discards.discarded.first, first.last <= done else { return }
        // A passing collector may still be behind.
        let behind = attachments.values.compactMap(\.window?.sentThrough).min() ?? done
        discards.dropDiscards(through: min(done, behind))
    }

    /// Notes in the journal how far collectors are. That rides along with the next commit.
    mutating func flushCursors(into effects: inout [Effect]) {
        guard hasUnnotedCursors else { return }
        hasUnnotedCursors = false
        for (name, place) in durable.sorted(by: { $0.key < $1.key }) where place.notedCursor < place.cursor {
            durable[name]?.notedCursor = place.cursor
            note(.done(collector: name, through: place.cursor), into: &effects)
        }
    }

    // MARK: Publication of what was gated

    /// What is released and not yet on `stream`; nil when there is nothing. Report with `published(through:)`.
    public var nextPublication: (range: SeqRange, opening: Opening)? {
        guard let opening = gate.opening, let limit = gate.limit(committed: committed) else { return nil }
        let from = firstUndiscarded(after: published)
        var through = limit
        for range in discards.discarded where range.first > from {
            through = min(through, JournalSeq(range.first.raw - 1))
            break
        }
        return SeqRange(first: from, through: through).map { ($0, opening) }
    }

    /// Events up to here were published, or nobody was there to hear them.
    public mutating func published(through seq: JournalSeq) {
        published = max(published, seq)
        forgetDone()
    }
}
