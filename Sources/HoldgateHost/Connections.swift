import Platform

/// Who is connected to one endpoint, and what each connection costs: what it subscribed to, and what it sent that nobody
/// has read. Says whom to cut; cuts nobody itself.
struct Connections {
    struct Limits: Hashable, Sendable {
        /// Connections of the endpoint.
        var total: Int
        /// Those from one address, or of one user on a path.
        var perOrigin: Int
        /// Subscriptions of a connection, each its topic's bytes and `subscriptionBytes`: libzmq keeps them in a tree, with
        /// about thirty times the bytes.
        var topicBytes = 256 << 10
        /// Those of all together: past it, whoever has most goes.
        var allTopicBytes = 8 << 20
        /// What libzmq and the kernel may hold of one connection.
        var unreadBytes: Int
        /// What they may hold of all together: past it, whoever has most goes.
        var allUnreadBytes: Int
    }

    /// Why a connection is cut.
    enum Reason: String, Hashable, Sendable {
        case connections = "too many connections"
        case subscriptions = "too many subscriptions"
        case unread = "too much of it is unfinished or unread"
    }

    static let subscriptionBytes = 16
    /// What a frame takes at most beside its bytes: its head, and what encryption adds.
    static let frameBytes = 64
    /// What a connection may send each time that is not read: answers to pings.
    static let silentBytes: UInt64 = 1024

    private struct Entry {
        let connection: Connection
        /// Counts up; older ones have less.
        let order: UInt64
        var isIn = false
        var topics: Set<[UInt8]> = []
        var topicBytes = 0
        /// Of all that it sent, what was read.
        var readBytes: UInt64 = 0
    }

    let limits: Limits
    private var entries: [Int32: Entry] = [:]
    private var counts: [Connection.Origin: Int] = [:]
    /// Those that nothing was heard of, such as have not finished their handshake.
    private var strangers: [Connection.Origin: Int] = [:]
    private var lastOrder: UInt64 = 0
    private var allTopicBytes = 0
    /// A peer with a ZMTP from before 3.0 was heard, whose messages don't say which connection they came over.
    private var isBlind = false

    init(_ limits: Limits) { self.limits = limits }

    var count: Int { entries.count }

    func knows(_ descriptor: Int32) -> Bool { entries[descriptor] != nil }

    // MARK: Coming and going

    /// Whether `begin` has to cut somebody; `sweep` may find that some are gone.
    func isFull(_ origin: Connection.Origin) -> Bool {
        entries.count >= limits.total || counts[origin, default: 0] >= limits.perOrigin
    }

    /// A new connection. Returns whom to cut for it: the oldest stranger of the same origin, or else the new one, so that
    /// whoever says nothing keeps nobody out.
    mutating func begin(_ connection: Connection) -> Connection? {
        // Not all ends are told of; this is one.
        remove(connection.descriptor)
        var victim: Connection?
        if isFull(connection.origin) {
            guard let stranger = oldestStranger(of: connection.origin) else { return connection }
            remove(stranger.descriptor)
            victim = stranger
        }
        lastOrder += 1
        entries[connection.descriptor] = Entry(connection: connection, order: lastOrder)
        counts[connection.origin, default: 0] += 1
        strangers[connection.origin, default: 0] += 1
        return victim
    }

    mutating func end(_ descriptor: Int32) { remove(descriptor) }

    /// Drops those that are gone without a word.
    mutating func sweep() {
        for entry in entries.values where !entry.connection.isAlive { remove(entry.connection.descriptor) }
    }

    private func oldestStranger(of origin: Connection.Origin) -> Connection? {
        guard strangers[origin] != nil else { return nil }
        return entries.values.filter { !$0.isIn && $0.connection.origin == origin }
            .min { $0.order < $1.order }?.connection
    }

    private mutating func remove(_ descriptor: Int32) {
        guard let entry = entries.removeValue(forKey: descriptor) else { return }
        allTopicBytes -= entry.topicBytes
        Self.decrement(&counts, entry.connection.origin)
        if !entry.isIn { Self.decrement(&strangers, entry.connection.origin) }
    }

    private static func decrement(_ counts: inout [Connection.Origin: Int], _ origin: Connection.Origin) {
        guard let count = counts[origin] else { return }
        counts[origin] = count == 1 ? nil : count - 1
    }

    // MARK: What it costs

    /// Whom to cut; nil: it may have this topic, too.
    mutating func subscribe(_ topic: [UInt8], _ descriptor: Int32?) -> Connection? {
        guard let descriptor, entries[descriptor]?.topics.insert(topic).inserted == true else { return nil }
        let bytes = topic.count + Self.subscriptionBytes
        entries[descriptor]?.topicBytes += bytes
        allTopicBytes += bytes
        var victim: Entry?
        if allTopicBytes > limits.allTopicBytes {
            victim = entries.values.max { $0.topicBytes < $1.topicBytes }
        } else if let entry = entries[descriptor], entry.topicBytes > limits.topicBytes {
            victim = entry
        }
        if let victim { remove(victim.connection.descriptor) }
        return victim?.connection
    }

    mutating func unsubscribe(_ topic: [UInt8], _ descriptor: Int32?) {
        guard let descriptor, entries[descriptor]?.topics.remove(topic) != nil else { return }
        entries[descriptor]?.topicBytes -= topic.count + Self.subscriptionBytes
        allTopicBytes -= topic.count + Self.subscriptionBytes
    }

    /// A message was read whole.
    mutating func read(bytes: Int, frames: Int, _ descriptor: Int32?) {
        guard let descriptor else {
            isBlind = true
            return
        }
        guard let entry = entries[descriptor] else { return }
        entries[descriptor]?.readBytes += UInt64(bytes + frames * Self.frameBytes)
        guard !entry.isIn else { return }
        entries[descriptor]?.isIn = true
        Self.decrement(&strangers, entry.connection.origin)
    }

    /// Whom to cut, now that each has sent this much.
    mutating func check(received: (Connection) -> UInt64?) -> [Connection] {
        guard !isBlind else { return [] }
        var unread: [(connection: Connection, bytes: UInt64)] = []
        for (descriptor, entry) in entries {
            guard let received = received(entry.connection) else { continue }
            // What was read is counted too high: that must not add up.
            let read = min(received, entry.readBytes + Self.silentBytes)
            entries[descriptor]?.readBytes = read
            if received > read { unread.append((entry.connection, received - read)) }
        }
        var all = unread.reduce(0) { $0 + $1.bytes }
        var victims: [Connection] = []
        for (connection, bytes) in unread.sorted(by: { $0.bytes > $1.bytes }) {
            guard bytes > UInt64(limits.unreadBytes) || all > UInt64(limits.allUnreadBytes) else { break }
            all -= bytes
            victims.append(connection)
        }
        for victim in victims { remove(victim.descriptor) }
        return victims
    }
}
