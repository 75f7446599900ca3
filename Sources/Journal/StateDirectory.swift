import Glibc
import Platform
import Wire

/// The directory with everything that outlives the process, locked for one host.
///
/// `lock` holds the process id of the host that has it, `identity` the inode and birth time of itself: a directory
/// that was copied has another. A snapshot of the block device can't be told from the original.
public struct StateDirectory: ~Copyable, Sendable {
    public let path: String
    /// -1: to be kept until the process ends.
    private var lock: Int32

    public static let lockName = "lock"
    public static let identityName = "identity"
    /// Keys may be there before the first host is, and are no state.
    public static let keysName = "keys"
    private static let identityTemporaryName = "identity.new"
    private static let format = "holdgate-state"
    static let version: UInt64 = 1

    deinit { if lock >= 0 { close(lock) } }

    /// It stays locked until the process ends, whatever becomes of this value.
    public mutating func keepLocked() { lock = -1 }

    /// Creates the directory where it is missing (0700, its parents too), locks it, and checks that it is the
    /// one that the host wrote.
    ///
    /// - Parameter restored: accept a copied directory, and make it the one from now on.
    public static func open(_ path: String, restored: Bool) throws(StateDirectoryError) -> StateDirectory {
        try create(path)
        let directory = StateDirectory(path: path, lock: try lock(path))
        try directory.checkIdentity(restored: restored)
        return directory
    }

    /// Whether the process that locked it last is there: a host that runs, or somebody who got its number. The lock
    /// itself is left alone, for a host that starts meanwhile would find it taken.
    public static func seemsInUse(_ path: String) -> Bool {
        let file = Glibc.open(path + "/" + lockName, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard let pid = processID(in: file), pid > 0 else { return false }
        return kill(pid, 0) == 0 || errno == EPERM
    }

    /// Opens it for looking: nothing in it is made or changed, and no host gets it meanwhile. Without a `lock`, which no
    /// host has made yet, none is held: ask `isStillUnused` at the end.
    public static func inspect(_ path: String) throws(StateDirectoryError) -> StateDirectory {
        let file = Glibc.open(path + "/" + lockName, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw .system(path: path + "/" + lockName, failed("open")) }
            guard access(path, R_OK | X_OK) == 0 else { throw .system(path: path, failed("access")) }
            return StateDirectory(path: path, lock: -1)
        }
        // Shared: others may look as well, and a host's own is exclusive.
        guard flock(file, LOCK_SH | LOCK_NB) == 0 else {
            let error = failed("flock")
            let holder = processID(in: file)
            close(file)
            if error.number == EWOULDBLOCK { throw .locked(path: path, holder: holder) }
            throw .system(path: path + "/" + lockName, error)
        }
        return StateDirectory(path: path, lock: file)
    }

    /// Whether no host can have begun since `inspect`.
    public var isStillUnused: Bool { lock >= 0 || access(path + "/" + Self.lockName, F_OK) != 0 }

    private init(path: String, lock: Int32) {
        self.path = path
        self.lock = lock
    }

    // MARK: The directory and its lock

