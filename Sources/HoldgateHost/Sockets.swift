import Engine
import Ledger
import Lifecycle
import Wire
import ZeroMQ

/// The four endpoints and what the loop sleeps on.
struct Sockets: ~Copyable {
    enum Endpoint: Int, CaseIterable {
        case control = 0
        case ingest
        case plugin
        case stream
        case inbox
        /// Connections of `plugin` that broke.
        case monitor
    }

    /// The addresses that were bound, ports filled in.
    struct Bound: Hashable, Sendable {
        var control: [String]
        var stream: [String]
        var ingest: [String]
        var plugin: [String]
    }

    /// That of `plugin` and `stream` alone: where it ends, nothing of them is left.
    private var peers: Context
    private let ioThreads: Int
    private let limits: WireLimits
    private let windowMessages: Int
    var control: Socket
    var ingest: Socket
    var plugin: Socket
    var stream: Socket
    private(set) var monitor: SocketMonitor
    var polls: PollSet
    private(set) var bound: Bound
    /// Plugins that send an empty frame ahead get one ahead.
    private var delimited: Set<PeerID> = []

    /// Makes and binds all four.
    static func bound(
        _ configuration: Configuration, in context: Context, inbox fileDescriptor: Int32
    ) throws(ZeroMQError) -> Sockets {
        let limits = configuration.wireLimits
        let windowMessages = configuration.engine.maxWindowMessages
        let control = try router(context, limits)
        try control.set(.routerHandover(true))
        let ingest = try router(context, limits)
        try ingest.set(.routerHandover(true))
        let peers = try Context(ioThreads: configuration.ioThreads)
        let plugin = try pluginSocket(peers, limits, windowMessages)
        let monitor = try plugin.monitor(.disconnected)
        let stream = try streamSocket(peers)
        let bound = Bound(
            control: try bind(control, configuration.control), stream: try bind(stream, configuration.stream),
            ingest: try bind(ingest, configuration.ingest), plugin: try bind(plugin, configuration.plugin))
        var polls = PollSet()
        polls.add(socket: control)
        polls.add(socket: ingest)
        polls.add(socket: plugin)
        polls.add(socket: stream)
        polls.add(fileDescriptor: fileDescriptor)
        polls.add(socket: monitor.socket)
        return Sockets(
            peers: peers, ioThreads: configuration.ioThreads, limits: limits,
            windowMessages: windowMessages, control: control, ingest: ingest, plugin: plugin, stream: stream,
            monitor: monitor, polls: polls, bound: bound)
    }

    private init(
        peers: Context, ioThreads: Int, limits: WireLimits, windowMessages: Int,
        control: consuming Socket, ingest: consuming Socket, plugin: consuming Socket,
        stream: consuming Socket,
        monitor: consuming SocketMonitor,
        polls: consuming PollSet,
        bound: Bound
    ) {
        self.peers = peers
        self.ioThreads = ioThreads
        self.limits = limits
        self.windowMessages = windowMessages
        self.control = control
        self.ingest = ingest
        self.plugin = plugin
        self.stream = stream
        self.monitor = monitor
        self.polls = polls
        self.bound = bound
    }

    deinit {
        // Whichever of the two goes first.
        plugin.stopMonitor()
    }

    private static func bind(_ socket: borrowing Socket, _ addresses: [String]) throws(ZeroMQError)
        -> [String]
    {
        var bound: [String] = []
        for address in addresses { bound.append(try socket.bind(address)) }
        return bound
    }

    private static func router(
        _ context: Context, _ limits: WireLimits
    ) throws(ZeroMQError) -> Socket {
        let socket = try Socket(.router, in: context)
        try socket.set(.linger(ms: 1000))
        try socket.set(.maxMessageBytes(limits.maxMessageBytes))
        try socket.set(.receiveHighWaterMark(max(4, min(1000, unreadBytes / limits.maxFrameBytes))))
        try setLiveness(socket)
        return socket
    }

    /// What libzmq may hold of one peer before that has to wait, in frames of the largest size.
    private static let unreadBytes = 64 << 20
    /// What comes in on `stream` are subscriptions.
    private static let maxSubscriptionBytes = 64 << 10

    /// The kernel finds dead peers. Not ZMTP's heartbeats: libzmq 4.3 aborts the process when one is due on a
    /// connection that broke while it was not being read from, because too much of it was unread.
    private static func setLiveness(_ socket: borrowing Socket) throws(ZeroMQError) {
        try socket.set(.tcpKeepAlive(true))
        try socket.set(.tcpKeepAliveIdle(seconds: 5))
        try socket.set(.tcpKeepAliveInterval(seconds: 1))
        try socket.set(.tcpKeepAliveCount(5))
        try socket.set(.handshakeInterval(ms: 5000))
    }

