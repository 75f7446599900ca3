import Glibc
import HoldgateClient

/// Where a command reads and writes: the process's own, or a test's.
struct Console: Sendable {
    /// Results.
    var out: @Sendable (String) -> Void
    /// As `out`, and tells whether it could be written; nil: as `out` does.
    var checkedOut: (@Sendable (String) -> Bool)?
    /// Progress and complaints.
    var err: @Sendable (String) -> Void
    var isOutTerminal = false
    var isErrTerminal = false
    /// Whether somebody is there to be asked.
    var isAnybodyThere = false
    /// Asks that person, and returns the answer; nil for none.
    var ask: @Sendable (String) -> String?
    var environment: @Sendable (String) -> String?
    /// The whole environment.
    var variables: @Sendable () -> [String: String] = { [:] }
    /// Milliseconds since 1970.
    var wallMs: @Sendable () -> Int64
    /// `user@host`
    var identity: String

    /// Whether results may be coloured: on a terminal, and not against `NO_COLOR`.
    var isColoured: Bool { isOutTerminal && (environment("NO_COLOR") ?? "").isEmpty }

    /// Results that must not be cut short unnoticed.
    func write(_ text: String) throws {
        guard let checkedOut else { return out(text) }
        guard checkedOut(text) else { throw OutputFile.Failure(path: "standard output") }
    }

    static func standard() -> Console {
        Console(
            out: { write($0, to: STDOUT_FILENO) }, checkedOut: { write($0, to: STDOUT_FILENO) },
            err: { write($0, to: STDERR_FILENO) },
            isOutTerminal: isatty(STDOUT_FILENO) == 1, isErrTerminal: isatty(STDERR_FILENO) == 1,
            isAnybodyThere: isatty(STDIN_FILENO) == 1,
            ask: { question in
                write(question, to: STDERR_FILENO)
                let answer = readLine()
                if answer == nil { write("\n", to: STDERR_FILENO) }
                return answer
            },
            environment: { name in getenv(name).map { String(cString: $0) } }, variables: allVariables,
            wallMs: {
                var time = timespec()
                clock_gettime(CLOCK_REALTIME, &time)
                return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
            },
            identity: identity())
    }

    /// Whole, however often it takes; a reader that has gone ends the process as it does other filters.
    @discardableResult static func write(_ text: String, to descriptor: Int32) -> Bool {
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            let written = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + done, bytes.count - done)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return false }
            done += written
        }
        return true
    }

    /// All variables; what has no `=` is none.
    private static func allVariables() -> [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return variables
    }

    private static func identity() -> String {
        var host = [CChar](repeating: 0, count: 256)
        gethostname(&host, host.count - 1)
        let name = host.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        let user = getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) } ?? String(getuid())
        return "\(user)@\(name)"
    }
}
