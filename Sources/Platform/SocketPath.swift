import Glibc

/// A path at which this process listens, and nobody else while it does.
///
/// Peers are kept away by the folder's permissions, so the folder is checked first: its own, and closed to others. A file
/// beside the path is locked from then on, and bears the process's id. What lies at the path is removed only if it is a
/// socket that nobody listens at; binding fails where something is, so that nothing is ever replaced. On the way out the
/// path is removed, unless something else lies there by then. The lock's file stays: it could not be removed without
/// another process taking a lock that is worth nothing.
///
/// The descriptor that listens is kept, too. Whoever gives one copy back and takes another does not touch the path in
/// between, and connections that come meanwhile wait.
public final class SocketPath: Sendable {
    public let path: String
    private let folder: Int32
    private let lock: Int32
    /// Listens, without blocking.
    private let listener: Int32
    /// What was bound: a path can be given to something else.
    private let identity: Identity

    /// What fits the system's address of a local socket.
    public static let maxBytes = 107
    private static let backlog: Int32 = 128

    /// Makes the folder (0700) if only it is missing, and listens. A folder with a group's permissions, as 0750, makes a
    /// socket for that group.
    public init(_ path: String) throws(SocketPathError) {
        let place = try Place(path)
        let folder = try place.openFolder()
        var opened = [folder.descriptor]
        var bound: Identity?
        do throws(SocketPathError) {
            opened.append(try place.lock(in: folder))
            try place.makeRoom(in: folder)
            opened.append(try place.bind())
            bound = Identity(name: place.name, in: folder.descriptor)
            // The path led to the folder that was checked.
            guard let bound else { throw place.failed("stat") }
            identity = bound
            try place.setPermissions(in: folder)
            guard listen(opened[2], Self.backlog) == 0 else { throw place.failed("listen") }
        } catch {
            if let bound { bound.remove(name: place.name, in: folder.descriptor) }
            for descriptor in opened { close(descriptor) }
            throw error
        }
        self.path = path
        self.folder = opened[0]
        lock = opened[1]
        listener = opened[2]
    }

    deinit {
        identity.remove(name: Place.lastName(path), in: folder)
        close(listener)
        close(folder)
        close(lock)
    }

    /// A copy of the descriptor that listens: the caller's to close.
    public func descriptor() throws(PlatformError) -> Int32 {
        let copy = fcntl(listener, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw PlatformError(call: "fcntl", number: errno) }
        return copy
    }
}

/// What tells one file from another that takes its name.
private struct Identity: Hashable {
    let device: UInt64
    let inode: UInt64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Nil: nothing is there.
    init?(name: String, in folder: Int32) {
        var status = stat()
        guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        self.init(status)
    }

    /// Leaves anything else that has the name.
    func remove(name: String, in folder: Int32) {
        if Identity(name: name, in: folder) == self { unlinkat(folder, name, 0) }
    }
}

/// A path, taken apart, and the steps that lead to listening at it.
private struct Place {
    struct Folder {
        let descriptor: Int32
        let group: gid_t
        let isForGroup: Bool
    }

    let path: String
    let name: String
    let folderPath: String

    init(_ path: String) throws(SocketPathError) {
        self.path = path
        name = Self.lastName(path)
        guard !name.isEmpty, name != ".", name != "..", !path.utf8.contains(0) else { throw .noName(path) }
        guard path.utf8.count <= SocketPath.maxBytes else { throw .tooLong(path) }
        var folder = path.dropLast(name.count)
        // A link with a slash behind it would be followed.
        while folder.count > 1, folder.last == "/" { folder.removeLast() }
        folderPath = folder.isEmpty ? "." : String(folder)
    }

    static func lastName(_ path: String) -> String {
        String(path.split(separator: "/", omittingEmptySubsequences: false).last ?? "")
    }

    func failed(_ call: String) -> SocketPathError { .system(path, PlatformError(call: call, number: errno)) }

