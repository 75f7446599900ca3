import Glibc
import Testing

/// Runs `body` with a new directory, which is removed with its files afterwards.
func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
    var template = Array("/tmp/holdgate-keys-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
    try #require(made)
    let directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    defer {
        for name in names(directory) {
            unlink(directory + "/" + name)
            rmdir(directory + "/" + name)
        }
        rmdir(directory)
    }
    try body(directory)
}

func names(_ directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        names.append(
            withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                String(cString: UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self))
            })
    }
    return names.filter { $0 != "." && $0 != ".." }.sorted()
}

func put(_ text: String, _ path: String, mode: mode_t = 0o600) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    try #require(write(file, text, text.utf8.count) == text.utf8.count)
    try #require(fchmod(file, mode) == 0)
}

func get(_ path: String) throws -> String {
    let file = open(path, O_RDONLY)
    try #require(file >= 0)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4 << 20)
    let count = read(file, &bytes, bytes.count)
    try #require(count >= 0)
    return String(decoding: bytes[..<count], as: UTF8.self)
}

func mode(_ path: String) -> mode_t {
    var status = stat()
    guard lstat(path, &status) == 0 else { return 0 }
    return status.st_mode & 0o7777
}
