/// Which topics somebody listens to.
struct Subscriptions {
    private static let events = Array("event.".utf8)
    private static let state = Array("state".utf8)

    /// Prefixes that match some event.
    private var eventPrefixes: Set<[UInt8]> = []
    /// Where peers have names: how many connections at most have asked for a prefix, whether it was granted or not.
    private var asked: [[UInt8]: Int] = [:]

    /// Beyond this many different prefixes every event is published, whoever wants it: a peer can't grow the sets.
    private static let prefixLimit = 10_000
    private var isOverflown = false

    var wantsEvents: Bool { !eventPrefixes.isEmpty || isOverflown }

    /// - Returns: whether `state` matches the prefix, so that a late joiner waits for a snapshot.
    mutating func add(_ prefix: [UInt8]) -> Bool {
        if Self.matchesEvents(prefix) {
            if eventPrefixes.count < Self.prefixLimit {
                eventPrefixes.insert(prefix)
            } else {
                isOverflown = true
            }
        }
        return Self.state.starts(with: prefix)
    }

    private static func matchesEvents(_ prefix: [UInt8]) -> Bool {
        events.starts(with: prefix) || prefix.starts(with: events)
    }

    /// Nobody has it any more: where peers have no names, XPUB tells of the last unsubscription only.
    mutating func remove(_ prefix: [UInt8]) { eventPrefixes.remove(prefix) }

    // MARK: Where peers have names

    /// A connection asks for it; granted or not, its end will be told.
    mutating func ask(_ prefix: [UInt8]) {
        guard Self.matchesEvents(prefix) else { return }
        if asked[prefix] != nil || asked.count < Self.prefixLimit {
            asked[prefix, default: 0] += 1
        } else {
            isOverflown = true
        }
    }

    /// A connection that asked for it has ended. What a peer says it gives up is not counted: it may never have had it,
    /// and others must not lose theirs by that.
    mutating func leave(_ prefix: [UInt8]) {
        guard let count = asked[prefix] else { return }
        if count > 1 {
            asked[prefix] = count - 1
        } else {
            asked[prefix] = nil
            eventPrefixes.remove(prefix)
        }
    }

    /// All subscribers are gone.
    mutating func clear() { self = Subscriptions() }
}
