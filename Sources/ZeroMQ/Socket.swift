internal import CZeroMQ

/// Counts the calls on a socket.
final class Activity {
    fileprivate(set) var calls: UInt64 = 0
    /// `calls` when a receive found nothing: until the next call, or until libzmq signals, nothing is there.
    fileprivate(set) var foundEmpty: UInt64?
}

/// A ZeroMQ socket. Used by the thread that made it; closed when it goes.
///
/// No call waits for a peer: where libzmq says EAGAIN the answer is false. To wait, use a `PollSet`.
/// Calls that a signal interrupts are repeated.
public struct Socket: ~Copyable {
    public enum Kind: Hashable, Sendable {
        case pair, pub, sub, req, rep, dealer, router, xpub

        var number: Int32 {
            switch self {
            case .pair: ZMQ_PAIR
            case .pub: ZMQ_PUB
            case .sub: ZMQ_SUB
            case .req: ZMQ_REQ
            case .rep: ZMQ_REP
            case .dealer: ZMQ_DEALER
            case .router: ZMQ_ROUTER
            case .xpub: ZMQ_XPUB
            }
        }
    }

    /// What a socket is ready for.
    public struct Events: OptionSet, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }
        public static let readable = Events(rawValue: 1)
        public static let writable = Events(rawValue: 2)
    }

    public let kind: Kind
    private let handle: UnsafeMutableRawPointer
    let activity = Activity()
    /// For a call: what the socket is ready for may be something else afterwards.
    var raw: UnsafeMutableRawPointer {
        activity.calls &+= 1
        return handle
    }
    // Kept, so that no context can end before its sockets.
    let context: Context

    /// With `linger(ms: 0)`, unless `options` say otherwise.
    public init(_ kind: Kind, in context: Context, _ options: SocketOption...) throws(ZeroMQError) {
        handle = try Self.open(kind, context, [.linger(ms: 0)] + options)
        self.kind = kind
        self.context = context
    }

    private static func open(
        _ kind: Kind, _ context: Context, _ options: [SocketOption]
    ) throws(ZeroMQError) -> UnsafeMutableRawPointer {
        guard let raw = zmq_socket(context.raw, kind.number) else { throw .last("zmq_socket") }
        for option in options {
            do throws(ZeroMQError) {
                try set(option, of: raw)
            } catch {
                zmq_close(raw)
                throw error
            }
        }
        return raw
    }

    deinit {
        // No event comes from a closed socket: libzmq would wait for room where nobody reads any more.
        stopMonitor()
        let result = zmq_close(raw)
        precondition(result == 0, "zmq_close: errno \(zmq_errno())")
    }

    /// Closes it now. Its endpoints may stay taken for some milliseconds: binding again may need a retry.
    public consuming func close() {}

    public borrowing func set(_ option: SocketOption) throws(ZeroMQError) { try Self.set(option, of: raw) }

    public borrowing func set(_ options: [SocketOption]) throws(ZeroMQError) {
        for option in options { try set(option) }
    }

    private static func set(_ option: SocketOption, of raw: UnsafeMutableRawPointer) throws(ZeroMQError) {
        guard uninterrupted({ option.apply(to: raw) }) == 0 else {
            throw .last("zmq_setsockopt(\(option.name))")
        }
    }

    /// A SUB gets what begins with these bytes; all, if there are none. Counted: each needs its own
    /// `unsubscribe`.
    public borrowing func subscribe(to prefix: [UInt8]) throws(ZeroMQError) { try set(.subscribe(prefix)) }

    public borrowing func subscribe(to prefix: String) throws(ZeroMQError) {
        try subscribe(to: Array(prefix.utf8))
    }

    /// Gives the sender of the subscription that was read last what begins with `prefix`: of an XPUB with `xpubManual`.
    public borrowing func grant(_ prefix: [UInt8]) throws(ZeroMQError) { try set(.subscribe(prefix)) }

    /// Takes it from the sender of what was read last.
    public borrowing func revoke(_ prefix: [UInt8]) throws(ZeroMQError) { try set(.unsubscribe(prefix)) }

    public borrowing func unsubscribe(from prefix: [UInt8]) throws(ZeroMQError) {
        try set(.unsubscribe(prefix))
    }

    public borrowing func unsubscribe(from prefix: String) throws(ZeroMQError) {
        try unsubscribe(from: Array(prefix.utf8))
    }
}

// MARK: - Endpoints

extension Socket {
    /// Accepts peers at `endpoint`; returns it with what was left open filled in: port 0 or `*` takes a free
    /// one.
    ///
    /// An `ipc` path is taken over even from a process that listens there, and a file is replaced: whoever minds listens
    /// there itself first, and hands that in with `SocketOption.listener`.
    @discardableResult
    public borrowing func bind(_ endpoint: String) throws(ZeroMQError) -> String {
        guard uninterrupted({ zmq_bind(raw, endpoint) }) == 0 else { throw .last("zmq_bind", endpoint) }
        return try lastEndpoint()
    }

