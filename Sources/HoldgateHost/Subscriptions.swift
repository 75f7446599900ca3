/// Which topics somebody listens to.
struct Subscriptions {
    private static let events = Array("event.".utf8)
    private static let state = Array("state".utf8)

    /// Prefixes that match some event. XPUB tells of the last unsubscription only, so a set is enough.
    private var eventPrefixes: Set<[UInt8]> = []

    /// Beyond this many different prefixes every event is published, whoever wants it: a peer can't grow the set.
    private static let prefixLimit = 10_000
    private var isOverflown = false

    var wantsEvents: Bool { !eventPrefixes.isEmpty || isOverflown }

    /// - Returns: whether `state` matches the prefix, so that a late joiner waits for a snapshot.
    mutating func add(_ prefix: [UInt8]) -> Bool {
        if Self.events.starts(with: prefix) || prefix.starts(with: Self.events) {
            if eventPrefixes.count < Self.prefixLimit {
                eventPrefixes.insert(prefix)
            } else {
                isOverflown = true
            }
        }
        return Self.state.starts(with: prefix)
    }

    mutating func remove(_ prefix: [UInt8]) { eventPrefixes.remove(prefix) }

    /// All subscribers are gone.
    mutating func clear() {
        eventPrefixes = []
        isOverflown = false
    }
}
