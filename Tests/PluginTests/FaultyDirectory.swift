@testable import file_collector

/// Random numbers that a seed repeats.
struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

struct Crash: Error {}

/// A disk that loses what was not synced, a page at a time and in any order, and a process that dies at a
/// given call.
final class FaultyDirectory: file_collector.Directory {
    final class Content {
        var bytes: [UInt8] = []
        /// What a crash can't take.
        var synced: [UInt8] = []
    }

    /// Small, so that a receipt spans several.
    static let pageBytes = 32

    private var files: [String: Content] = [:]
    private var durableNames: Set<String> = []
    /// Calls left before the process dies; nil: it lives.
    var callsLeft: Int?

    func content(_ name: String) -> [UInt8] { files[name]?.bytes ?? [] }

    func call() throws {
        guard let left = callsLeft else { return }
        guard left > 0 else { throw Crash() }
        callsLeft = left - 1
    }

    func names() throws -> [String] { files.keys.sorted() }

    func open(_ name: String) throws -> any AppendFile {
        let content = files[name] ?? Content()
        files[name] = content
        return FaultyFile(content, self)
    }

    func sync() throws {
        try call()
        durableNames = Set(files.keys)
    }

    /// The machine loses power and comes back.
    func loseUnsynced(_ random: inout Seeded) {
        callsLeft = nil
        for name in files.keys.sorted() where !durableNames.contains(name) && random.chance(50) {
            files[name] = nil
        }
        for name in files.keys.sorted() {
            guard let content = files[name], content.bytes != content.synced else { continue }
            content.bytes = Self.survivors(of: content, &random)
            content.synced = content.bytes
        }
    }

    private static func survivors(of content: Content, _ random: inout Seeded) -> [UInt8] {
        let (old, new) = (content.synced, content.bytes)
        let longest = max(old.count, new.count)
        let shortest = min(old.count, new.count)
        let length = shortest + random.below(longest - shortest + 1)
        var result = [UInt8](repeating: 0, count: length)
        for start in stride(from: 0, to: length, by: pageBytes) {
            let source = random.chance(50) ? new : old
            for at in start..<min(start + pageBytes, length) where at < source.count {
                result[at] = source[at]
            }
        }
        // Bytes that both have are on the disk in either page.
        for at in 0..<min(length, shortest) { result[at] = new[at] }
        return result
    }
}

private final class FaultyFile: AppendFile {
    private let content: FaultyDirectory.Content
    private let directory: FaultyDirectory

    init(_ content: FaultyDirectory.Content, _ directory: FaultyDirectory) {
        self.content = content
        self.directory = directory
    }

    func byteCount() throws -> UInt64 { UInt64(content.bytes.count) }

    func append(_ parts: [UnsafeRawBufferPointer]) throws {
        for part in parts {
            do {
                try directory.call()
            } catch {
                // Cut off in the middle of a write.
                content.bytes.append(contentsOf: part.prefix(part.count / 2))
                throw error
            }
            content.bytes.append(contentsOf: part)
        }
    }

    func read(_ count: Int, at offset: UInt64) throws -> [UInt8] {
        Array(content.bytes.dropFirst(Int(offset)).prefix(count))
    }

    func truncate(to byteCount: UInt64) throws {
        try directory.call()
        content.bytes.removeLast(content.bytes.count - Int(byteCount))
    }

    func sync() throws {
        try directory.call()
        content.synced = content.bytes
    }
}
