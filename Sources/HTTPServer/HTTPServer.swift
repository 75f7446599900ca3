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
        core = ServerCore(handler: handler, limits: limits, log: log)
        do {
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

    /// Takes no more connections, answers requests that wait with the handler's `stopping`, ends streams, and returns
    /// once all threads are gone. May be called again.
    public func stop() {
        let stopped = daemons.withLock { daemons in
            defer { daemons = [] }
            return daemons
        }
        sweepEnd.signal()
        core.stop()
        for daemon in stopped { MHD_stop_daemon(OpaquePointer(bitPattern: daemon)) }
    }

    deinit { stop() }
}

/// What the daemons' callbacks share.
final class ServerCore: Sendable {
    let handler: any HTTPHandler
    let limits: HTTPServer.Limits
    let log: @Sendable (String) -> Void
    let connections: ConnectionGuard
    private let state = Locked(State())

    private struct State {
        var isStopping = false
        var bodyBytes = 0
        /// Requests whose answers are awaited.
        var waiting: [ObjectIdentifier: Exchange] = [:]
        var streams: [ObjectIdentifier: StreamBody] = [:]
    }

    init(handler: any HTTPHandler, limits: HTTPServer.Limits, log: @escaping @Sendable (String) -> Void) {
        self.handler = handler
        self.limits = limits
        self.log = log
        connections = ConnectionGuard(requestMs: Int64(limits.requestSeconds) * 1000)
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }

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

    /// Whoever waits is woken with an answer: libmicrohttpd can't stop while a connection is suspended.
    func stop() {
        let (waiting, streams) = state.withLock { state in
            state.isStopping = true
            return (Array(state.waiting.values), Array(state.streams.values))
        }
        for exchange in waiting { exchange.answer(handler.stopping(exchange.head)) }
        for stream in streams { stream.finish() }
    }
}
