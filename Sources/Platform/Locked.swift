import Glibc

/// A value that only the holder of its lock reads or changes.
///
/// Backed by a pthread mutex: ThreadSanitizer follows it, which it doesn't `Synchronization.Mutex` on Linux.
/// Not recursive. Decide inside `withLock` and act after it.
public final class Locked<Value: ~Copyable>: @unchecked Sendable {  // `value` is touched under `mutex` alone.
    let mutex: UnsafeMutablePointer<pthread_mutex_t>
    var value: Value

    public init(_ value: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init: \(status)")
        self.value = value
    }

    deinit {
        let status = pthread_mutex_destroy(mutex)
        precondition(status == 0, "a lock was destroyed while held")
        mutex.deallocate()
    }

    /// Runs `body` as the only one inside. No callback, system call or `await` belongs in it.
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        acquire()
        defer { release() }
        return try body(&value)
    }

    func acquire() {
        let status = pthread_mutex_lock(mutex)
        precondition(status == 0, "pthread_mutex_lock: \(status)")
    }

    func release() {
        let status = pthread_mutex_unlock(mutex)
        precondition(status == 0, "pthread_mutex_unlock: \(status)")
    }
}
