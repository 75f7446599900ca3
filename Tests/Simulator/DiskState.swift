/// What is on a simulated disk, and what is only in its cache. A value: copy it to try several ends of one story.
public struct DiskState: Sendable {
    /// One file's content, whatever its names are.
    public struct Content: Hashable, Sendable {
        public var durable: [UInt8] = []
        public var cached: [UInt8] = []
        /// Pages of `cached` that were written since the last sync.
        public var dirty: Set<Int> = []
        /// The size was changed since the last sync.
        public var isResized = false
    }

    public enum DirectoryChange: Hashable, Sendable {
        case create(String, Int)
        case rename(String, to: String)
        case remove(String)
    }

    /// What becomes of a page that was written and not synced.
    public enum PageFate: Hashable, Sendable {
        case lost
        case kept
        /// Only its first bytes reach the disk.
        case torn(Int)
    }

    public let pageBytes: Int
    public internal(set) var contents: [Int: Content] = [:]
    public internal(set) var durableNames: [String: Int] = [:]
    public internal(set) var cachedNames: [String: Int] = [:]
    /// Not synced yet, in order.
    public internal(set) var changes: [DirectoryChange] = []

    public init(pageBytes: Int) { self.pageBytes = pageBytes }

    /// Every page that a crash may lose, by file name; unnamed files are lost anyhow.
    public var dirtyPages: [(name: String, page: Int)] {
        cachedNames.sorted { $0.key < $1.key }.flatMap { name, id in
            (contents[id]?.dirty ?? []).sorted().map { (name, $0) }
        }
    }

    /// Bytes that files take.
    public var usedBytes: Int { contents.values.reduce(0) { $0 + max($1.cached.count, $1.durable.count) } }

    static func apply(_ change: DirectoryChange, to names: inout [String: Int]) {
        switch change {
        case .create(let name, let id): names[name] = id
        case .remove(let name): names[name] = nil
        case .rename(let name, let target):
            guard let id = names.removeValue(forKey: name) else { return }
            names[target] = id
        }
    }

    mutating func change(_ change: DirectoryChange) {
        Self.apply(change, to: &cachedNames)
        changes.append(change)
    }

    mutating func syncDirectory() {
        durableNames = cachedNames
        changes = []
        dropUnnamed()
    }

    mutating func sync(_ id: Int) {
        guard var content = contents[id] else { return }
        content.durable = content.cached
        content.dirty = []
        content.isResized = false
        contents[id] = content
    }

    mutating func write(_ bytes: [UInt8], to id: Int, at offset: Int) {
        guard var content = contents[id], !bytes.isEmpty else { return }
        contents[id] = nil
        let end = offset + bytes.count
        if content.cached.count < end {
            content.cached += [UInt8](repeating: 0, count: end - content.cached.count)
            content.isResized = true
        }
        content.cached.replaceSubrange(offset..<end, with: bytes)
        for page in offset / pageBytes...(end - 1) / pageBytes { content.dirty.insert(page) }
        contents[id] = content
    }

    mutating func truncate(_ id: Int, to count: Int) {
        guard var content = contents[id] else { return }
        if count < content.cached.count {
            content.cached.removeLast(content.cached.count - count)
        } else {
            content.cached += [UInt8](repeating: 0, count: count - content.cached.count)
        }
        content.isResized = true
        contents[id] = content
    }

    /// The power fails: of what was not synced, only what is named survives.
    public mutating func crash(
        page fate: (_ name: String, _ page: Int) -> PageFate, change isKept: (_ index: Int) -> Bool
    ) {
        for (index, change) in changes.enumerated() where isKept(index) {
            Self.apply(change, to: &durableNames)
        }
        changes = []
        let names = Dictionary(cachedNames.map { ($1, $0) }, uniquingKeysWith: { a, _ in a })
        for (id, content) in contents {
            let name = names[id] ?? durableNames.first { $0.value == id }?.key ?? ""
            contents[id] = survivor(of: content) { fate(name, $0) }
        }
        cachedNames = durableNames
        dropUnnamed()
    }

    private func survivor(of content: Content, fate: (Int) -> PageFate) -> Content {
        var durable = content.durable
        for page in content.dirty.sorted() {
            let start = page * pageBytes
            var end = min(start + pageBytes, content.cached.count)
            switch fate(page) {
            case .lost: continue
            case .kept: break
            case .torn(let count): end = min(end, start + count)
            }
            guard start < end else { continue }
            if durable.count < end { durable += [UInt8](repeating: 0, count: end - durable.count) }
            durable.replaceSubrange(start..<end, with: content.cached[start..<end])
        }
        return Content(durable: durable, cached: durable)
    }

    private mutating func dropUnnamed() {
        let used = Set(cachedNames.values).union(durableNames.values)
        contents = contents.filter { used.contains($0.key) }
    }
}