    func openFolder() throws(SocketPathError) -> Folder {
        guard mkdir(folderPath, 0o700) == 0 || errno == EEXIST else {
            if errno == ENOENT { throw .noFolder(path, folder: folderPath) }
            throw .system(path, PlatformError(call: "mkdir \(folderPath)", number: errno))
        }
        let descriptor = open(folderPath, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = PlatformError(call: "open \(folderPath)", number: errno)
            var status = stat()
            if lstat(folderPath, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
                throw .notAFolder(path, folder: folderPath, kind: Self.kind(status))
            }
            throw .system(path, error)
        }
        do throws(SocketPathError) {
            return try check(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
    }

    private func check(_ descriptor: Int32) throws(SocketPathError) -> Folder {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failed("fstat") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw .foreignFolder(path, folder: folderPath, owner: status.st_uid)
        }
        let mode = status.st_mode & 0o7777
        guard mode & 0o027 == 0 else { throw .openFolder(path, folder: folderPath, mode: mode) }
        return Folder(descriptor: descriptor, group: status.st_gid, isForGroup: mode & 0o010 != 0)
    }

    // MARK: The lock

    func lock(in folder: Folder) throws(SocketPathError) -> Int32 {
        let lockName = name + ".lock"
        // Without blocking: a pipe in its place has nobody at the other end.
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let file = openat(folder.descriptor, lockName, flags, 0o600)
        guard file >= 0 else {
            if errno == ELOOP { throw .occupied(path + ".lock", kind: "a link") }
            throw .system(path + ".lock", PlatformError(call: "open", number: errno))
        }
        do throws(SocketPathError) {
            try take(file)
            return file
        } catch {
            close(file)
            throw error
        }
    }

    private func take(_ file: Int32) throws(SocketPathError) {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failed("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .occupied(path + ".lock", kind: Self.kind(status))
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw failed("flock") }
            throw .locked(path, holder: Self.processID(in: file))
        }
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(file, 0) == 0, pwrite(file, text, text.count, 0) == text.count else {
            throw failed("write to \(name).lock")
        }
    }

    /// Nil when the holder has not written it yet.
    private static func processID(in file: Int32) -> Int32? {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(file, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: buffer.prefix { (48...57).contains($0) }, as: UTF8.self))
    }

    // MARK: The path

    /// Removes a socket that nobody listens at; refuses anything else.
    func makeRoom(in folder: Folder) throws(SocketPathError) {
        var status = stat()
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return }
            throw failed("stat")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .occupied(path, kind: Self.kind(status)) }
        guard try isAbandoned() else { throw .inUse(path) }
        // Between programs that do not lock: what is there now is another's.
        guard Identity(name: name, in: folder.descriptor) == Identity(status) else { throw .inUse(path) }
        guard unlinkat(folder.descriptor, name, 0) == 0 || errno == ENOENT else { throw failed("unlink") }
    }

    private func isAbandoned() throws(SocketPathError) -> Bool {
        let caller = try makeSocket()
        defer { close(caller) }
        guard withAddress({ connect(caller, $0, $1) }) != 0 else { return false }
        switch errno {
        case ECONNREFUSED, ENOENT: return true
        // Its queue is full, or it is of another type.
        case EAGAIN, EPROTOTYPE: return false
        default: throw failed("connect")
        }
    }

    func bind() throws(SocketPathError) -> Int32 {
        let descriptor = try makeSocket()
        guard withAddress({ Glibc.bind(descriptor, $0, $1) }) == 0 else {
            let error = errno == EADDRINUSE ? SocketPathError.inUse(path) : failed("bind")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Nobody can connect before it listens: what the umask left is no opening.
    func setPermissions(in folder: Folder) throws(SocketPathError) {
        if folder.isForGroup {
            guard fchownat(folder.descriptor, name, uid_t.max, folder.group, AT_SYMLINK_NOFOLLOW) == 0 else {
                throw errno == EPERM ? .foreignGroup(path, group: folder.group) : failed("chown")
            }
        }
        guard fchmodat(folder.descriptor, name, folder.isForGroup ? 0o660 : 0o600, 0) == 0 else {
            throw failed("chmod")
        }
    }

    private func makeSocket() throws(SocketPathError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw failed("socket") }
        return descriptor
    }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func kind(_ status: stat) -> String {
        switch status.st_mode & S_IFMT {
        case S_IFREG: "a file"
        case S_IFDIR: "a folder"
        case S_IFLNK: "a link"
        case S_IFIFO: "a pipe"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }
}
