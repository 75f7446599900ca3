internal import CZeroMQ
import Synchronization

/// Something that happened to one of a socket's connections.
public struct ConnectionEvent: Hashable, Sendable {
    public struct Kinds: OptionSet, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }
        /// A connection was made from here.
        public static let connected = Kinds(rawValue: ZMQ_EVENT_CONNECTED)
        /// A peer connected to a bound address.
        public static let accepted = Kinds(rawValue: ZMQ_EVENT_ACCEPTED)
        /// A connection broke, or was closed by its peer.
        public static let disconnected = Kinds(rawValue: ZMQ_EVENT_DISCONNECTED)
        /// A peer broke the protocol, had the wrong key, or was not let in; two kinds of libzmq's.
        public static let handshakeFailed = Kinds(
            rawValue: ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
                | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
    }

    /// Exactly one.
    public let kind: Kinds
    /// The bound or connected address, not the peer's.
    public let endpoint: String
    /// Of the connection; it may be closed by now, and another have its number. Not of a handshake.
    public let descriptor: Int32

    public init(kind: Kinds, endpoint: String, descriptor: Int32) {
        self.kind = kind
        self.endpoint = endpoint
        self.descriptor = descriptor
    }
}

/// Hears what happens to a socket's connections, in order. Libzmq says which address and which descriptor it was.
///
/// ```swift
/// let monitor = try socket.monitor(.disconnected)
/// let index = polls.add(socket: monitor.socket)
/// while let event = try monitor.next() { … }
/// ```
///
/// **The monitored socket must go first, or be told to `stopMonitor`**: an event that nobody is left to take would block
/// one of libzmq's own threads.
public struct SocketMonitor: ~Copyable {
    /// Readable when there is an event.
    public let socket: Socket

    fileprivate init(_ socket: consuming Socket) { self.socket = socket }

    /// The next event; nil if there is none.
    public borrowing func next() throws(ZeroMQError) -> ConnectionEvent? {
        var frame = Frame()
        guard try socket.receive(into: &frame) else { return nil }
        // The event's number, and 32 bits that depend on it, as this machine writes them.
        let (number, value) = frame.withBytes { bytes -> (UInt16, Int32) in
            guard bytes.count >= 6 else { return (0, -1) }
            return (
                bytes.loadUnaligned(as: UInt16.self), bytes.loadUnaligned(fromByteOffset: 2, as: Int32.self)
            )
        }
        guard frame.more, try socket.receive(into: &frame) else { return nil }
        return ConnectionEvent(
            kind: ConnectionEvent.Kinds(rawValue: Int32(number)), endpoint: String(decoding: frame),
            descriptor: value)
    }
}

private let monitorCount = Atomic<UInt64>(0)

extension Socket {
    /// Tells of these events from now on, and no longer of those that were asked for before.
    public borrowing func monitor(_ kinds: ConnectionEvent.Kinds) throws(ZeroMQError) -> SocketMonitor {
        let number = monitorCount.add(1, ordering: .relaxed).newValue
        let endpoint = "inproc://holdgate-monitor-\(number)"
        guard uninterrupted({ zmq_socket_monitor(raw, endpoint, kinds.rawValue) }) == 0 else {
            throw .last("zmq_socket_monitor", endpoint)
        }
        do throws(ZeroMQError) {
            // Without a mark: libzmq's thread waits where there is no room.
            let pair = try Socket(.pair, in: context, .receiveHighWaterMark(0))
            try pair.connect(endpoint)
            return SocketMonitor(pair)
        } catch {
            stopMonitor()
            throw error
        }
    }

    /// Tells of nothing any more.
    public borrowing func stopMonitor() { _ = zmq_socket_monitor(raw, nil, 0) }
}
