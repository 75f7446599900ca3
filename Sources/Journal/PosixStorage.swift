import Glibc

/// The files of a real directory.
public final class PosixStorage: Storage {
    private let path: String
    /// Of the directory, so that a replaced or moved one is never mixed with the one that was opened.
    private let directory: Int32
    private let isReadOnly: Bool

    /// Opens a directory that is there already.
    ///
    /// - Parameter isReadOnly: files are opened for reading alone; every write to them fails.
    public init(directory path: String, isReadOnly: Bool = false) throws(StorageError) {
        self.path = path
        self.isReadOnly = isReadOnly
        directory = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw StorageError(call: "open", path: path) }
    }

    deinit { close(directory) }

    public func names() throws(StorageError) -> [String] {
        // A descriptor of its own: `fdopendir` takes it over, and its place in the directory with it.
        let descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(call: "openat", path: path) }
        guard let stream = fdopendir(descriptor) else {
            let error = StorageError(call: "fdopendir", path: path)
            close(descriptor)
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw StorageError(call: "readdir", path: path) }
        return names
    }

    public func open(_ name: String, create: Bool) throws(StorageError) -> any StorageFile {
        check(name)
        let access = isReadOnly ? O_RDONLY : O_RDWR | (create ? O_CREAT : 0)
        let flags = access | O_CLOEXEC | O_NOFOLLOW
        let descriptor = retrying { openat(directory, name, flags, 0o600) }
        guard descriptor >= 0 else { throw StorageError(call: "openat", path: path + "/" + name) }
        return PosixFile(descriptor: descriptor, path: path + "/" + name)
    }

    public func rename(_ name: String, to target: String) throws(StorageError) {
        check(name)
        check(target)
        precondition(!isReadOnly, "nothing is renamed where nothing may be written")
        guard renameat(directory, name, directory, target) == 0 else {
            throw StorageError(call: "renameat", path: path + "/" + name)
        }
    }

    public func remove(_ name: String) throws(StorageError) {
        check(name)
        precondition(!isReadOnly, "nothing is removed where nothing may be written")
        guard unlinkat(directory, name, 0) == 0 else {
            throw StorageError(call: "unlinkat", path: path + "/" + name)
        }
    }

    public func syncDirectory() throws(StorageError) {
        guard retrying({ fsync(directory) }) == 0 else { throw StorageError(call: "fsync", path: path) }
    }

    private func check(_ name: String) {
        precondition(!name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/")))
    }
}

/// One open file of a `PosixStorage`.
final class PosixFile: StorageFile {
    /// Parts that go to the kernel in one call; it takes at most 1,024.
    private static let partLimit = 512

    private let descriptor: Int32
    private let path: String

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    func byteCount() throws(StorageError) -> UInt64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw StorageError(call: "fstat", path: path) }
        return UInt64(status.st_size)
    }

    func write(_ parts: [UnsafeRawBufferPointer], at offset: UInt64) throws(StorageError) {
        var at = offset
        var part = 0
        // Bytes of the part that are written already.
        var done = 0
        while true {
            while part < parts.count && done == parts[part].count { (part, done) = (part + 1, 0) }
            guard part < parts.count else { return }
            var written = try writeSome(parts, from: part, skipping: done, at: at)
            at += UInt64(written)
            while written > 0 {
                let step = min(written, parts[part].count - done)
                written -= step
                done += step
                if done == parts[part].count { (part, done) = (part + 1, 0) }
            }
        }
    }

    private func writeSome(
        _ parts: [UnsafeRawBufferPointer], from first: Int, skipping done: Int, at offset: UInt64
    ) throws(StorageError) -> Int {
        let count = min(parts.count - first, Self.partLimit)
        let written = withUnsafeTemporaryAllocation(of: iovec.self, capacity: count) { vectors in
            for index in 0..<count {
                let bytes = parts[first + index]
                let skipped = index == 0 ? done : 0
                let start = bytes.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + skipped) }
                vectors.initializeElement(
                    at: index, to: iovec(iov_base: start, iov_len: bytes.count - skipped))
            }
            return retrying { pwritev(descriptor, vectors.baseAddress, Int32(count), off_t(offset)) }
        }
        guard written > 0 else {
            // Nothing written, and no reason given: only a full device does that.
            if written == 0 { errno = ENOSPC }
            throw StorageError(call: "pwritev", path: path)
        }
        return written
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = retrying {
                pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            }
            guard count >= 0 else { throw StorageError(call: "pread", path: path) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    func truncate(to byteCount: UInt64) throws(StorageError) {
        guard retrying({ Int(ftruncate(descriptor, off_t(byteCount))) }) == 0 else {
            throw StorageError(call: "ftruncate", path: path)
        }
    }

    func sync() throws(StorageError) {
        // Not even after EINTR: a failed sync may have marked the pages clean.
        guard fdatasync(descriptor) == 0 else { throw StorageError(call: "fdatasync", path: path) }
    }
}

/// Repeats a call that a signal interrupted.
private func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

extension StorageError {
    /// What `errno` says of a call that has just failed.
    init(call: String, path: String) {
        let number = errno
        let kind: Kind =
            switch number {
            case ENOSPC, EDQUOT: .full
            case ENOENT: .missing
            default: .failed
            }
        self.init(kind: kind, call: call, path: path, number: number)
    }
}
