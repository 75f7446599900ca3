internal import CZeroMQ

/// One setting of a socket, named as the field names it. Unless said otherwise it holds for endpoints that
/// are bound or connected after it is set.
///
/// ```swift
/// let control = try Socket(.router, in: context, .linger(ms: 1000), .routerHandover(true))
/// ```
public struct SocketOption: Hashable, Sendable {
    enum Value: Hashable, Sendable {
        case int(Int)
        case int64(Int64)
        case bytes([UInt8])
    }

    let number: Int32
    /// libzmq's name, as `ZMQ_LINGER`.
    public let name: String
    let value: Value

    private init(_ number: Int32, _ name: String, _ value: Value) {
        self.number = number
        self.name = name
        self.value = value
    }

    private init(_ number: Int32, _ name: String, _ value: Int) { self.init(number, name, .int(value)) }

    private init(_ number: Int32, _ name: String, _ value: Bool) {
        self.init(number, name, .int(value ? 1 : 0))
    }

    /// How long unsent messages hold up the context's end after the socket is closed. 0, which a new `Socket`
    /// has, drops them at once; -1 is for ever. Takes effect at once.
    public static func linger(ms: Int) -> Self { .init(ZMQ_LINGER, "ZMQ_LINGER", ms) }

    /// Messages that may wait to be sent to one peer; 0: no limit.
    public static func sendHighWaterMark(_ messages: Int) -> Self {
        .init(ZMQ_SNDHWM, "ZMQ_SNDHWM", messages)
    }

    /// Messages from one peer that may wait to be received; 0: no limit.
    public static func receiveHighWaterMark(_ messages: Int) -> Self {
        .init(ZMQ_RCVHWM, "ZMQ_RCVHWM", messages)
    }

    /// How a ROUTER at the other end addresses this socket: 1 to 255 bytes, the first not 0.
    public static func routingID(_ bytes: [UInt8]) -> Self {
        .init(ZMQ_ROUTING_ID, "ZMQ_ROUTING_ID", .bytes(bytes))
    }

    /// A ROUTER throws `.hostUnreachable` for an unknown peer, and answers false for a full one, in place of
    /// dropping. Takes effect at once.
    public static func routerMandatory(_ on: Bool) -> Self {
        .init(ZMQ_ROUTER_MANDATORY, "ZMQ_ROUTER_MANDATORY", on)
    }

    /// On a ROUTER the newer of two peers with one routing id takes its place.
    public static func routerHandover(_ on: Bool) -> Self {
        .init(ZMQ_ROUTER_HANDOVER, "ZMQ_ROUTER_HANDOVER", on)
    }

    /// An XPUB tells of each subscription, not only of the first of equal ones. Takes effect at once.
    public static func xpubVerbose(_ on: Bool) -> Self { .init(ZMQ_XPUB_VERBOSE, "ZMQ_XPUB_VERBOSE", on) }

    /// A REQ marks its requests, and drops replies to older ones.
    public static func reqCorrelate(_ on: Bool) -> Self { .init(ZMQ_REQ_CORRELATE, "ZMQ_REQ_CORRELATE", on) }

    /// A REQ may send again before the reply has come. To be used with `reqCorrelate`.
    public static func reqRelaxed(_ on: Bool) -> Self { .init(ZMQ_REQ_RELAXED, "ZMQ_REQ_RELAXED", on) }

    /// A peer that sends a longer frame is cut off; -1: no limit. Frames, not whole messages.
    public static func maxMessageBytes(_ bytes: Int) -> Self {
        .init(ZMQ_MAXMSGSIZE, "ZMQ_MAXMSGSIZE", .int64(Int64(bytes)))
    }

    /// A ZMTP ping is sent so often; 0: never.
    public static func heartbeatInterval(ms: Int) -> Self {
        .init(ZMQ_HEARTBEAT_IVL, "ZMQ_HEARTBEAT_IVL", ms)
    }

    /// A connection without traffic for so long after a ping is closed.
    public static func heartbeatTimeout(ms: Int) -> Self {
        .init(ZMQ_HEARTBEAT_TIMEOUT, "ZMQ_HEARTBEAT_TIMEOUT", ms)
    }

    /// The other end closes a connection without traffic from here for so long; whole tenths of a second.
    public static func heartbeatTimeToLive(ms: Int) -> Self {
        .init(ZMQ_HEARTBEAT_TTL, "ZMQ_HEARTBEAT_TTL", ms)
    }

    /// The kernel closes a connection whose other end does not answer.
    public static func tcpKeepAlive(_ on: Bool) -> Self { .init(ZMQ_TCP_KEEPALIVE, "ZMQ_TCP_KEEPALIVE", on) }

    /// How long a connection is without traffic before the kernel asks.
    public static func tcpKeepAliveIdle(seconds: Int) -> Self {
        .init(ZMQ_TCP_KEEPALIVE_IDLE, "ZMQ_TCP_KEEPALIVE_IDLE", seconds)
    }

    /// How often it asks again.
    public static func tcpKeepAliveInterval(seconds: Int) -> Self {
        .init(ZMQ_TCP_KEEPALIVE_INTVL, "ZMQ_TCP_KEEPALIVE_INTVL", seconds)
    }

    /// How often it asks in vain before it closes.
    public static func tcpKeepAliveCount(_ count: Int) -> Self {
        .init(ZMQ_TCP_KEEPALIVE_CNT, "ZMQ_TCP_KEEPALIVE_CNT", count)
    }