    private static func pluginSocket(
        _ context: Context, _ limits: WireLimits, _ windowMessages: Int
    ) throws(ZeroMQError) -> Socket {
        let socket = try router(context, limits)
        try socket.set(.routerMandatory(true))
        // Windows end a delivery before the mark does, and a full restart may tell where each known app is.
        try socket.set(.sendHighWaterMark(2 * windowMessages + AppTable.limit))
        try socket.set(.linger(ms: 200))
        return socket
    }

    private static func streamSocket(_ context: Context) throws(ZeroMQError) -> Socket {
        let socket = try Socket(.xpub, in: context)
        try socket.set(.linger(ms: 200))
        try socket.set(.xpubVerbose(true))
        try socket.set(.maxMessageBytes(maxSubscriptionBytes))
        try socket.set(.sendHighWaterMark(10_000))
        try setLiveness(socket)
        return socket
    }

    /// Whether a connection of `plugin` broke since the last time. Takes a bounded number: those that are left are
    /// there in the next turn.
    func takeDisconnects() throws(ZeroMQError) -> Bool {
        var any = false
        for _ in 0..<Self.disconnectsPerTurn {
            guard try monitor.next() != nil else { break }
            any = true
        }
        return any
    }

    private static let disconnectsPerTurn = 1024

    func isReadable(_ endpoint: Endpoint) -> Bool { polls.isReadable(endpoint.rawValue) }

    /// Whether the loop wakes for what comes in there.
    mutating func watch(_ endpoint: Endpoint, _ on: Bool) {
        polls.watch(endpoint.rawValue, readable: on, writable: false)
    }

    /// Closes `stream` and `plugin` without lingering and binds them again: what was queued in them is gone.
    ///
    /// Their context ends with them, which waits until libzmq has let go of every connection: nothing can be on
    /// its way to one afterwards, and no listener of before takes an address, or the new one's file, away.
    ///
    /// Throws when an address could not be bound again within `rebindAttempts` tries; the sockets are open then.
    mutating func rebind() throws(ZeroMQError) {
        try plugin.set(.linger(ms: 0))
        try stream.set(.linger(ms: 0))
        polls.remove(Endpoint.plugin.rawValue)
        polls.remove(Endpoint.stream.rawValue)
        polls.remove(Endpoint.monitor.rawValue)
        plugin.stopMonitor()
        let peers = try Context(ioThreads: ioThreads)
        plugin = try Self.pluginSocket(peers, limits, windowMessages)
        monitor = try plugin.monitor(.disconnected)
        stream = try Self.streamSocket(peers)
        self.peers = peers
        polls.replace(Endpoint.plugin.rawValue, with: plugin)
        polls.replace(Endpoint.monitor.rawValue, with: monitor.socket)
        polls.replace(Endpoint.stream.rawValue, with: stream)
        delimited = []
        try Self.bindAgain(plugin, bound.plugin, &polls)
        try Self.bindAgain(stream, bound.stream, &polls)
    }

    private static let rebindAttempts = 500

    /// A peer that connects to nobody's port may have got that port for its own end.
    private static func bindAgain(
        _ socket: borrowing Socket, _ addresses: [String], _ polls: inout PollSet
    ) throws(ZeroMQError) {
        for address in addresses {
            var attempt = 0
            while true {
                do throws(ZeroMQError) {
                    _ = try socket.bind(address)
                    break
                } catch {
                    attempt += 1
                    guard error.code == .addressInUse, attempt < rebindAttempts else { throw error }
                    var pause = PollSet()
                    _ = try pause.wait(timeoutMs: 10)
                }
            }
        }
    }

    mutating func remember(_ peer: PeerID, isDelimited: Bool) {
        if isDelimited { delimited.insert(peer) } else if !delimited.isEmpty { delimited.remove(peer) }
    }

    mutating func forget(_ peer: PeerID) { delimited.remove(peer) }

    func isDelimited(_ peer: PeerID) -> Bool { !delimited.isEmpty && delimited.contains(peer) }
}

extension PeerID {
    /// A routing id that libzmq gave: a zero byte and four more. Nil for one that the peer chose itself.
    init?(routingID: [UInt8]) {
        guard routingID.count == 5, routingID[0] == 0 else { return nil }
        self.init(routingID.reduce(0) { $0 << 8 | UInt64($1) })
    }

    var routingID: [UInt8] { (0..<5).map { UInt8(truncatingIfNeeded: raw >> (8 * (4 - UInt64($0)))) } }
}
