import Glibc
import Testing

@testable import Journal

@Suite struct StateDirectoryTests {
    /// A directory of its own for each test, removed at its end.
    static func inScratch(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/holdgate-state-XXXXXX".utf8CString)
        let made: String? = template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
            return String(cString: base)
        }
        let path = try #require(made)
        defer {
            for name in ["state", "copy", "parent/state"] {
                for file in ["lock", "identity", "identity.new", "reserve", "history-00000001.ndjson"] {
                    unlink("\(path)/\(name)/\(file)")
                }
                rmdir("\(path)/\(name)")
            }
            rmdir("\(path)/parent")
            rmdir(path)
        }
        try body(path)
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &buffer, buffer.count)
        return Array(buffer.prefix(count))
    }

    static func write(_ bytes: [UInt8], _ path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    static func opening(_ path: String, restored: Bool = false) -> StateDirectoryError? {
        do {
            _ = try StateDirectory.open(path, restored: restored)
            return nil
        } catch {
            return error
        }
    }

    @Test func itIsMadeForItsOwnerAloneAndOpensAgain() throws {
        try Self.inScratch { scratch in
            let path = scratch + "/parent/state"
            #expect(Self.opening(path) == nil)
            #expect(Self.opening(path + "/") == nil)
            for made in [path, scratch + "/parent"] {
                var status = stat()
                #expect(stat(made, &status) == 0 && status.st_mode & 0o777 == 0o700)
            }
        }
    }

    @Test func aSecondHostIsTurnedAwayWithTheFirstOnesProcess() throws {
        try Self.inScratch { scratch in
            let path = scratch + "/state"
            let held = try StateDirectory.open(path, restored: false)
            #expect(Self.opening(path) == .locked(path: path, holder: getpid()))
            #expect(Self.opening(path, restored: true) == .locked(path: path, holder: getpid()))
            #expect(held.path == path)
        }
    }

    @Test func theLockEndsWithItsHolder() throws {
        try Self.inScratch { scratch in
            do { _ = try StateDirectory.open(scratch + "/state", restored: false) }
            #expect(Self.opening(scratch + "/state") == nil)
        }
    }

    @Test func aCopyIsRefusedUntilItIsAcceptedAsRestored() throws {
        try Self.inScratch { scratch in
            let (path, copy) = (scratch + "/state", scratch + "/copy")
            #expect(Self.opening(path) == nil)
            #expect(mkdir(copy, 0o700) == 0)
            try Self.write(try Self.bytes(path + "/identity"), copy + "/identity")
            let copied = StateDirectoryError.copied(
                path: copy, what: "`identity` is another file than the one that was written")
            #expect(Self.opening(copy) == copied)
            #expect(copied.description.contains("--restored"))
            #expect(Self.opening(copy, restored: true) == nil)
            #expect(Self.opening(copy) == nil)
            #expect(Self.opening(path) == nil)
        }
    }

    @Test func filesWithoutAnIdentityAreACopy() throws {
        try Self.inScratch { scratch in
            let path = scratch + "/state"
            #expect(mkdir(path, 0o700) == 0)
            try Self.write([1], path + "/history-00000001.ndjson")
            #expect(
                Self.opening(path)
                    == .copied(path: path, what: "it holds files, and `identity` is missing among them"))
            #expect(Self.opening(path, restored: true) == nil)
            #expect(Self.opening(path) == nil)
        }
    }

    @Test func anUnreadableIdentityNeedsRestoredAndANewerOneAnotherHost() throws {
        try Self.inScratch { scratch in
            let path = scratch + "/state"
            #expect(Self.opening(path) == nil)
            try Self.write(Array("{}".utf8), path + "/identity")
            #expect(
                Self.opening(path)
                    == .copied(path: path, what: "`identity` can't be read: `format` is missing"))
            try Self.write(
                Array(#"{"format":"holdgate-state","version":2,"inode":1}"#.utf8), path + "/identity")
            let newer = StateDirectoryError.unknownVersion(path: path + "/identity", version: 2)
            #expect(Self.opening(path) == newer)
            #expect(Self.opening(path, restored: true) == newer)
        }
    }

    @Test func aFileInItsPlaceIsAnErrorWithItsPath() throws {
        try Self.inScratch { scratch in
            let path = scratch + "/state"
            try Self.write([1], path)
            defer { unlink(path) }
            guard case .system(path + "/lock", let error) = Self.opening(path) else {
                Issue.record("a file was opened as a directory")
                return
            }
            #expect(error.number == ENOTDIR)
        }
    }

    @Test func aHistoryGoesOnInARealDirectory() throws {
        try Self.inScratch { scratch in
            let directory = try StateDirectory.open(scratch + "/state", restored: false)
            let storage = try PosixStorage(directory: directory.path)
            for draft in HistoryWorld.five {
                _ = try History.open(storage: storage).append([draft])
            }
            var records: [HistoryRecord] = []
            let history = try History.open(storage: storage) { records.append($0) }
            #expect(records.map(\.draft) == HistoryWorld.five)
            #expect(history.hasReserve)
            let file = try Self.bytes(scratch + "/state/history-00000001.ndjson")
            #expect(try file == HistoryWorld.fiveRecords().bytes(HistoryWorld.first))
        }
    }
}
