import Glibc

/// A file that is read from start to end; `-` is standard input.
final class InputFile {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure(description: "can't read \(path): \(String(cString: strerror(errno)))")
        }
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// Reads into `buffer`; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else {
                throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
            }
        }
    }

    /// The whole file as text.
    static func contents(of path: String, limit: Int) throws -> String {
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw Failure(description: "\(path): more than \(limit) bytes")
            }
        }
    }
}
