import CPlatform
import Glibc

/// What the process does about signals. Call `ignorePipe` and `block` first thing in main.
public enum Signals {
    /// The ones that end a service or tell it to look again.
    public static let service: [Int32] = [SIGTERM, SIGINT, SIGHUP]

    /// Writing to a peer that has gone is an error of that call, not the end of the process. libzmq needs it
    /// too. Processes started later inherit it, and must be given the default action back.
    public static func ignorePipe() { signal(SIGPIPE, SIG_IGN) }

    /// Blocks them in the calling thread and in all threads that it starts later: before any is started, they
    /// wait for a `SignalFD` or for `wait`.
    public static func block(_ signals: [Int32] = service) {
        var set = set(of: signals)
        let status = pthread_sigmask(SIG_BLOCK, &set, nil)
        precondition(status == 0, "pthread_sigmask: \(status)")
    }

    /// Sleeps until one of these, which must be blocked, is sent to the process.
    public static func wait(for signals: [Int32] = service) -> Int32 {
        var set = set(of: signals)
        var number: Int32 = 0
        let status = sigwait(&set, &number)
        precondition(status == 0, "sigwait: \(status)")
        return number
    }

    static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals {
            let status = sigaddset(&set, signal)
            precondition(status == 0, "no signal: \(signal)")
        }
        return set
    }

    /// All signals but those that a thread raises by its own fault, which can't be held back.
    static func allButFaults() -> sigset_t {
        var set = sigset_t()
        sigfillset(&set)
        for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&set, signal) }
        return set
    }
}

/// Blocked signals as a descriptor that a poll loop can watch.
public final class SignalFD: Sendable {
    /// Readable while a signal waits. Stays owned by this object.
    public let fileDescriptor: Int32

    /// Blocks these signals in the calling thread too.
    public init(_ signals: [Int32] = Signals.service) throws(PlatformError) {
        Signals.block(signals)
        fileDescriptor = hg_signalfd(signals, signals.count)
        guard fileDescriptor >= 0 else { throw PlatformError(call: "signalfd", number: errno) }
    }

    deinit { close(fileDescriptor) }

    /// The next signal, or nil if none waits. Never blocks.
    public func next() -> Int32? {
        let number = hg_signalfd_next(fileDescriptor)
        precondition(number >= 0, "read of a signalfd: errno \(errno)")
        return number == 0 ? nil : number
    }
}
