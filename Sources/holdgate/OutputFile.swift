import Glibc

/// A file that is there whole under its name, or not at all. It can be read by its owner alone.
final class OutputFile {
    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
        /// What `errno` says of a call that has just failed.
        init(path: String) { description = "can't write \(path): \(String(cString: strerror(errno)))" }
    }

    private let path: String
    private let temporary: String
    private let descriptor: Int32
    private var isFinished = false

    init(_ path: String) throws {
        self.path = path
        temporary = "\(path).\(getpid()).new"
        var found = stat()
        if lstat(path, &found) == 0, found.st_mode & S_IFMT != S_IFREG {
            throw Failure("\(path) is there, and no regular file: name another")
        }
        descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(path: path) }
    }

    deinit {
        close(descriptor)
        if !isFinished { unlink(temporary) }
    }

    func write(_ text: String) throws {
        guard Console.write(text, to: descriptor) else { throw Failure(path: path) }
    }

    /// Gives it its name, in place of what has it.
    func finish() throws {
        guard fsync(descriptor) == 0 else { throw Failure(path: path) }
        guard rename(temporary, path) == 0 else { throw Failure(path: path) }
        isFinished = true
    }
}
