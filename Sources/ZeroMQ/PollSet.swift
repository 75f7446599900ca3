internal import CZeroMQ
import Glibc

/// The sockets and descriptors that a loop sleeps on. Each has an index that stays its own.
///
/// ```swift
/// var polls = PollSet()
/// let control = polls.add(socket: socket)
/// let inbox = polls.add(fileDescriptor: wake.fileDescriptor)
/// while try polls.wait(timeoutMs: 1000) >= 0 {
///     if polls.isReadable(inbox) { … }
///     if polls.isReadable(control) { … }
/// }
/// ```
///
/// It doesn't keep what it watches: remove or replace a socket, or close a descriptor, after taking it out of
/// here.
///
/// It does what `zmq_poll` does with a third of the system calls: a socket is asked what it is ready for only if it was
/// called since it was asked last, or if libzmq says through its descriptor that something has happened.
public struct PollSet: ~Copyable {
    private struct Item {
        /// Nil: `poll` alone says what it is ready for.
        var socket: UnsafeMutableRawPointer?
        var activity: Activity?
        var events: Int16
        var revents: Int16 = 0
        /// `activity.calls` when it was last asked; nil: it is to be asked.
        var asked: UInt64?

        var isStale: Bool { activity.map { asked != $0.calls } ?? false }
        /// The last call was a receive that found nothing, and nothing else is waited for. It caught up with all that
        /// had happened, as asking would.
        var wasFoundEmpty: Bool {
            activity.map { $0.foundEmpty == $0.calls } ?? false && events == Int16(ZMQ_POLLIN)
        }

        mutating func settle() {
            asked = activity?.calls
            revents = 0
        }
    }

    private var items: [Item] = []
    /// In the same places: descriptors, and what libzmq signals sockets by.
    private var descriptors: [pollfd] = []

    public init() {}

    /// How many indices there are, removed ones included.
    public var count: Int { items.count }

    /// Returns its index.
    @discardableResult
    public mutating func add(socket: borrowing Socket, readable: Bool = true, writable: Bool = false) -> Int {
        append(readable, writable)
        replace(count - 1, with: socket)
        return count - 1
    }

    /// Returns its index.
    @discardableResult
    public mutating func add(fileDescriptor: Int32, readable: Bool = true, writable: Bool = false) -> Int {
        append(readable, writable)
        replace(count - 1, with: fileDescriptor)
        return count - 1
    }

    private mutating func append(_ readable: Bool, _ writable: Bool) {
        items.append(Item(events: Self.mask(readable, writable)))
        descriptors.append(pollfd(fd: -1, events: 0, revents: 0))
    }

    /// Watches this at `index` from now on, for the same readiness as what was there.
    public mutating func replace(_ index: Int, with socket: borrowing Socket) {
        items[index] = Item(socket: socket.raw, activity: socket.activity, events: items[index].events)
        watch(index)
    }

    /// Watches this at `index` from now on, for the same readiness as what was there.
    public mutating func replace(_ index: Int, with fileDescriptor: Int32) {
        items[index] = Item(events: items[index].events)
        descriptors[index] = pollfd(
            fd: fileDescriptor, events: Self.signals(items[index].events), revents: 0)
    }

    /// Watches nothing at `index` until it is replaced. Other indices stay.
    public mutating func remove(_ index: Int) {
        replace(index, with: -1)
    }

    /// Changes what `index` is watched for.
    public mutating func watch(_ index: Int, readable: Bool, writable: Bool) {
        let events = Self.mask(readable, writable)
        guard events != items[index].events else { return }
        items[index].events = events
        items[index].asked = nil
        if items[index].socket == nil {
            descriptors[index].events = Self.signals(events)
        } else {
            watch(index)
        }
    }

    /// libzmq's signal for this socket, unless nobody wants to hear of it.
    private mutating func watch(_ index: Int) {
        var fileDescriptor: Int32 = -1
        var size = MemoryLayout<Int32>.size
        // Without one, in a context that has ended, asking it throws.
        if items[index].events != 0 {
            _ = zmq_getsockopt(items[index].socket, ZMQ_FD, &fileDescriptor, &size)
        }
        descriptors[index] = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
    }

