import Glibc

/// A pthread condition, for waiting inside a `Locked`.
public final class Condition: @unchecked Sendable {  // pthread conditions are made to be shared.
    private let raw: UnsafeMutablePointer<pthread_cond_t>

    public init() {
        raw = .allocate(capacity: 1)
        raw.initialize(to: pthread_cond_t())
        let status = pthread_cond_init(raw, nil)
        precondition(status == 0, "pthread_cond_init: \(status)")
    }

    deinit {
        pthread_cond_destroy(raw)
        raw.deallocate()
    }

    /// Wakes all who wait, so that they look again.
    public func broadcast() { pthread_cond_broadcast(raw) }

    func wait(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
        let status = pthread_cond_wait(raw, mutex)
        precondition(status == 0, "pthread_cond_wait: \(status)")
    }
}

extension Locked {
    /// Runs `body` under the lock, again after each broadcast, until it returns something.
    public func withLock<Result>(
        waitingOn condition: Condition, _ body: (inout sending Value) -> sending Result?
    ) -> sending Result {
        acquire()
        defer { release() }
        while true {
            if let result = body(&value) { return result }
            condition.wait(mutex)
        }
    }
}
