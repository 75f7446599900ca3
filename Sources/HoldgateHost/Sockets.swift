import Engine
import Ledger
import Lifecycle
import Platform
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
        /// Who comes to each of the four, and goes.
        case controlWatch
        case ingestWatch
        case pluginWatch
        case streamWatch
        /// Peers of `control` and `ingest` that ask to be let in.
        case callersAtDoor
        /// Those of `plugin` and `stream`.
        case peersAtDoor
    }

    /// The addresses that were bound, ports filled in.
    struct Bound: Hashable, Sendable {
        var control: [String]
        var stream: [String]
        var ingest: [String]
        var plugin: [String]
    }

    private let settings: SocketSettings
    private let paths: LocalPaths
    private(set) var callers: CallerSockets
    private(set) var peers: PeerSockets
    var polls: PollSet
    private(set) var bound: Bound
    /// Plugins that send an empty frame ahead get one ahead.
    private var delimited: Set<PeerID> = []

    /// Makes and binds all four.
    static func bound(
        _ configuration: Configuration, _ access: AccessControl, _ paths: LocalPaths,
        inbox fileDescriptor: Int32
    ) throws(ZeroMQError) -> Sockets {
        let settings = SocketSettings(configuration)
        let callers = try CallerSockets(settings, access)
        let peers = try PeerSockets(settings, access)
        let bound = Bound(
            control: try access.bind(callers.control, configuration.control, paths),
            stream: try access.bind(peers.stream, configuration.stream, paths),
            ingest: try access.bind(callers.ingest, configuration.ingest, paths),
            plugin: try access.bind(peers.plugin, configuration.plugin, paths))
        var polls = PollSet()
        for _ in Endpoint.allCases { polls.add(fileDescriptor: -1) }
        polls.replace(Endpoint.inbox.rawValue, with: fileDescriptor)
        var sockets = Sockets(
            settings: settings, paths: paths, callers: callers, peers: peers, polls: polls, bound: bound)
        sockets.watchCallers()
        sockets.watchPeers()
        return sockets
    }

    private init(
        settings: SocketSettings, paths: LocalPaths, callers: consuming CallerSockets,
        peers: consuming PeerSockets,
        polls: consuming PollSet, bound: Bound
    ) {
        self.settings = settings
        self.paths = paths
        self.callers = callers
        self.peers = peers
        self.polls = polls
        self.bound = bound
    }

    private mutating func watchCallers() {
        polls.replace(Endpoint.control.rawValue, with: callers.control)
        polls.replace(Endpoint.ingest.rawValue, with: callers.ingest)
        polls.replace(Endpoint.controlWatch.rawValue, with: callers.controlWatch.monitor.socket)
        polls.replace(Endpoint.ingestWatch.rawValue, with: callers.ingestWatch.monitor.socket)
        polls.watch(.callersAtDoor, callers.authenticator)
    }

    private mutating func watchPeers() {
        polls.replace(Endpoint.plugin.rawValue, with: peers.plugin)
        polls.replace(Endpoint.stream.rawValue, with: peers.stream)
        polls.replace(Endpoint.pluginWatch.rawValue, with: peers.pluginWatch.monitor.socket)
        polls.replace(Endpoint.streamWatch.rawValue, with: peers.streamWatch.monitor.socket)
        polls.watch(.peersAtDoor, peers.authenticator)
    }

    func isReadable(_ endpoint: Endpoint) -> Bool { polls.isReadable(endpoint.rawValue) }

    /// Whether the loop wakes for what comes in there.
    mutating func watch(_ endpoint: Endpoint, _ on: Bool) {
        polls.watch(endpoint.rawValue, readable: on, writable: false)
    }

    // MARK: Binding again

    /// Closes `stream` and `plugin` without lingering and binds them again: what was queued in them is gone.
    ///
    /// Their context ends with them, which waits until libzmq has let go of every connection: nothing can be on
    /// its way to one afterwards, and no listener of before takes an address away. Paths stay held meanwhile.
    ///
    /// Throws when an address could not be bound again within `rebindAttempts` tries; the sockets are open then.
    mutating func rebindPeers(_ access: AccessControl) throws(ZeroMQError) {
        for endpoint in [Endpoint.plugin, .stream, .pluginWatch, .streamWatch, .peersAtDoor] {
            polls.remove(endpoint.rawValue)
        }
        try peers.setLinger(ms: 0)
        peers = try PeerSockets(settings, access)
        delimited = []
        watchPeers()
        try access.bindAgain(peers.plugin, bound.plugin, paths)
        try access.bindAgain(peers.stream, bound.stream, paths)
    }

    /// The same with `control` and `ingest`; replies that were sent have `lingerMs` to go out.
    mutating func rebindCallers(_ access: AccessControl, lingerMs: Int) throws(ZeroMQError) {
        for endpoint in [Endpoint.control, .ingest, .controlWatch, .ingestWatch, .callersAtDoor] {
            polls.remove(endpoint.rawValue)
        }
        try callers.setLinger(ms: lingerMs)
        callers = try CallerSockets(settings, access)
        watchCallers()
        try access.bindAgain(callers.control, bound.control, paths)
        try access.bindAgain(callers.ingest, bound.ingest, paths)
    }

    // MARK: Delimiters

    mutating func remember(_ peer: PeerID, isDelimited: Bool) {
        if isDelimited { delimited.insert(peer) } else if !delimited.isEmpty { delimited.remove(peer) }
    }

    mutating func forget(_ peer: PeerID) { delimited.remove(peer) }

    func isDelimited(_ peer: PeerID) -> Bool { !delimited.isEmpty && delimited.contains(peer) }
}

