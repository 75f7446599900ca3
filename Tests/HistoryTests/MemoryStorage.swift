import Journal

/// A disk in memory that can crash at any call, tear a write, and fill up. Used by one thread.
final class MemoryStorage: Storage, @unchecked Sendable {
    final class Contents {
        var live: [UInt8] = []
        var synced: [UInt8] = []
        init(_ bytes: [UInt8] = []) {
            live = bytes
            synced = bytes
        }
    }

    var files: [String: Contents] = [:]
    private var syncedNames: [String: Contents] = [:]
    /// Calls that change something, so far.
    private(set) var calls = 0
    /// The call at which the machine stops; every later one fails too.
    var crashAt: Int?
    /// What all files may have together, in bytes.
    var room: Int?
    var failsSyncs = false

    init(_ files: [String: [UInt8]] = [:]) {
        self.files = files.mapValues { Contents($0) }
        syncedNames = self.files
    }

    /// What the next start finds: only what was synced, or everything up to the crash.
    func afterCrash(keepingUnsynced: Bool) -> MemoryStorage {
        MemoryStorage(
            (keepingUnsynced ? files : syncedNames).mapValues { keepingUnsynced ? $0.live : $0.synced })
    }

    var hasCrashed: Bool { crashAt.map { calls >= $0 } ?? false }

    func bytes(_ name: String) -> [UInt8] { files[name]?.live ?? [] }

    func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }

    private var used: Int { files.values.reduce(0) { $0 + $1.live.count } }

    fileprivate func change(_ call: String, _ name: String) throws(StorageError) {
        calls += 1
        if hasCrashed { throw StorageError(kind: .failed, call: call, path: name, number: 5) }
    }

    fileprivate func grow(_ file: Contents, to count: Int, _ name: String) throws(StorageError) {
        let more = max(0, count - file.live.count)
        if let room, used + more > room {
            throw StorageError(kind: .full, call: "pwrite", path: name, number: 28)
        }
    }

    func names() throws(StorageError) -> [String] { Array(files.keys) }

    func open(_ name: String, create: Bool) throws(StorageError) -> any StorageFile {
        if let file = files[name] { return MemoryFile(self, name, file) }
        guard create else { throw StorageError(kind: .missing, call: "open", path: name, number: 2) }
        try change("open", name)
        let file = Contents()
        files[name] = file
        return MemoryFile(self, name, file)
    }

    func rename(_ name: String, to target: String) throws(StorageError) {
        try change("rename", name)
        guard let file = files.removeValue(forKey: name) else {
            throw StorageError(kind: .missing, call: "rename", path: name, number: 2)
        }
        files[target] = file
    }

    func remove(_ name: String) throws(StorageError) {
        guard files[name] != nil else {
            throw StorageError(kind: .missing, call: "unlink", path: name, number: 2)
        }
        try change("unlink", name)
        files[name] = nil
    }

    func syncDirectory() throws(StorageError) {
        try change("fsync", ".")
        if failsSyncs { throw StorageError(kind: .failed, call: "fsync", path: ".", number: 5) }
        syncedNames = files
    }
}

final class MemoryFile: StorageFile, @unchecked Sendable {
    private let storage: MemoryStorage
    private let name: String
    private let contents: MemoryStorage.Contents

    init(_ storage: MemoryStorage, _ name: String, _ contents: MemoryStorage.Contents) {
        self.storage = storage
        self.name = name
        self.contents = contents
    }

    func byteCount() throws(StorageError) -> UInt64 { UInt64(contents.live.count) }

    func write(_ parts: [UnsafeRawBufferPointer], at offset: UInt64) throws(StorageError) {
        let bytes = parts.flatMap { Array($0) }
        do {
            try storage.change("pwrite", name)
            try storage.grow(contents, to: Int(offset) + bytes.count, name)
        } catch {
            // Half of it is there nevertheless.
            if storage.crashAt == storage.calls || error.kind == .full {
                put(Array(bytes.prefix(bytes.count / 2)), Int(offset))
            }
            throw error
        }
        put(bytes, Int(offset))
    }

    private func put(_ bytes: [UInt8], _ offset: Int) {
        let end = offset + bytes.count
        let kept = min(offset, contents.live.count)
        let gap = [UInt8](repeating: 0, count: offset - kept)
        let rest = contents.live.dropFirst(end)
        contents.live = contents.live[..<kept] + gap + bytes + rest
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        guard Int(offset) < contents.live.count else { return 0 }
        let bytes = contents.live[Int(offset)..<min(contents.live.count, Int(offset) + buffer.count)]
        buffer.copyBytes(from: bytes)
        return bytes.count
    }

    func truncate(to byteCount: UInt64) throws(StorageError) {
        try storage.change("ftruncate", name)
        contents.live = Array(contents.live.prefix(Int(byteCount)))
        contents.live += [UInt8](repeating: 0, count: Int(byteCount) - contents.live.count)
    }

    func sync() throws(StorageError) {
        try storage.change("fdatasync", name)
        if storage.failsSyncs { throw StorageError(kind: .failed, call: "fdatasync", path: name, number: 5) }
        contents.synced = contents.live
    }
}
