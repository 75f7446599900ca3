import CMicroHTTPD
import Glibc
import Platform

/// An HTTP/1.1 server on libmicrohttpd, with threads of its own.
///
/// ```swift
/// let server = try HTTPServer(listening: [("127.0.0.1", 8080)], handler: MyHandler())
/// print(server.addresses)      // ["127.0.0.1:8080"]
/// server.stop()
/// ```
///
/// A peer that is slow, silent, or sends without an end costs a bounded amount of memory and time, and is cut off
/// alone: see `Limits`.
public final class HTTPServer: Sendable {
    private let core: ServerCore
    /// `host:port`, as they are bound.
    public let addresses: [String]
    private let daemons: Locked<[UInt]>
    private let sweepEnd: EventFD

    /// Binds all addresses, then serves.
    ///
    /// - Throws: for an address that can't be bound, a certificate that isn't one, or no memory or threads.
    public init(
        listening places: [(host: String, port: UInt16)], tls: TLS? = nil, limits: Limits = Limits(),
        handler: any HTTPHandler, log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(HTTPServerError) {
        do {
            core = try ServerCore(handler: handler, limits: limits, log: log)
            sweepEnd = try EventFD()
        } catch {
            throw HTTPServerError("\(error)")
        }
        var addresses: [String] = []
        var sockets: [Int32] = []
        do throws(HTTPServerError) {
            for place in places {
                let listener = try Listener.open(host: place.host, port: place.port)
                addresses.append(listener.address)
                sockets.append(listener.socket)
            }
        } catch {
            for socket in sockets { close(socket) }
            throw error
        }
        self.addresses = addresses
        daemons = Locked([])
        try start(sockets, tls)
    }

    private func start(_ sockets: [Int32], _ tls: TLS?) throws(HTTPServerError) {
        for (index, socket) in sockets.enumerated() {
            guard let daemon = core.startDaemon(on: socket, tls) else {
                for rest in sockets[index...] { close(rest) }
                stop()
                let hint = tls == nil ? "" : "; is it a certificate and its key, both PEM?"
                throw HTTPServerError("libmicrohttpd did not start\(hint)")
            }
            let place = UInt(bitPattern: daemon)
            daemons.withLock { $0.append(place) }
        }
        let (core, end) = (core, sweepEnd)
        do {
            _ = try Thread.spawn(name: "http-sweep") {
                while !end.wait(timeoutMs: 1000) { core.connections.sweep() }
            }
        } catch {
            stop()
            throw HTTPServerError("\(error)")
        }
    }

    /// Whether only this machine can reach what `host`, a name or an address, stands for.
    public static func isLoopback(_ host: String) throws(HTTPServerError) -> Bool {
        try Listener.isLoopback(host)
    }

    /// How many connections are open.
    public var connectionCount: Int { core.connections.count }

    /// Takes no more connections, ends streams, lets requests that wait have their answers for `stopMs`, answers what is left
    /// with the handler's `stopping`, and returns once all threads are gone. May be called again.
    public func stop() {
        let stopped = daemons.withLock { daemons in
            defer { daemons = [] }
            return daemons
        }
        sweepEnd.signal()
        for daemon in stopped {
            let listener = MHD_quiesce_daemon(OpaquePointer(bitPattern: daemon))
            if listener >= 0 { close(listener) }
        }
        core.stop()
        if !stopped.isEmpty { core.waitUntilIdle(timeoutMs: core.limits.stopMs) }
        core.answerAll()
        if !stopped.isEmpty { core.waitUntilIdle(timeoutMs: Self.lastMs) }
        for daemon in stopped { MHD_stop_daemon(OpaquePointer(bitPattern: daemon)) }
    }

    /// For peers to take their last answers.
    private static let lastMs = 1000

    deinit { stop() }
}

/// What the daemons' callbacks share.
final class ServerCore: Sendable {
    let handler: any HTTPHandler
    let limits: HTTPServer.Limits
    let log: @Sendable (String) -> Void
    let connections: ConnectionGuard
    private let state = Locked(State())
    private let idle: EventFD

    private struct State {
        var isStopping = false
        /// Requests that are not over.
        var open = 0
        var bodyBytes = 0
        /// Requests whose answers are awaited.
        var waiting: [ObjectIdentifier: Exchange] = [:]
        var streams: [ObjectIdentifier: StreamBody] = [:]
    }

    init(
        handler: any HTTPHandler, limits: HTTPServer.Limits, log: @escaping @Sendable (String) -> Void
    ) throws(PlatformError) {
        idle = try EventFD()
        self.handler = handler
        self.limits = limits
        self.log = log
        connections = ConnectionGuard(requestMs: Int64(limits.requestSeconds) * 1000)
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }

    func began() { state.withLock { $0.open += 1 } }

    func ended() {
        let isIdle = state.withLock { state in
            state.open -= 1
            return state.open == 0 && state.isStopping
        }
        if isIdle { idle.signal() }
    }

    /// Once it stops: until every request is over.
    func waitUntilIdle(timeoutMs: Int) {
        guard state.withLock({ $0.open > 0 }) else { return }
        _ = idle.wait(timeoutMs: timeoutMs)
    }

    /// Makes room for bytes of a body; false where all bodies have too many.
    func reserve(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard state.bodyBytes + bytes <= limits.bodyBytes else { return false }
            state.bodyBytes += bytes
            return true
        }
    }

    func release(_ bytes: Int) { state.withLock { $0.bodyBytes -= bytes } }

    /// False: the server stops, and nobody would ever wake it.
    func add(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            guard !state.isStopping else { return false }
            state.waiting[ObjectIdentifier(exchange)] = exchange
            return true
        }
    }

    func remove(_ exchange: Exchange) {
        let removed = state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(exchange)) }
        _ = removed
    }

    func add(_ stream: StreamBody) -> Bool {
        state.withLock { state in
            guard !state.isStopping else { return false }
            state.streams[ObjectIdentifier(stream)] = stream
            return true
        }
    }

    func remove(_ stream: StreamBody) {
        let removed = state.withLock { $0.streams.removeValue(forKey: ObjectIdentifier(stream)) }
        _ = removed
    }

    /// From now on requests are answered with `stopping`, and streams end.
    func stop() {
        let streams = state.withLock { state in
            state.isStopping = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }

    /// Whoever waits is woken with an answer: libmicrohttpd can't stop while a connection is suspended.
    func answerAll() {
        let waiting = state.withLock { Array($0.waiting.values) }
        for exchange in waiting { exchange.answer(handler.stopping(exchange.head)) }
    }
}
