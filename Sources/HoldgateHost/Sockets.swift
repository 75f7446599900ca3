import Engine
import Ledger
import Lifecycle
import Wire
import ZeroMQ

/// The four endpoints and what the loop sleeps on.
struct Sockets: ~Copyable {
    enum Endpoint: Int {
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

    private let context: Context
    private let limits: WireLimits
    private let heartbeatMs: Int
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
        let heartbeatMs = Int(configuration.engine.heartbeatMs)
        let windowMessages = configuration.engine.maxWindowMessages
        let control = try router(context, limits, heartbeatMs)
        try control.set(.routerHandover(true))
        let ingest = try router(context, limits, heartbeatMs)
        try ingest.set(.routerHandover(true))
        let plugin = try pluginSocket(context, limits, heartbeatMs, windowMessages)
        let monitor = try plugin.monitor(.disconnected)
        let stream = try streamSocket(context, heartbeatMs)
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
            context: context, limits: limits, heartbeatMs: heartbeatMs, windowMessages: windowMessages,
            control: control, ingest: ingest, plugin: plugin, stream: stream, monitor: monitor,
            polls: polls, bound: bound)
    }

    private init(
        context: Context, limits: WireLimits, heartbeatMs: Int, windowMessages: Int,
        control: consuming Socket,
        ingest: consuming Socket, plugin: consuming Socket, stream: consuming Socket,
        monitor: consuming SocketMonitor,
        polls: consuming PollSet,
        bound: Bound
    ) {
        self.context = context
        self.limits = limits
        self.heartbeatMs = heartbeatMs
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
        _ context: Context, _ limits: WireLimits, _ heartbeatMs: Int
    ) throws(ZeroMQError) -> Socket {
        let socket = try Socket(.router, in: context)
        try socket.set(.linger(ms: 1000))
        try socket.set(.maxMessageBytes(limits.maxMessageBytes))
        try setHeartbeats(socket, heartbeatMs)
        return socket
    }

    private static func setHeartbeats(_ socket: borrowing Socket, _ heartbeatMs: Int) throws(ZeroMQError) {
        try socket.set(.heartbeatInterval(ms: heartbeatMs))
        try socket.set(.heartbeatTimeout(ms: 3 * heartbeatMs))
        try socket.set(.handshakeInterval(ms: 5000))
    }

    private static func pluginSocket(
        _ context: Context, _ limits: WireLimits, _ heartbeatMs: Int, _ windowMessages: Int
    ) throws(ZeroMQError) -> Socket {
        let socket = try router(context, limits, heartbeatMs)
        try socket.set(.routerMandatory(true))
        // Windows end a delivery before the mark does, and a full restart may tell where each known app is.
        try socket.set(.sendHighWaterMark(2 * windowMessages + AppTable.limit))
        try socket.set(.linger(ms: 200))
        return socket
    }

    private static func streamSocket(_ context: Context, _ heartbeatMs: Int) throws(ZeroMQError) -> Socket {
        let socket = try Socket(.xpub, in: context)
        try socket.set(.linger(ms: 200))
        try socket.set(.xpubVerbose(true))
        try socket.set(.sendHighWaterMark(10_000))
        try setHeartbeats(socket, heartbeatMs)
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

    mutating func watchIngest(_ on: Bool) {
        polls.watch(Endpoint.ingest.rawValue, readable: on, writable: false)
    }

    /// Closes `stream` and `plugin` without lingering and binds them again: what was queued in them is gone.
    ///
    /// Throws when an address could not be bound again within `rebindAttempts` tries; the sockets are open then.
    mutating func rebind() throws(ZeroMQError) {
        try plugin.set(.linger(ms: 0))
        try stream.set(.linger(ms: 0))
        polls.remove(Endpoint.plugin.rawValue)
        polls.remove(Endpoint.stream.rawValue)
        polls.remove(Endpoint.monitor.rawValue)
        plugin.stopMonitor()
        plugin = try Self.pluginSocket(context, limits, heartbeatMs, windowMessages)
        stream = try Self.streamSocket(context, heartbeatMs)
        monitor = try plugin.monitor(.disconnected)
        polls.replace(Endpoint.plugin.rawValue, with: plugin)
        polls.replace(Endpoint.monitor.rawValue, with: monitor.socket)
        polls.replace(Endpoint.stream.rawValue, with: stream)
        delimited = []
        try Self.bindAgain(plugin, bound.plugin, &polls)
        try Self.bindAgain(stream, bound.stream, &polls)
    }

    private static let rebindAttempts = 500

    /// A closed socket's address is in use for some milliseconds.
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