extension PollSet {
    fileprivate mutating func watch(
        _ endpoint: Sockets.Endpoint, _ authenticator: borrowing Authenticator?
    ) {
        switch authenticator {
        case .some(let door): replace(endpoint.rawValue, with: door.socket)
        case .none: remove(endpoint.rawValue)
        }
    }
}

/// What all sockets of a host are made by.
struct SocketSettings: Sendable {
    let ioThreads: Int
    let limits: WireLimits
    let maxWindowMessages: Int
    let connections: Connections.Limits

    init(_ configuration: Configuration) {
        ioThreads = configuration.ioThreads
        limits = configuration.wireLimits
        maxWindowMessages = configuration.engine.maxWindowMessages
        // Half the descriptors that the process may have stay free: at its limit libzmq ends the process.
        let total = min(configuration.maxConnections, max(16, OpenFiles.limit / 8))
        let unreadBytes = Self.unreadBytes + 2 * configuration.wireLimits.maxMessageBytes
        connections = Connections.Limits(
            total: total, perOrigin: min(total, configuration.maxConnectionsPerPeer),
            unreadBytes: unreadBytes,
            allUnreadBytes: 4 * unreadBytes)
    }

    /// What libzmq may hold of one peer before that has to wait, in frames of the largest size.
    private static let unreadBytes = 64 << 20

    fileprivate func router(
        _ context: Context, _ access: AccessControl, _ domain: String
    ) throws(ZeroMQError) -> Socket {
        let socket = try Socket(.router, in: context)
        try socket.set(.linger(ms: 1000))
        try socket.set(.maxMessageBytes(limits.maxMessageBytes))
        try socket.set(.receiveHighWaterMark(max(4, min(1000, Self.unreadBytes / limits.maxFrameBytes))))
        try socket.set(access.options(domain))
        try Self.setLiveness(socket)
        return socket
    }

    /// The kernel finds dead peers. Not ZMTP's heartbeats: libzmq 4.3 aborts the process when one is due on a
    /// connection that broke while it was not being read from, because too much of it was unread.
    fileprivate static func setLiveness(_ socket: borrowing Socket) throws(ZeroMQError) {
        try socket.set(.tcpKeepAlive(true))
        try socket.set(.tcpKeepAliveIdle(seconds: 5))
        try socket.set(.tcpKeepAliveInterval(seconds: 1))
        try socket.set(.tcpKeepAliveCount(5))
        try socket.set(.handshakeInterval(ms: 5000))
    }
}

/// `control` and `ingest`, in a context of their own.
struct CallerSockets: ~Copyable {
    let control: Socket
    let ingest: Socket
    let controlWatch: ConnectionWatch
    let ingestWatch: ConnectionWatch
    /// Nil where nobody is asked who it is.
    let authenticator: Authenticator?

    /// Neither is bound yet.
    fileprivate init(_ settings: SocketSettings, _ access: AccessControl) throws(ZeroMQError) {
        let context = try Context(ioThreads: settings.ioThreads)
        let authenticator = access.asks ? try Authenticator(in: context) : nil
        // Among peers with names nobody takes another's place: a reply would go to the wrong one.
        let control = try settings.router(context, access, "control")
        try control.set(.routerHandover(!access.asks))
        let ingest = try settings.router(context, access, "ingest")
        try ingest.set(.routerHandover(!access.asks))
        let controlWatch = try ConnectionWatch(control, settings.connections)
        let ingestWatch: ConnectionWatch
        do throws(ZeroMQError) {
            ingestWatch = try ConnectionWatch(ingest, settings.connections)
        } catch {
            control.stopMonitor()
            throw error
        }
        self.authenticator = authenticator
        self.control = control
        self.controlWatch = controlWatch
        self.ingestWatch = ingestWatch
        self.ingest = ingest
    }

