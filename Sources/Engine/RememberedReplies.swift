import Lifecycle
import Wire

/// The replies of the launch's keyed commands, the newest `limit` of them.
public struct RememberedReplies: Hashable, Sendable {
    public struct Key: Hashable, Sendable {
        public let source: String?
        public let key: String
        public init(source: String?, key: String) {
            self.source = source
            self.key = key
        }
    }
    public struct Entry: Hashable, Sendable {
        public let fingerprint: String
        public let status: HostStatus
        public let members: [JSONValue.Member]
        public init(fingerprint: String, status: HostStatus, members: [JSONValue.Member]) {
            self.fingerprint = fingerprint
            self.status = status
            self.members = members
        }
    }

    public let limit: Int
    private var entries: [Key: Entry] = [:]
    /// Oldest first; `head` is the first that still counts.
    private var order: [Key] = []
    private var head = 0

    public init(limit: Int) {
        precondition(limit > 0)
        self.limit = limit
    }

    public subscript(key: Key) -> Entry? { entries[key] }

    public mutating func remember(_ key: Key, _ entry: Entry) {
        guard entries.updateValue(entry, forKey: key) == nil else { return }
        order.append(key)
        while order.count - head > limit {
            entries[order[head]] = nil
            head += 1
        }
        if head > limit {
            order.removeFirst(head)
            head = 0
        }
    }
}
