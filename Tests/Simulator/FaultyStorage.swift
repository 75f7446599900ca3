import Journal

/// A disk in memory whose faults are chosen. For one thread at a time, which is what makes `@unchecked Sendable` true.
public final class FaultyStorage: Storage, @unchecked Sendable {
    /// A call that changes something, or makes it durable.
    public enum Call: Hashable, Sendable {
        case create(String)
        case write(String)
        case truncate(String)
        case sync(String)
        case rename(String)
        case remove(String)
        case syncDirectory
    }

    public enum Fault: Hashable, Sendable {
        /// The call fails and has no effect.
        case error
        /// There is no room; half of a write may have been done.
        case full
        /// The call is under way when the power fails: a write is in the cache, a sync has done nothing. Every call
        /// fails until `crash`.
        case powerLoss
    }

    public var disk: DiskState
    /// Bytes that all files together may take.
    public var capacityBytes = Int.max
    /// Which calls fail; they are counted from 0 on.
    public var faults: [Int: Fault] = [:]
    public private(set) var calls: [Call] = []
    private var isDead = false
    private var nextID = 0
    /// Files that were opened before a crash are of no use after it.
    private var life = 0

    public init(pageBytes: Int = 512) { disk = DiskState(pageBytes: pageBytes) }

    public init(disk: DiskState) {
        self.disk = disk
        nextID = (disk.contents.keys.max() ?? 0) + 1
    }

    public func crash(
        page: (_ name: String, _ page: Int) -> DiskState.PageFate, change: (_ index: Int) -> Bool
    ) {
        disk.crash(page: page, change: change)
        restart()
    }

    /// The process dies and the machine goes on: the cache stays, what is not synced in it stays so.
    public func restart() {
        isDead = false
        faults = [:]
        calls = []
        life += 1
    }

    public func crash(keeping: (_ name: String, _ page: Int) -> Bool) {
        crash(page: { keeping($0, $1) ? .kept : .lost }, change: { _ in true })
    }

    /// Each page and each change of the directory survives or not, by lot.
    public func crash(using random: inout SplitMix64) {
        let percent = [0, 20, 50, 80, 100].randomElement(using: &random) ?? 50
        var pages = random
        var changes = SplitMix64(seed: random.next())
        crash(
            page: { _, _ in pages.chance(percent) ? .kept : .lost }, change: { _ in changes.chance(percent) })
        random = pages
    }

    /// Changes bits of one byte, on the disk and in the cache.
    public func flip(_ name: String, byte: Int, mask: UInt8 = 1) {
        guard let id = disk.cachedNames[name] else { preconditionFailure("no file \(name)") }
        disk.contents[id]?.cached[byte] ^= mask
        if byte < disk.contents[id]?.durable.count ?? 0 { disk.contents[id]?.durable[byte] ^= mask }
    }

    public func bytes(of name: String) -> [UInt8] {
        disk.cachedNames[name].flatMap { disk.contents[$0]?.cached } ?? []
    }

    /// Whether a file has these bytes anywhere.
    public func holds(_ marker: [UInt8]) -> Bool {
        disk.contents.values.contains { content in
            [content.cached, content.durable].contains { bytes in
                guard let first = marker.first, bytes.count >= marker.count else { return false }
                return (0...bytes.count - marker.count).contains {
                    bytes[$0] == first && bytes[$0..<$0 + marker.count].elementsEqual(marker)
                }
            }
        }
    }

    // MARK: Storage

    public func names() throws(StorageError) -> [String] {
        try check("readdir", "")
        return Array(disk.cachedNames.keys)
    }

    public func open(_ name: String, create: Bool) throws(StorageError) -> any StorageFile {
        try check("open", name)
        if let id = disk.cachedNames[name] {
            return FaultyFile(storage: self, id: id, name: name, life: life)
        }
        guard create else { throw StorageError(kind: .missing, call: "open", path: name, number: 2) }
        let fault = try begin(.create(name))
        let id = nextID
        nextID += 1
        disk.contents[id] = DiskState.Content()
        disk.change(.create(name, id))
        if fault == .powerLoss { throw die(name) }
        return FaultyFile(storage: self, id: id, name: name, life: life)
    }