    deinit {
        // Whichever goes first.
        control.stopMonitor()
        ingest.stopMonitor()
    }

    fileprivate borrowing func setLinger(ms: Int) throws(ZeroMQError) {
        try control.set(.linger(ms: ms))
        try ingest.set(.linger(ms: ms))
    }
}

/// `plugin` and `stream`, in a context of their own: where it ends, nothing of them is left.
struct PeerSockets: ~Copyable {
    let plugin: Socket
    let stream: Socket
    let pluginWatch: ConnectionWatch
    let streamWatch: ConnectionWatch
    /// Nil where nobody is asked who it is.
    let authenticator: Authenticator?

    /// Neither is bound yet.
    fileprivate init(_ settings: SocketSettings, _ access: AccessControl) throws(ZeroMQError) {
        let context = try Context(ioThreads: settings.ioThreads)
        let authenticator = access.asks ? try Authenticator(in: context) : nil
        let plugin = try Self.pluginSocket(context, settings, access)
        let stream = try Self.streamSocket(context, access)
        let pluginWatch = try ConnectionWatch(plugin, settings.connections)
        let streamWatch: ConnectionWatch
        do throws(ZeroMQError) {
            streamWatch = try ConnectionWatch(stream, settings.connections)
        } catch {
            plugin.stopMonitor()
            throw error
        }
        self.authenticator = authenticator
        self.plugin = plugin
        self.pluginWatch = pluginWatch
        self.streamWatch = streamWatch
        self.stream = stream
    }

    deinit {
        // Whichever goes first.
        plugin.stopMonitor()
        stream.stopMonitor()
    }

    private static func pluginSocket(
        _ context: Context, _ settings: SocketSettings, _ access: AccessControl
    ) throws(ZeroMQError) -> Socket {
        let socket = try settings.router(context, access, "plugin")
        try socket.set(.routerMandatory(true))
        // Windows end a delivery before the mark does, and a full restart may tell where each known app is.
        try socket.set(.sendHighWaterMark(2 * settings.maxWindowMessages + AppTable.limit))
        try socket.set(.linger(ms: 200))
        return socket
    }

    private static func streamSocket(
        _ context: Context, _ access: AccessControl
    ) throws(ZeroMQError) -> Socket {
        let socket = try Socket(.xpub, in: context)
        try socket.set(.linger(ms: 200))
        try socket.set(.xpubVerbose(true))
        // Where peers have names, each subscription is granted or not.
        try socket.set(.xpubManual(access.asks))
        try socket.set(.maxMessageBytes(maxSubscriptionBytes))
        try socket.set(.sendHighWaterMark(10_000))
        try socket.set(access.options(AccessControl.streamDomain))
        try SocketSettings.setLiveness(socket)
        return socket
    }

    /// What comes in on `stream` are subscriptions.
    private static let maxSubscriptionBytes = 64 << 10

    fileprivate borrowing func setLinger(ms: Int) throws(ZeroMQError) {
        try plugin.set(.linger(ms: ms))
        try stream.set(.linger(ms: ms))
    }
}

extension AccessControl {
    /// Whether peers are asked who they are.
    var asks: Bool { keys != nil }

    /// Returns the addresses with their ports.
    fileprivate func bind(
        _ socket: borrowing Socket, _ addresses: [String], _ paths: LocalPaths
    ) throws(ZeroMQError) -> [String] {
        var bound: [String] = []
        for address in addresses {
            try socket.set(options(for: address))
            bound.append(try paths.bind(socket, address))
        }
        return bound
    }

    private static let rebindAttempts = 500

    /// A peer that connects to nobody's port may have got that port for its own end.
    fileprivate func bindAgain(
        _ socket: borrowing Socket, _ addresses: [String], _ paths: LocalPaths
    ) throws(ZeroMQError) {
        for address in addresses {
            try socket.set(options(for: address))
            var attempt = 0
            while true {
                do throws(ZeroMQError) {
                    _ = try paths.bind(socket, address)
                    break
                } catch {
                    attempt += 1
                    guard error.code == .addressInUse, attempt < Self.rebindAttempts else { throw error }
                    var pause = PollSet()
                    _ = try pause.wait(timeoutMs: 10)
                }
            }
        }
    }
}

extension PeerID {
    /// A routing id that libzmq gave: a zero byte and four more. Nil for one that the peer chose itself.
    init?(routingID: [UInt8]) {
        guard routingID.count == 5, routingID[0] == 0 else { return nil }
        self.init(routingID.reduce(0) { $0 << 8 | UInt64($1) })
    }

    var routingID: [UInt8] { (0..<5).map { UInt8(truncatingIfNeeded: raw >> (8 * (4 - UInt64($0)))) } }
}
