import CPlatform
import Glibc

/// A descriptor that any thread can make readable, to wake a poll loop.
public final class EventFD: Sendable {
    /// Readable from a `signal()` until the next `drain()`. Stays owned by this object.
    public let fileDescriptor: Int32

    /// Throws if the process is out of descriptors.
    public init() throws(PlatformError) {
        fileDescriptor = hg_eventfd()
        guard fileDescriptor >= 0 else { throw PlatformError(call: "eventfd", number: errno) }
    }

    deinit { close(fileDescriptor) }

    /// Makes the descriptor readable. Never blocks; any thread.
    public func signal() {
        var one: UInt64 = 1
        while write(fileDescriptor, &one, MemoryLayout<UInt64>.size) < 0 {
            // EAGAIN: the counter is full, so it is readable anyhow.
            if errno == EAGAIN { return }
            precondition(errno == EINTR, "write to an eventfd: errno \(errno)")
        }
    }

    /// Sleeps until it is readable, at most so long; false if it isn't.
    public func wait(timeoutMs: Int) -> Bool {
        let deadline = Clock.monotonicMs() + Int64(timeoutMs)
        var item = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let left = max(0, deadline - Clock.monotonicMs())
            let result = poll(&item, 1, Int32(clamping: left))
            if result > 0 { return true }
            precondition(result == 0 || errno == EINTR, "poll of an eventfd: errno \(errno)")
            if result == 0, left == 0 { return false }
        }
    }

    /// Takes all signals so far; true if there were any. Never blocks.
    @discardableResult
    public func drain() -> Bool {
        var count: UInt64 = 0
        while read(fileDescriptor, &count, MemoryLayout<UInt64>.size) < 0 {
            if errno == EAGAIN { return false }
            precondition(errno == EINTR, "read of an eventfd: errno \(errno)")
        }
        return true
    }
}