    /// A connection whose handshake takes longer is closed; 0: no limit.
    public static func handshakeInterval(ms: Int) -> Self {
        .init(ZMQ_HANDSHAKE_IVL, "ZMQ_HANDSHAKE_IVL", ms)
    }

    /// Between attempts to connect again; -1: none are made.
    public static func reconnectInterval(ms: Int) -> Self {
        .init(ZMQ_RECONNECT_IVL, "ZMQ_RECONNECT_IVL", ms)
    }

    /// The interval doubles up to this; 0: it stays as it is.
    public static func reconnectIntervalMax(ms: Int) -> Self {
        .init(ZMQ_RECONNECT_IVL_MAX, "ZMQ_RECONNECT_IVL_MAX", ms)
    }

    /// Nothing is queued for a connection that isn't made yet.
    public static func immediate(_ on: Bool) -> Self { .init(ZMQ_IMMEDIATE, "ZMQ_IMMEDIATE", on) }

    /// Host names and wildcards may mean IPv6.
    public static func ipv6(_ on: Bool) -> Self { .init(ZMQ_IPV6, "ZMQ_IPV6", on) }

    /// The kernel's buffer of each connection; -1: the system's choice.
    public static func sendBufferBytes(_ bytes: Int) -> Self { .init(ZMQ_SNDBUF, "ZMQ_SNDBUF", bytes) }

    /// The kernel's buffer of each connection; -1: the system's choice.
    public static func receiveBufferBytes(_ bytes: Int) -> Self { .init(ZMQ_RCVBUF, "ZMQ_RCVBUF", bytes) }

    /// Connections that may wait to be accepted.
    public static func backlog(_ connections: Int) -> Self { .init(ZMQ_BACKLOG, "ZMQ_BACKLOG", connections) }

    /// The endpoint bound next takes its peers from this descriptor, which listens at its address and is libzmq's to
    /// close; nil: one of its own, as usual. Of an `ipc` path nothing is removed or made then, at either end.
    public static func listener(_ fileDescriptor: Int32?) -> Self {
        .init(ZMQ_USE_FD, "ZMQ_USE_FD", fileDescriptor.map { Int($0) } ?? -1)
    }

    /// The endpoints bound from now on take CURVE alone, and prove this secret key to those who connect. Whose keys are
    /// let in is the `Authenticator`'s to say.
    public static func curveServer(_ key: CurveSecretKey) -> [Self] {
        [
            .init(ZMQ_CURVE_SERVER, "ZMQ_CURVE_SERVER", true),
            .init(ZMQ_CURVE_SECRETKEY, "ZMQ_CURVE_SECRETKEY", .bytes(Array(key.z85.utf8))),
        ]
    }

    /// The endpoints bound from now on take peers without keys.
    public static let noCurve = Self(ZMQ_CURVE_SERVER, "ZMQ_CURVE_SERVER", false)

    /// Connects with this key, and to nobody but the holder of `server`'s secret.
    public static func curveClient(
        _ key: CurveKeyPair, server: CurvePublicKey
    ) -> [Self] {
        [
            .init(ZMQ_CURVE_SERVERKEY, "ZMQ_CURVE_SERVERKEY", .bytes(Array(server.z85.utf8))),
            .init(ZMQ_CURVE_PUBLICKEY, "ZMQ_CURVE_PUBLICKEY", .bytes(Array(key.publicKey.z85.utf8))),
            .init(ZMQ_CURVE_SECRETKEY, "ZMQ_CURVE_SECRETKEY", .bytes(Array(key.secretKey.z85.utf8))),
        ]
    }

    /// The endpoints bound from now on ask the context's `Authenticator` about each peer, under this name, and let
    /// nobody in while there is none.
    public static func authenticated(domain: String) -> [Self] {
        precondition(!domain.isEmpty, "an empty domain asks nobody")
        return [
            .init(ZMQ_ZAP_DOMAIN, "ZMQ_ZAP_DOMAIN", .bytes(Array(domain.utf8))),
            .init(ZMQ_ZAP_ENFORCE_DOMAIN, "ZMQ_ZAP_ENFORCE_DOMAIN", true),
        ]
    }

    /// An XPUB adds no subscription by itself: whoever reads one says `grant`. Takes effect at once.
    public static func xpubManual(_ on: Bool) -> Self { .init(ZMQ_XPUB_MANUAL, "ZMQ_XPUB_MANUAL", on) }

    /// A SUB gets what begins with these bytes; all, if there are none. Counted: each needs its own
    /// unsubscribe.
    static func subscribe(_ prefix: [UInt8]) -> Self { .init(ZMQ_SUBSCRIBE, "ZMQ_SUBSCRIBE", .bytes(prefix)) }

    static func unsubscribe(_ prefix: [UInt8]) -> Self {
        .init(ZMQ_UNSUBSCRIBE, "ZMQ_UNSUBSCRIBE", .bytes(prefix))
    }

    /// libzmq's result: 0, or -1 and `zmq_errno`.
    func apply(to socket: UnsafeMutableRawPointer) -> Int32 {
        switch value {
        case .int(let value):
            // Out of range is refused like any other wrong value, by libzmq itself.
            var value = Int32(clamping: value)
            return zmq_setsockopt(socket, number, &value, MemoryLayout<Int32>.size)
        case .int64(var value):
            return zmq_setsockopt(socket, number, &value, MemoryLayout<Int64>.size)
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { zmq_setsockopt(socket, number, $0.baseAddress, $0.count) }
        }
    }
}
