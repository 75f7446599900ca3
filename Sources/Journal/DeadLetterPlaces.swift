import Lifecycle

/// Where each letter stands in the file: the newest `limit` of them, oldest first.
struct DeadLetterPlaces {
    struct Key: Hashable {
        let seq: JournalSeq
        let collector: String
    }
    struct Row {
        let key: Key
        let offset: UInt64
        /// Without the line feed.
        let byteCount: UInt64
    }

    let limit: Int
    private(set) var rows: [Row] = []
    private var keys: Set<Key> = []

    init(limit: Int) { self.limit = limit }

    func contains(_ key: Key) -> Bool { keys.contains(key) }

    func sorted(after: JournalSeq) -> [Row] {
        rows.filter { $0.key.seq > after }.sorted {
            ($0.key.seq, $0.key.collector) < ($1.key.seq, $1.key.collector)
        }
    }

    mutating func add(_ row: Row) {
        rows.append(row)
        keys.insert(row.key)
        while rows.count > limit { keys.remove(rows.removeFirst().key) }
    }

    mutating func drop(_ seqs: [JournalSeq]) {
        let gone = Set(seqs)
        rows.removeAll { gone.contains($0.key.seq) }
        keys = keys.filter { !gone.contains($0.seq) }
    }

    /// The same letters at other places.
    mutating func move(to rows: [Row]) {
        precondition(rows.count == self.rows.count, "compaction copies every letter")
        self.rows = rows
    }

    mutating func removeAll() {
        rows = []
        keys = []
    }
}
