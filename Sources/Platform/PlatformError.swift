// What Linux gives and Foundation doesn't: locks, threads, inboxes that wake a poll loop, signals, clocks, times.
//
// Nothing in here decides anything. `Inbox` is how other threads speak to the reactor, `BlockingQueue` how the
// reactor speaks to a thread that sleeps; both are a `Locked` array and a way to wake.

import Glibc

/// A system call that failed.
public struct PlatformError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call, as `eventfd`.
    public let call: String
    /// The system's `errno`.
    public let number: Int32

    public init(call: String, number: Int32) {
        self.call = call
        self.number = number
    }

    public var description: String { "\(call): \(String(cString: strerror(number)))" }
}
