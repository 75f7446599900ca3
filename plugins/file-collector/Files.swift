import Glibc

/// A call on a file that failed.
struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    let call: String
    let path: String
    let number: Int32
    var description: String { "\(call) \(path): \(String(cString: strerror(number)))" }
}

/// Another collector holds the directory's lock.
struct DirectoryInUse: Error, CustomStringConvertible {
    let path: String
    var description: String { "\(path) is in use by another collector: stop that one, or give --dir another" }
}

/// The files of one directory: everything that the collector asks of a disk. Tests put one between that loses
/// what was not synced.
protocol Directory: AnyObject {
    func names() throws -> [String]
    /// Opens for reading and appending, and makes it where it is missing.
    func open(_ name: String) throws -> any AppendFile
    /// Makes new files durable.
    func sync() throws
}

protocol AppendFile: AnyObject {
    func byteCount() throws -> UInt64
    /// Writes all parts at the end, one after the other.
    func append(_ parts: [UnsafeRawBufferPointer]) throws
    func read(_ count: Int, at offset: UInt64) throws -> [UInt8]
    func truncate(to byteCount: UInt64) throws
    /// Makes what was appended durable. Once failed, it must not be tried again.
    func sync() throws
}

/// A directory of Linux.
final class RealDirectory: Directory {
    let path: String
    private let descriptor: Int32

    /// Makes the directory where it is missing, and locks it against a second collector.
    init(_ path: String) throws {
        self.path = path
        if mkdir(path, 0o755) != 0, errno != EEXIST {
            throw FileError(call: "mkdir", path: path, number: errno)
        }
        descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(call: "open", path: path, number: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(descriptor)
            guard number == EWOULDBLOCK else { throw FileError(call: "flock", path: path, number: number) }
            throw DirectoryInUse(path: path)
        }
    }

    deinit { close(descriptor) }

    func names() throws -> [String] {
        guard let stream = opendir(path) else { throw FileError(call: "opendir", path: path, number: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    func open(_ name: String) throws -> any AppendFile { try RealFile(path + "/" + name) }

    func sync() throws {
        guard fsync(descriptor) == 0 else { throw FileError(call: "fsync", path: path, number: errno) }
    }
}

final class RealFile: AppendFile {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = Glibc.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileError(call: "open", path: path, number: errno) }
    }

    deinit { close(descriptor) }

    func byteCount() throws -> UInt64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw FileError(call: "fstat", path: path, number: errno)
        }
        return UInt64(status.st_size)
    }

    func append(_ parts: [UnsafeRawBufferPointer]) throws {
        var vectors = parts.filter { !$0.isEmpty }.map { part in
            iovec(iov_base: UnsafeMutableRawPointer(mutating: part.baseAddress), iov_len: part.count)
        }
        var done = 0
        while done < vectors.count {
            let count = min(vectors.count - done, Int(IOV_MAX))
            let written = vectors.withUnsafeBufferPointer {
                writev(descriptor, $0.baseAddress! + done, Int32(count))
            }
            if written < 0, errno == EINTR { continue }
            guard written >= 0 else { throw FileError(call: "write", path: path, number: errno) }
            var rest = written
            while done < vectors.count, rest >= vectors[done].iov_len {
                rest -= vectors[done].iov_len
                done += 1
            }
            if rest > 0 {
                vectors[done].iov_base += rest
                vectors[done].iov_len -= rest
            }
        }
    }

    func read(_ count: Int, at offset: UInt64) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress! + done, count - done, off_t(offset) + off_t(done))
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw FileError(call: "read", path: path, number: errno) }
            if got == 0 { break }
            done += got
        }
        return Array(bytes[..<done])
    }

    func truncate(to byteCount: UInt64) throws {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else {
            throw FileError(call: "ftruncate", path: path, number: errno)
        }
    }

    func sync() throws {
        guard fdatasync(descriptor) == 0 else {
            throw FileError(call: "fdatasync", path: path, number: errno)
        }
    }
}

private let IOV_MAX = 1024
