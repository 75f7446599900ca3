internal import CZeroMQ

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
/// It doesn't keep what it watches: remove or replace a socket, or close a descriptor, after taking it out of here.
public struct PollSet: ~Copyable {
    private var items: [zmq_pollitem_t] = []

    public init() {}

    /// How many indices there are, removed ones included.
    public var count: Int { items.count }

    /// Returns its index.
    @discardableResult
    public mutating func add(socket: borrowing Socket, readable: Bool = true, writable: Bool = false) -> Int {
        items.append(Self.item(socket.raw, -1, readable, writable))
        return items.count - 1
    }

    /// Returns its index.
    @discardableResult
    public mutating func add(fileDescriptor: Int32, readable: Bool = true, writable: Bool = false) -> Int {
        items.append(Self.item(nil, fileDescriptor, readable, writable))
        return items.count - 1
    }

    /// Watches this at `index` from now on, for the same readiness as what was there.
    public mutating func replace(_ index: Int, with socket: borrowing Socket) {
        items[index].socket = socket.raw
        items[index].fd = -1
        items[index].revents = 0
    }

    /// Watches this at `index` from now on, for the same readiness as what was there.
    public mutating func replace(_ index: Int, with fileDescriptor: Int32) {
        items[index].socket = nil
        items[index].fd = fileDescriptor
        items[index].revents = 0
    }

    /// Watches nothing at `index` until it is replaced. Other indices stay.
    public mutating func remove(_ index: Int) {
        replace(index, with: -1)
    }

    /// Changes what `index` is watched for: a store, no call.
    public mutating func watch(_ index: Int, readable: Bool, writable: Bool) {
        items[index].events = Self.mask(readable, writable)
    }

    /// Sleeps until something is ready, at most `timeoutMs`: 0 only looks, -1 is for ever. Returns how many are
    /// ready; 0 also if a signal came.
    public mutating func wait(timeoutMs: Int) throws(ZeroMQError) -> Int {
        let result = zmq_poll(&items, Int32(items.count), timeoutMs)
        if result >= 0 { return Int(result) }
        let error = ZeroMQError.last("zmq_poll")
        // Results of an earlier wait must not stand for this one's.
        for index in items.indices { items[index].revents = 0 }
        if error.number == EINTR { return 0 }
        throw error
    }

    /// At the last `wait`. Only what is watched for it can be.
    public func isReadable(_ index: Int) -> Bool { items[index].revents & Int16(ZMQ_POLLIN) != 0 }

    /// At the last `wait`. Only what is watched for it can be.
    public func isWritable(_ index: Int) -> Bool { items[index].revents & Int16(ZMQ_POLLOUT) != 0 }

    /// A descriptor was hung up or had an error at the last `wait`, watched for or not. Never a socket.
    public func hasFailed(_ index: Int) -> Bool { items[index].revents & Int16(ZMQ_POLLERR) != 0 }

    private static func item(
        _ socket: UnsafeMutableRawPointer?, _ fileDescriptor: Int32, _ readable: Bool, _ writable: Bool
    ) -> zmq_pollitem_t {
        zmq_pollitem_t(socket: socket, fd: fileDescriptor, events: mask(readable, writable), revents: 0)
    }

    private static func mask(_ readable: Bool, _ writable: Bool) -> Int16 {
        Int16((readable ? ZMQ_POLLIN : 0) | (writable ? ZMQ_POLLOUT : 0))
    }
}
