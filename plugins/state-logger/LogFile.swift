import Glibc

/// A call on the log's file that failed.
struct LogError: Error, CustomStringConvertible {
    let call: String
    let path: String
    let number: Int32
    var description: String { "\(call) \(path): \(String(cString: strerror(number)))" }
}

/// Where lines go: a file that is appended to, or standard output.
final class LogFile {
    private let path: String
    private let descriptor: Int32
    /// The end of what was there; empty for standard output.
    private(set) var tail: [UInt8] = []

    private static let tailBytes: off_t = 64 << 10

    /// - Parameter path: nil for standard output.
    init(_ path: String?) throws {
        self.path = path ?? "standard output"
        guard let path else {
            descriptor = STDOUT_FILENO
            return
        }
        descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw LogError(call: "open", path: path, number: errno) }
        let size = lseek(descriptor, 0, SEEK_END)
        let start = max(0, size - Self.tailBytes)
        var bytes = [UInt8](repeating: 0, count: Int(max(0, size - start)))
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, start) }
        tail = Array(bytes[..<max(0, count)])
        // A line that was cut off by a crash is not whole: it is told of again.
        if let feed = tail.lastIndex(of: UInt8(ascii: "\n")), feed + 1 < tail.count {
            _ = ftruncate(descriptor, start + off_t(feed) + 1)
        } else if start == 0, !tail.isEmpty, !tail.contains(UInt8(ascii: "\n")) {
            _ = ftruncate(descriptor, 0)
        }
    }

    deinit { if descriptor != STDOUT_FILENO { close(descriptor) } }

    /// Writes whole lines.
    func append(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let written = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress! + done, bytes.count - done)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw LogError(call: "write", path: path, number: errno) }
            done += written
        }
    }
}