    /// Sleeps until something is ready, at most `timeoutMs`: 0 only looks, -1 is for ever. Returns how many
    /// are ready; 0 also if a signal came.
    public mutating func wait(timeoutMs: Int) throws(ZeroMQError) -> Int {
        do throws(ZeroMQError) {
            return try look(timeoutMs: timeoutMs)
        } catch {
            // Results of an earlier wait must not stand for this one's.
            for index in items.indices {
                items[index].revents = 0
                items[index].asked = nil
            }
            if error.number == EINTR { return 0 }
            throw error
        }
    }

    private mutating func look(timeoutMs: Int) throws(ZeroMQError) -> Int {
        let deadlineMs = timeoutMs > 0 ? Self.nowMs + timeoutMs : 0
        var leftMs = timeoutMs
        for index in items.indices where items[index].isStale {
            if items[index].wasFoundEmpty { items[index].settle() } else { try ask(index) }
        }
        var isReady = items.contains { $0.socket != nil && $0.revents != 0 }
        while true {
            let result = poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: isReady ? 0 : leftMs))
            guard result >= 0 else { throw .last("poll") }
            if result > 0 { try takeSignals() } else { clearDescriptors() }
            let ready = items.count { $0.revents != 0 }
            if ready > 0 || timeoutMs == 0 { return ready }
            // A signal, and nothing that anybody waits for.
            if timeoutMs > 0 {
                leftMs = deadlineMs - Self.nowMs
                if leftMs <= 0 { return 0 }
            }
            isReady = false
        }
    }

    private mutating func takeSignals() throws(ZeroMQError) {
        for index in items.indices {
            let signals = descriptors[index].revents
            if items[index].socket == nil {
                items[index].revents = Self.readiness(signals)
            } else if signals != 0 {
                try ask(index)
            }
        }
    }

    private mutating func clearDescriptors() {
        for index in items.indices where items[index].socket == nil { items[index].revents = 0 }
    }

    /// What a socket is ready for. Libzmq catches up with what has happened to it.
    private mutating func ask(_ index: Int) throws(ZeroMQError) {
        guard let socket = items[index].socket else { return }
        items[index].asked = items[index].activity?.calls
        guard items[index].events != 0 else {
            items[index].revents = 0
            return
        }
        var events: Int32 = 0
        var size = MemoryLayout<Int32>.size
        guard uninterrupted({ zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) }) == 0 else {
            items[index].asked = nil
            throw .last("zmq_getsockopt(ZMQ_EVENTS)")
        }
        items[index].revents = Int16(truncatingIfNeeded: events) & items[index].events
    }

    private static var nowMs: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    /// At the last `wait`. Only what is watched for it can be.
    public func isReadable(_ index: Int) -> Bool { items[index].revents & Int16(ZMQ_POLLIN) != 0 }

    /// At the last `wait`. Only what is watched for it can be.
    public func isWritable(_ index: Int) -> Bool { items[index].revents & Int16(ZMQ_POLLOUT) != 0 }

    /// A descriptor was hung up or had an error at the last `wait`, watched for or not. Never a socket.
    public func hasFailed(_ index: Int) -> Bool { items[index].revents & Int16(ZMQ_POLLERR) != 0 }

    /// What `poll` is to look for.
    private static func signals(_ events: Int16) -> Int16 {
        let readable = events & Int16(ZMQ_POLLIN) != 0
        let writable = events & Int16(ZMQ_POLLOUT) != 0
        return Int16((readable ? POLLIN : 0) | (writable ? POLLOUT : 0))
    }

    /// Of a descriptor, in libzmq's words.
    private static func readiness(_ signals: Int16) -> Int16 {
        var result: Int32 = 0
        if signals & Int16(POLLIN) != 0 { result |= ZMQ_POLLIN }
        if signals & Int16(POLLOUT) != 0 { result |= ZMQ_POLLOUT }
        if signals & ~Int16(POLLIN | POLLOUT) != 0 { result |= ZMQ_POLLERR }
        return Int16(result)
    }

    private static func mask(_ readable: Bool, _ writable: Bool) -> Int16 {
        Int16((readable ? ZMQ_POLLIN : 0) | (writable ? ZMQ_POLLOUT : 0))
    }
}
