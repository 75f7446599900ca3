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
enum PrivateFile {
    /// Bits of a mode that must not be set.
    enum Forbidden: mode_t {
        /// Of a secret: nobody else reads or writes it.
        case others = 0o077
        /// Of what is believed: nobody else writes it.
        case othersWriting = 0o022
    }

    /// Larger files are refused.
    static let maxBytes = 1 << 20

    /// The file's text; nil where there is none.
    ///
    /// The file must be a regular one, not a link, that belongs to the user of this process or to root.
    static func read(_ path: String, _ forbidden: Forbidden) throws(KeyFileError) -> String? {
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
        guard found.st_uid == geteuid() || found.st_uid == 0 else {
            throw KeyFileError("\(path) belongs to user \(found.st_uid), who could change it: chown it")
        }
        guard found.st_mode & forbidden.rawValue == 0 else {
            switch forbidden {
            case .others: throw KeyFileError("\(path) can be read or changed by others: chmod 600 \(path)")
            case .othersWriting: throw KeyFileError("\(path) can be changed by others: chmod go-w \(path)")
            }
        }
    }

    enum Replacing {
        case never
        case whatIsThere
    }

    /// Writes a file that its owner alone may read and write; on disk, under its name, when this returns.
    static func write(_ text: String, _ path: String, _ replacing: Replacing) throws(KeyFileError) {
        let temporary = "\(path).\(getpid()).new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failed("write", temporary) }
        defer { close(file) }
        do throws(KeyFileError) {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failed("write", temporary) }
                rest = rest.dropFirst(count)
            }
            guard fsync(file) == 0 else { throw failed("sync", temporary) }
            switch replacing {
            case .never:
                guard link(temporary, path) == 0 else {
                    throw errno == EEXIST
                        ? KeyFileError("\(path) is there already, and keys are never written over")
                        : failed("write", path)
                }
                unlink(temporary)
            case .whatIsThere:
                guard rename(temporary, path) == 0 else { throw failed("write", path) }
            }
        } catch {
            unlink(temporary)
            throw error
        }
        try syncDirectory(of: path)
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

    /// Makes a directory, and those above it, for its owner alone; one that is there stays as it is.
    static func makeDirectory(_ path: String) throws(KeyFileError) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, path != parent(of: path) else { throw failed("make", path) }
        try makeDirectory(parent(of: path))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failed("make", path) }
    }

    static func failed(_ what: String, _ path: String) -> KeyFileError {
        KeyFileError("can't \(what) \(path): \(String(cString: strerror(errno)))")
    }
}