    public borrowing func unbind(_ endpoint: String) throws(ZeroMQError) {
        guard uninterrupted({ zmq_unbind(raw, endpoint) }) == 0 else { throw .last("zmq_unbind", endpoint) }
    }

    /// Begins to connect, and goes on trying until disconnected; no error means only that the address has a
    /// form.
    public borrowing func connect(_ endpoint: String) throws(ZeroMQError) {
        guard uninterrupted({ zmq_connect(raw, endpoint) }) == 0 else { throw .last("zmq_connect", endpoint) }
    }

    public borrowing func disconnect(_ endpoint: String) throws(ZeroMQError) {
        guard uninterrupted({ zmq_disconnect(raw, endpoint) }) == 0 else {
            throw .last("zmq_disconnect", endpoint)
        }
    }

    private borrowing func lastEndpoint() throws(ZeroMQError) -> String {
        var result: Int32 = 0
        // 256 bytes hold any address: an ipc path has at most 107.
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            var count = buffer.count
            result = zmq_getsockopt(raw, ZMQ_LAST_ENDPOINT, buffer.baseAddress, &count)
            return result == 0 ? String(cString: buffer.baseAddress!) : ""
        }
        guard result == 0 else { throw .last("zmq_getsockopt(ZMQ_LAST_ENDPOINT)") }
        return text
    }
}

// MARK: - Readiness

extension Socket {
    /// For `PollSet`, or as a descriptor that another loop watches for reading: it becomes readable when
    /// `events` may have changed, and says nothing more. Look at `events` after each send and receive, too.
    public var fileDescriptor: Int32 {
        get throws(ZeroMQError) { try get(ZMQ_FD, "ZMQ_FD") }
    }

    /// What it is ready for now.
    public var events: Events {
        get throws(ZeroMQError) { Events(rawValue: try get(ZMQ_EVENTS, "ZMQ_EVENTS")) }
    }

    private borrowing func get(_ option: Int32, _ name: String) throws(ZeroMQError) -> Int32 {
        var value: Int32 = 0
        var count = MemoryLayout<Int32>.size
        guard uninterrupted({ zmq_getsockopt(raw, option, &value, &count) }) == 0 else {
            throw .last("zmq_getsockopt(\(name))")
        }
        return value
    }
}

// MARK: - Frames

extension Socket {
    /// Sends a copy of `bytes` as one frame; false, and nothing is sent, if there is no room or no peer.
    ///
    /// A message's frames go together. False after a frame that went with `more` means that the peer has gone
    /// with the frames before: begin again with the first. A ROUTER answers false for the routing id alone,
    /// and swallows the rest of a message whose peer goes meanwhile.
    public borrowing func send(_ bytes: UnsafeRawBufferPointer, more: Bool = false) throws(ZeroMQError)
        -> Bool
    {
        try sent(uninterrupted { zmq_send(raw, bytes.baseAddress, bytes.count, flags(more)) }, "zmq_send")
    }

    public borrowing func send(_ bytes: [UInt8], more: Bool = false) throws(ZeroMQError) -> Bool {
        let result = bytes.withUnsafeBytes { bytes in
            uninterrupted { zmq_send(raw, bytes.baseAddress, bytes.count, flags(more)) }
        }
        return try sent(result, "zmq_send")
    }

    /// As UTF-8.
    public borrowing func send(_ text: String, more: Bool = false) throws(ZeroMQError) -> Bool {
        var text = text
        let result = text.withUTF8 { bytes in
            uninterrupted { zmq_send(raw, bytes.baseAddress, bytes.count, flags(more)) }
        }
        return try sent(result, "zmq_send")
    }

    /// Gives the frame's bytes away without a copy: `frame` is empty afterwards. If false, it is as before.
    public borrowing func send(_ frame: inout Frame, more: Bool = false) throws(ZeroMQError) -> Bool {
        try sent(uninterrupted { zmq_msg_send(&frame.message, raw, flags(more)) }, "zmq_msg_send")
    }

    /// Receives one frame; false if none is there. What `frame` held is let go in either case.
    public borrowing func receive(into frame: inout Frame) throws(ZeroMQError) -> Bool {
        let isThere = try sent(
            uninterrupted { zmq_msg_recv(&frame.message, raw, ZMQ_DONTWAIT) }, "zmq_msg_recv")
        if !isThere { activity.foundEmpty = activity.calls }
        return isThere
    }

    private func flags(_ more: Bool) -> Int32 { more ? ZMQ_DONTWAIT | ZMQ_SNDMORE : ZMQ_DONTWAIT }

    private func sent(_ result: Int32, _ call: String) throws(ZeroMQError) -> Bool {
        if result >= 0 { return true }
        let error = ZeroMQError.last(call)
        if error.number == EAGAIN { return false }
        throw error
    }
}
