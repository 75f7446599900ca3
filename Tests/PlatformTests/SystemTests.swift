import CPlatform
import Glibc
import Platform
import Testing

@Suite struct SystemTests {
    @Test func aBlockedSignalIsReadFromItsDescriptor() throws {
        // A signal for one thread, and a descriptor read by the same one: whoever runs this test must stay
        // put.
        let join = try start("signalled") {
            do {
                let signals = try SignalFD([SIGUSR1, SIGUSR2])
                #expect(signals.next() == nil)
                #expect(!isReadable(signals.fileDescriptor))
                pthread_kill(pthread_self(), SIGUSR2)
                #expect(isReadable(signals.fileDescriptor))
                #expect(signals.next() == SIGUSR2)
                #expect(signals.next() == nil)
                pthread_kill(pthread_self(), SIGUSR1)
                #expect(Signals.wait(for: [SIGUSR1]) == SIGUSR1)
            } catch {
                Issue.record(error)
            }
        }
        join()
    }

    @Test func aWriteToNobodyIsAnErrorAndNotTheEnd() {
        Signals.ignorePipe()
        var ends: [Int32] = [-1, -1]
        #expect(hg_pipe(&ends, 1) == 0)
        close(ends[0])
        #expect(write(ends[1], "x", 1) == -1)
        #expect(errno == EPIPE)
        close(ends[1])
    }

    @Test func theClocksAgreeWithThemselves() {
        let first = Clock.now()
        let ns = Clock.monotonicNs()
        let second = Clock.now()
        #expect(first.monotonicMs <= ns / 1_000_000)
        #expect(ns / 1_000_000 <= second.monotonicMs)
        // Later than this was written, and before the year 3000.
        #expect((1_767_225_600_000...32_503_680_000_000).contains(first.wallMs))
    }

    @Test func aCopyHasAnotherIdentity() throws {
        let directory = try temporaryDirectory()
        defer { rmdir(directory) }
        let paths = [directory + "/a", directory + "/b", directory + "/c"]
        for path in paths.prefix(2) { close(open(path, O_CREAT | O_WRONLY, 0o600)) }
        defer { for path in paths { unlink(path) } }
        let (first, second) = (try FileIdentity(path: paths[0]), try FileIdentity(path: paths[1]))
        #expect(first.inode != second.inode)
        rename(paths[0], paths[2])
        #expect(try FileIdentity(path: paths[2]) == first)
        #expect(throws: PlatformError(call: "statx \(paths[0])", number: ENOENT)) {
            try FileIdentity(path: paths[0])
        }
    }

    private func temporaryDirectory() throws -> String {
        var template = Array("/tmp/holdgate-platform-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
        try #require(made)
        return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    @Test func theLimitOfOpenFilesIsRaisedToWhatTheSystemAllows() {
        OpenFiles.raiseLimit()
        var limit = rlimit()
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        #expect(limit.rlim_cur == limit.rlim_max)
    }
}
