import Glibc

/// A call on a file that failed.
struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    let call: String
    let path: String
    let number: Int32
    var description: String { "\(call) \(path): \(String(cString: strerror(number)))" }
}

/// One small file that is replaced as a whole: after a crash it is what it was before or what it was to become.
final class StateFile {
    private let directory: String
    private let path: String
    private let descriptor: Int32

    /// Makes the directory where it is missing, and locks it against a second process.
    init(in directory: String) throws(FileError) {
        self.directory = directory
        path = directory + "/geofence.json"
        if mkdir(directory, 0o755) != 0, errno != EEXIST {
            throw FileError(call: "mkdir", path: directory, number: errno)
        }
        descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(call: "open", path: directory, number: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(descriptor)
            throw FileError(call: "lock (does another geofence use it?)", path: directory, number: number)
        }
    }

    deinit { close(descriptor) }

    /// Nil where there is none.
    func read() throws(FileError) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw FileError(call: "open", path: path, number: errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(call: "read", path: path, number: errno) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// Returns once it is durable.
    func write(_ text: String) throws(FileError) {
        let fresh = path + ".new"
        try Self.fill(fresh, Array(text.utf8), truncating: true)
        guard rename(fresh, path) == 0 else { throw FileError(call: "rename", path: path, number: errno) }
        try sync()
    }

    /// Overwrites and removes it.
    func erase() throws(FileError) {
        for each in [path, path + ".new"] {
            var status = stat()
            guard stat(each, &status) == 0 else { continue }
            try Self.fill(each, [UInt8](repeating: 0, count: Int(status.st_size)), truncating: false)
            guard unlink(each) == 0 else { throw FileError(call: "unlink", path: each, number: errno) }
        }
        try sync()
    }

    private func sync() throws(FileError) {
        guard fsync(descriptor) == 0 else { throw FileError(call: "fsync", path: directory, number: errno) }
    }

    private static func fill(_ path: String, _ bytes: [UInt8], truncating: Bool) throws(FileError) {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (truncating ? O_TRUNC : 0)
        let file = open(path, flags, 0o600)
        guard file >= 0 else { throw FileError(call: "open", path: path, number: errno) }
        defer { close(file) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress! + done, bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileError(call: "write", path: path, number: errno) }
            done += count
        }
        guard fsync(file) == 0 else { throw FileError(call: "fsync", path: path, number: errno) }
    }
}
