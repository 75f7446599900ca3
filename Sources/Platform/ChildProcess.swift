import CPlatform
import Glibc

/// A process that this one started: in a process group of its own, ended by the kernel when the thread
/// that started
/// it ends, without any of our descriptors.
///
/// ```swift
/// let child = try ChildProcess.spawn(.init(executable: "/bin/date"))
/// // poll child.output and child.exitDescriptor
/// ```
public final class ChildProcess: Sendable {
    public struct Order: Hashable, Sendable {
        /// A path; not looked for.
        public var executable: String
        /// What follows the program's name.
        public var arguments: [String]
        public var environment: [String: String]
        /// Where it starts; nil: where we are.
        public var directory: String?

        public init(
            executable: String, arguments: [String] = [], environment: [String: String] = [:],
            directory: String? = nil
        ) {
            self.executable = executable
            self.arguments = arguments
            self.environment = environment
            self.directory = directory
        }
    }

    public enum Exit: Hashable, Sendable, CustomStringConvertible {
        case status(Int32)
        case signal(Int32)
        /// Somebody else took it.
        case unknown

        public var isSuccess: Bool { self == .status(0) }

        public var description: String {
            switch self {
            case .status(let status): "exit status \(status)"
            case .signal(let number): "signal \(number) (\(String(cString: strsignal(number))))"
            case .unknown: "an unknown status"
            }
        }
    }

    public let pid: Int32
    /// Readable once it has ended. Stays owned by this object.
    public let exitDescriptor: Int32
    /// What it writes to standard output and error; non-blocking. Stays owned by this object.
    public let output: Int32
    private let exit = Locked<Exit?>(nil)

    private init(_ child: hg_child) {
        pid = child.pid
        exitDescriptor = child.pidfd
        output = child.output
    }

    /// Ends it, if it still runs.
    deinit {
        if exit.withLock({ $0 == nil }) {
            signalGroup(SIGKILL)
            _ = reap(wait: true)
        }
        close(exitDescriptor)
        close(output)
    }

    /// Starts a process; throws the call that failed, as `exec` or `chdir`.
    public static func spawn(_ order: Order) throws(PlatformError) -> ChildProcess {
        var child = hg_child()
        var failed: UnsafePointer<CChar>?
        let variables = order.environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let status = withCStrings([order.executable] + order.arguments) { arguments in
            withCStrings(variables) { environment in
                order.executable.withCString { executable in
                    withOptionalCString(order.directory) { directory in
                        var spawn = hg_spawn(
                            executable: executable, arguments: arguments, environment: environment,
                            directory: directory)
                        return hg_spawn(&spawn, &child, &failed) == 0 ? 0 : errno
                    }
                }
            }
        }
        guard status == 0 else {
            throw PlatformError(call: failed.map { String(cString: $0) } ?? "spawn", number: status)
        }
        return ChildProcess(child)
    }

    /// To it and to all that it started in its group. Nothing, once it was taken.
    public func signalGroup(_ number: Int32) {
        guard exit.withLock({ $0 == nil }) else { return }
        // The pid is not given to another before the process is taken.
        kill(-pid, number)
    }

    /// How it ended; nil while it runs. What is left of its group is killed first.
    public func reap(wait: Bool = false) -> Exit? {
        if let known = exit.withLock({ $0 }) { return known }
        if !wait {
            var polls = pollfd(fd: exitDescriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polls, 1, 0) == 1 else { return nil }
            signalGroup(SIGKILL)
        }
        var status: Int32 = 0
        var signal: Int32 = 0
        let result = hg_reap(exitDescriptor, wait ? 1 : 0, &status, &signal)
        guard result != 0 else { return nil }
        let found: Exit = result < 0 ? .unknown : signal != 0 ? .signal(signal) : .status(status)
        exit.withLock { $0 = found }
        return found
    }

    /// What it has written: appended to `bytes`, at most about `limit`. False once all writers are gone.
    public func read(into bytes: inout [UInt8], limit: Int) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var total = 0
        while total < limit {
            let count = Glibc.read(output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return errno == EAGAIN }
            if count == 0 { return false }
            bytes += buffer[..<count]
            total += count
        }
        return true
    }
}

private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return body(&pointers)
}

private func withOptionalCString<Result>(
    _ string: String?, _ body: (UnsafePointer<CChar>?) -> Result
) -> Result {
    guard let string else { return body(nil) }
    return string.withCString { body($0) }
}
