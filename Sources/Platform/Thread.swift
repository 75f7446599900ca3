import CPlatform
import Glibc

/// Threads of their own, for what blocks. Nothing in here touches Swift's task pool.
public enum Thread {
    /// Starts a thread that runs `body`, with all signals blocked but those of its own faults.
    ///
    /// - Parameter name: As `ps -L` and debuggers show it; the first 15 bytes are kept.
    public static func spawn(
        name: String, body: @escaping @Sendable () -> Void
    ) throws(PlatformError) -> ThreadHandle {
        var thread = pthread_t()
        let status = create(&thread, Unmanaged.passRetained(ThreadStart(name: name, body: body)))
        guard status == 0 else { throw PlatformError(call: "pthread_create", number: status) }
        return ThreadHandle(thread: thread)
    }

    private static func create(_ thread: inout pthread_t, _ start: Unmanaged<ThreadStart>) -> Int32 {
        // Blocked here and inherited: a signal can't meet the new thread before it has blocked it itself.
        var kept = sigset_t()
        var blocked = Signals.allButFaults()
        pthread_sigmask(SIG_SETMASK, &blocked, &kept)
        let status = pthread_create(&thread, nil, runThread, start.toOpaque())
        pthread_sigmask(SIG_SETMASK, &kept, nil)
        if status != 0 { start.release() }
        return status
    }
}

/// A function, for a closure formed at top level would belong to the main actor and trap on another thread.
private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let start = Unmanaged<ThreadStart>.fromOpaque(argument!).takeRetainedValue()
    hg_thread_name(start.name)
    start.body()
    return nil
}

/// A running thread. Join it; let go without joining, it goes on by itself.
public struct ThreadHandle: ~Copyable, Sendable {
    private let thread: pthread_t

    init(thread: pthread_t) { self.thread = thread }

    deinit { pthread_detach(thread) }

    /// Waits until the thread's body has returned.
    public consuming func join() {
        let thread = thread
        discard self
        let status = pthread_join(thread, nil)
        precondition(status == 0, "pthread_join: \(status)")
    }
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