    private static func create(_ path: String) throws(StateDirectoryError) {
        guard mkdir(path, 0o700) != 0 else { return }
        switch errno {
        case EEXIST:
            return  // A file in its place fails at the lock.
        case ENOENT:
            // Without the last name and the slashes around it.
            let name = path.reversed().drop { $0 == "/" }
            let parentPath = String(name.drop { $0 != "/" }.reversed())
            guard !parentPath.isEmpty, parentPath != path else { throw .system(path: path, failed("mkdir")) }
            try create(parentPath)
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw .system(path: path, failed("mkdir"))
            }
        default:
            throw .system(path: path, failed("mkdir"))
        }
    }

    private static func lock(_ path: String) throws(StateDirectoryError) -> Int32 {
        let file = Glibc.open(path + "/" + lockName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(path: path + "/" + lockName, failed("open")) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let error = failed("flock")
            let holder = error.number == EWOULDBLOCK ? processID(in: file) : nil
            close(file)
            if error.number == EWOULDBLOCK { throw .locked(path: path, holder: holder) }
            throw .system(path: path + "/" + lockName, error)
        }
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(file, 0) == 0, pwrite(file, text, text.count, 0) == text.count else {
            let error = failed("write")
            close(file)
            throw .system(path: path + "/" + lockName, error)
        }
        return file
    }

    /// Nil when the holder has not written it yet.
    private static func processID(in file: Int32) -> Int32? {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(file, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: buffer.prefix { (48...57).contains($0) }, as: UTF8.self))
    }

    private static func failed(_ call: String) -> PlatformError { PlatformError(call: call, number: errno) }

    // MARK: The identity

    /// Whose directory it is.
    public enum Origin: Hashable, Sendable {
        /// Nobody's yet: it is empty.
        case new
        /// The host wrote it here.
        case own
        /// It is not the one that a host wrote; `what` says what shows that.
        case copied(what: String)
    }

    private func checkIdentity(restored: Bool) throws(StateDirectoryError) {
        switch try origin() {
        case .own: return
        case .new: break
        case .copied(let what): guard restored else { throw .copied(path: path, what: what) }
        }
        try writeIdentity()
    }

    /// Whose it is.
    public func origin() throws(StateDirectoryError) -> Origin {
        let file = path + "/" + Self.identityName
        guard let text = try Self.contents(of: file) else {
            guard try isEmpty() else {
                return .copied(what: "it holds files, and `identity` is missing among them")
            }
            return .new
        }
        let noted: FileIdentity
        do {
            noted = try Self.identity(in: text)
        } catch {
            if let version = error.newerVersion { throw .unknownVersion(path: file, version: version) }
            return .copied(what: "`identity` can't be read: \(error.what)")
        }
        let found = try Self.identity(of: file)
        let sameBirth = noted.birthNs == nil || found.birthNs == nil || noted.birthNs == found.birthNs
        if noted.inode == found.inode, sameBirth { return .own }
        return .copied(what: "`identity` is another file than the one that was written")
    }

    private static func identity(in text: [UInt8]) throws(FormatFault) -> FileIdentity {
        let fields = try JSONFields(parsing: text)
        try fields.checkFormat(format, version: version)
        return FileIdentity(
            inode: try fields.need("inode", fields.uint), birthNs: try fields.int("birthNs"))
    }

    private static func identity(of file: String) throws(StateDirectoryError) -> FileIdentity {
        do {
            return try FileIdentity(path: file)
        } catch {
            throw .system(path: file, error)
        }
    }

    /// Nothing but what opening leaves behind.
    private func isEmpty() throws(StateDirectoryError) -> Bool {
        guard let stream = opendir(path) else { throw .system(path: path, Self.failed("opendir")) }
        defer { closedir(stream) }
        let own: Set = [".", "..", Self.lockName, Self.identityTemporaryName, Self.keysName, "lost+found"]
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                String(cString: UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self))
            }
            if !own.contains(name) { return false }
        }
        return true
    }

    /// Writes a new file, which keeps its inode and birth time when it is renamed.
    private func writeIdentity() throws(StateDirectoryError) {
        let temporary = path + "/" + Self.identityTemporaryName
        unlink(temporary)
        let file = Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(path: temporary, Self.failed("open")) }
        defer { close(file) }
        let identity = try Self.identity(of: temporary)
        let wrapper = JSONValue.object([
            .init("format", .string(Self.format)), .init("version", .uint(Self.version)),
            .init("inode", .uint(identity.inode)),
            .init("birthNs", identity.birthNs.map { .int($0) } ?? .null),
        ])
        let bytes = Array((wrapper.text + "\n").utf8)
        guard write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
            throw .system(path: temporary, Self.failed("write"))
        }
        guard rename(temporary, path + "/" + Self.identityName) == 0 else {
            throw .system(path: temporary, Self.failed("rename"))
        }
        let directory = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw .system(path: path, Self.failed("open")) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw .system(path: path, Self.failed("fsync")) }
    }

    /// Nil for a missing file. Of a longer one only the first bytes are read, which are no identity then.
    private static func contents(of path: String) throws(StateDirectoryError) -> [UInt8]? {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(path: path, failed("open"))
        }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &buffer, buffer.count)
        guard count >= 0 else { throw .system(path: path, failed("read")) }
        return Array(buffer[..<count])
    }
}
