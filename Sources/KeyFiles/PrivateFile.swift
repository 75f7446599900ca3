// The files with keys: who may read them is looked at before a byte of them is believed, and a new one is on the disk
// under its name before anybody is told of it.
import Glibc
import Platform

/// Why a file with keys is not taken, or could not be written. The text says what to do.
public struct KeyFileError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Reading and writing of small files that others must not read, or must not write.
public enum PrivateFile {
    /// Bits of a mode that must not be set.
    public enum Forbidden: mode_t {
        /// Of a secret: nobody else reads or writes it.
        case others = 0o077
        /// Of what is believed: nobody else writes it.
        case othersWriting = 0o022
    }

    /// Larger files are refused.
    public static let maxBytes = 1 << 20

    /// The file's text; nil where there is none.
    ///
    /// The file must be a regular one, not a link, that belongs to the user of this process or to root. Root also takes
    /// one of whoever has the directory: it looks after hosts that run as other users.
    public static func read(_ path: String, _ forbidden: Forbidden) throws(KeyFileError) -> String? {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            if errno == ELOOP { throw KeyFileError("\(path) is a link; keys are read from the file itself") }
            throw failed("read", path)
        }
        defer { close(file) }
        try check(file, path, forbidden)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failed("read", path) }
            if count == 0 { break }
            bytes += buffer[..<count]
            guard bytes.count <= maxBytes else {
                throw KeyFileError("\(path) has more than \(maxBytes) bytes")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw KeyFileError("\(path) is not UTF-8 text")
        }
        return text
    }

    private static func check(_ file: Int32, _ path: String, _ forbidden: Forbidden) throws(KeyFileError) {
        var found = stat()
        guard fstat(file, &found) == 0 else { throw failed("look at", path) }
        guard found.st_mode & S_IFMT == S_IFREG else { throw KeyFileError("\(path) is no regular file") }
        guard [geteuid(), 0, owner(besides: path)?.uid].contains(found.st_uid) else {
            throw KeyFileError(
                "\(path) belongs to user \(found.st_uid), who could change it: chown \(geteuid()) \(path), "
                    + "if you trust what is in it")
        }
        guard found.st_mode & forbidden.rawValue == 0 else {
            switch forbidden {
            case .others: throw KeyFileError("\(path) can be read or changed by others: chmod 600 \(path)")
            case .othersWriting: throw KeyFileError("\(path) can be changed by others: chmod go-w \(path)")
            }
        }
    }

    public enum Replacing: Hashable, Sendable {
        case never
        case whatIsThere
        /// What is there, whose mode and owner stay.
        case contents
    }

    /// Whose the files in a directory are to be, where root makes them: its owner's. Nil: the process's own.
    static func owner(besides path: String) -> (uid: uid_t, gid: gid_t)? {
        var found = stat()
        guard geteuid() == 0, stat(parent(of: path), &found) == 0 else { return nil }
        return (found.st_uid, found.st_gid)
    }

    /// Writes a file that its owner alone may read and write; on disk, under its name, when this returns.
    ///
    /// - Parameter owner: whose a new one is; nil: the process's own.
    public static func write(
        _ text: String, _ path: String, _ replacing: Replacing, owner: (uid: uid_t, gid: gid_t)? = nil
    ) throws(KeyFileError) {
        // Nobody else's, in this process either.
        let temporary = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36)).new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failed("write", temporary) }
        defer { close(file) }
        do throws(KeyFileError) {
            try own(file, temporary, as: path, replacing, owner)
            try fill(file, temporary, Array(text.utf8))
            guard fsync(file) == 0 else { throw failed("sync", temporary) }
            switch replacing {
            case .never:
                guard link(temporary, path) == 0 else {
                    throw errno == EEXIST
                        ? KeyFileError("\(path) is there already, and keys are never written over")
                        : failed("write", path)
                }
                unlink(temporary)
            case .whatIsThere, .contents:
                guard rename(temporary, path) == 0 else { throw failed("write", path) }
            }
        } catch {
            unlink(temporary)
            throw error
        }
        try syncDirectory(of: path)
    }

    private static func own(
        _ file: Int32, _ temporary: String, as path: String, _ replacing: Replacing,
        _ owner: (uid: uid_t, gid: gid_t)?
    ) throws(KeyFileError) {
        var owner = owner
        var found = stat()
        if replacing == .contents, lstat(path, &found) == 0 {
            owner = geteuid() == 0 ? (found.st_uid, found.st_gid) : nil
            guard fchmod(file, found.st_mode & 0o755) == 0 else { throw failed("chmod", temporary) }
        }
        if let owner, fchown(file, owner.uid, owner.gid) != 0 { throw failed("chown", temporary) }
    }

    private static func fill(
        _ file: Int32, _ path: String, _ bytes: [UInt8]
    ) throws(KeyFileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failed("write", path) }
            rest = rest.dropFirst(count)
        }
    }

    private static func syncDirectory(of path: String) throws(KeyFileError) {
        let directory = parent(of: path)
        let file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard file >= 0 else { throw failed("open", directory) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw failed("sync", directory) }
    }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Makes a directory, and those above it, for its owner alone; one that is there stays as it is. Where root makes it,
    /// it is its parent's owner's.
    static func makeDirectory(_ path: String) throws(KeyFileError) {
        if try makeOne(path) { return }
        guard path != parent(of: path) else { throw failed("make", path) }
        try makeDirectory(parent(of: path))
        guard try makeOne(path) else { throw failed("make", path) }
    }

    /// False where its parent is missing.
    private static func makeOne(_ path: String) throws(KeyFileError) -> Bool {
        guard mkdir(path, 0o700) == 0 else {
            if errno == EEXIST { return true }
            guard errno == ENOENT else { throw failed("make", path) }
            return false
        }
        guard let owner = owner(besides: path) else { return true }
        // The parent's owner may have put something else in its place, which must not become theirs.
        let made = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard made >= 0 else { throw failed("open", path) }
        defer { close(made) }
        guard fchown(made, owner.uid, owner.gid) == 0 else { throw failed("chown", path) }
        return true
    }

    /// An empty file that is locked until it is closed. Waits for whoever has it locked.
    static func lock(_ path: String) throws(KeyFileError) -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failed("open", path) }
        while flock(file, LOCK_EX) != 0 {
            guard errno == EINTR else {
                let error = failed("lock", path)
                close(file)
                throw error
            }
        }
        // Nothing that was there under another name becomes the directory's owner's.
        var found = stat()
        if let owner = owner(besides: path), fstat(file, &found) == 0, found.st_mode & S_IFMT == S_IFREG,
            found.st_nlink == 1, found.st_size == 0
        {
            _ = fchown(file, owner.uid, owner.gid)
        }
        return file
    }

    static func failed(_ what: String, _ path: String) -> KeyFileError {
        KeyFileError("can't \(what) \(path): \(String(cString: strerror(errno)))")
    }
}