    public func rename(_ name: String, to target: String) throws(StorageError) {
        let fault = try begin(.rename(name))
        guard disk.cachedNames[name] != nil else {
            throw StorageError(kind: .missing, call: "rename", path: name, number: 2)
        }
        disk.change(.rename(name, to: target))
        if fault == .powerLoss { throw die(name) }
    }

    public func remove(_ name: String) throws(StorageError) {
        let fault = try begin(.remove(name))
        guard disk.cachedNames[name] != nil else {
            throw StorageError(kind: .missing, call: "unlink", path: name, number: 2)
        }
        disk.change(.remove(name))
        if fault == .powerLoss { throw die(name) }
    }

    public func syncDirectory() throws(StorageError) {
        if try begin(.syncDirectory) == .powerLoss { throw die("") }
        disk.syncDirectory()
    }

    // MARK: Faults

    fileprivate func check(_ call: String, _ name: String, life wanted: Int? = nil) throws(StorageError) {
        guard !isDead, wanted ?? life == life else {
            throw StorageError(kind: .failed, call: call, path: name, number: 5)
        }
    }

    /// Counts the call; throws if it is to fail without effect.
    fileprivate func begin(_ call: Call, life: Int? = nil) throws(StorageError) -> Fault? {
        try check("\(call)", "", life: life)
        let fault = faults[calls.count]
        calls.append(call)
        switch fault {
        case .error: throw StorageError(kind: .failed, call: "\(call)", path: "", number: 5)
        case .full:
            if case .write = call { return .full }
            throw Self.full("\(call)")
        case .powerLoss, nil: return fault
        }
    }

    fileprivate static func full(_ name: String) -> StorageError {
        StorageError(kind: .full, call: "write", path: name, number: 28)
    }

    fileprivate func die(_ name: String) -> StorageError {
        isDead = true
        return StorageError(kind: .failed, call: "power", path: name, number: 5)
    }
}

final class FaultyFile: StorageFile {
    private let storage: FaultyStorage
    private let id: Int
    private let name: String
    private let life: Int

    init(storage: FaultyStorage, id: Int, name: String, life: Int) {
        self.storage = storage
        self.id = id
        self.name = name
        self.life = life
    }

    func byteCount() throws(StorageError) -> UInt64 {
        try storage.check("stat", name, life: life)
        return UInt64(storage.disk.contents[id]?.cached.count ?? 0)
    }

    func write(_ parts: [UnsafeRawBufferPointer], at offset: UInt64) throws(StorageError) {
        let fault = try storage.begin(.write(name), life: life)
        var bytes = parts.flatMap { [UInt8]($0) }
        let size = storage.disk.contents[id]?.cached.count ?? 0
        let growth = max(0, Int(offset) + bytes.count - size)
        let room = storage.capacityBytes == .max ? growth : storage.capacityBytes - storage.disk.usedBytes
        let isFull = fault == .full || (growth > 0 && growth > room)
        if fault == .full { bytes.removeLast((bytes.count + 1) / 2) }
        if growth > 0 && growth > room { bytes.removeLast(min(bytes.count, growth - max(0, room))) }
        storage.disk.write(bytes, to: id, at: Int(offset))
        if fault == .powerLoss { throw storage.die(name) }
        if isFull { throw FaultyStorage.full(name) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        try storage.check("read", name, life: life)
        let bytes = storage.disk.contents[id]?.cached ?? []
        guard offset < bytes.count else { return 0 }
        let count = min(buffer.count, bytes.count - Int(offset))
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...].prefix(count)))
        }
        return count
    }

    func truncate(to byteCount: UInt64) throws(StorageError) {
        let fault = try storage.begin(.truncate(name), life: life)
        storage.disk.truncate(id, to: Int(byteCount))
        if fault == .powerLoss { throw storage.die(name) }
    }

    func sync() throws(StorageError) {
        if try storage.begin(.sync(name), life: life) == .powerLoss { throw storage.die(name) }
        storage.disk.sync(id)
    }
}
