import Glibc
import Journal
import Ledger
import Lifecycle
import Simulator
import Testing
import Wire

/// A directory of its own, removed with the value.
private final class TemporaryDirectory {
    let path: String

    init() {
        var template = Array("/tmp/holdgate-test-XXXXXX".utf8CString)
        template.withUnsafeMutableBufferPointer { _ = mkdtemp($0.baseAddress!) }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        for name in (try? PosixStorage(directory: path).names()) ?? [] { unlink(path + "/" + name) }
        rmdir(path)
    }
}

@Suite struct PosixStorageTests {
    @Test func filesAreWrittenReadRenamedAndRemoved() throws {
        let directory = TemporaryDirectory()
        let storage = try PosixStorage(directory: directory.path)
        #expect(
            throws: StorageError(kind: .missing, call: "openat", path: directory.path + "/a", number: ENOENT)
        ) {
            _ = try storage.open("a", create: false)
        }
        let file = try storage.open("a", create: true)
        // More parts than one call takes, empty ones among them.
        let bytes = (0..<4_000).map { UInt8(truncatingIfNeeded: $0) }
        try bytes.withUnsafeBytes { all in
            var parts: [UnsafeRawBufferPointer] = []
            for at in stride(from: 0, to: 4_000, by: 4) {
                parts.append(UnsafeRawBufferPointer(rebasing: all[at..<at + 4]))
                parts.append(UnsafeRawBufferPointer(start: nil, count: 0))
            }
            try file.write(parts, at: 10)
        }
        try file.sync()
        #expect(try file.byteCount() == 4_010)
        var read = [UInt8](repeating: 9, count: 5_000)
        let count = try read.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        #expect(count == 4_010)
        #expect(Array(read[..<10]) == [UInt8](repeating: 0, count: 10) && Array(read[10..<4_010]) == bytes)
        try file.truncate(to: 3)
        #expect(try file.byteCount() == 3)
        try storage.rename("a", to: "b")
        try storage.syncDirectory()
        #expect(try storage.names() == ["b"])
        try storage.remove("b")
        #expect(try storage.names() == [])
    }

    @Test func filesAreTheOwnersAlone() throws {
        let directory = TemporaryDirectory()
        _ = try PosixStorage(directory: directory.path).open("a", create: true)
        var status = stat()
        #expect(stat(directory.path + "/a", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func aLinkIsNotFollowed() throws {
        let directory = TemporaryDirectory()
        let storage = try PosixStorage(directory: directory.path)
        #expect(symlink("/dev/null", directory.path + "/a") == 0)
        #expect(
            throws: StorageError(kind: .failed, call: "openat", path: directory.path + "/a", number: ELOOP)
        ) {
            _ = try storage.open("a", create: true)
        }
    }

    @Test func aLogOnARealDiskComesBack() throws {
        let directory = TemporaryDirectory()
        var configuration = Log.Configuration()
        configuration.segmentBytes = 64 << 10
        var expected: [UInt64: String] = [:]
        var ledger: Ledger
        do {
            let storage = try PosixStorage(directory: directory.path)
            let log = try Log.open(storage: storage, configuration: configuration) { .random(in: 0 ... .max) }
            try log.commit([.entry(.known(collector: "c", cursor: .zero))])
            for first in stride(from: UInt64(1), to: 2_000, by: 100) {
                let lines = (0..<100).map { SampleEvents.line(first + $0, byteCount: 80) }
                for (index, line) in lines.enumerated() { expected[first + UInt64(index)] = line }
                try log.commit([
                    .block(SampleEvents.stamp(first: first, lines: lines), LineBlock(lines: lines))
                ])
            }
            ledger = log.ledger
            #expect(try readAll(log) == expected)
        }
        let storage = try PosixStorage(directory: directory.path)
        let log = try Log.open(storage: storage, configuration: configuration) { .random(in: 0 ... .max) }
        #expect(log.ledger == ledger)
        #expect(log.segments.count > 2)
        #expect(try readAll(log, budgetBytes: 20_000) == expected)
    }
}
