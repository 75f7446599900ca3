import CMicroHTTPD
import Glibc
import Platform

/// One request, from its head to its answer. What isn't under the lock belongs to the daemon's thread that has the
/// connection: that makes the `@unchecked` true.
final class Exchange: @unchecked Sendable {
    /// → handling once the body is there; → answered at once where the head decides.
    private enum State {
        case reading
        /// The handler has it, on the daemon's thread.
        case handling
        /// The handler has kept it, and the connection sleeps.
        case suspended
        case answered(HTTPResponse)
        case sent
    }

    let head: HTTPHead
    private let core: ServerCore
    private let connection: OpaquePointer
    private let entry: ConnectionGuard.Entry
    private let startNs = Clock.monotonicNs()
    private let state = Locked(State.reading)
    // The daemon's thread alone:
    private var body: [UInt8] = []
    private var limit = 0
    private var received = 0
    private var reserved = 0
    /// The answer that waits for the end of a body that nobody wants.
    private var early: HTTPResponse?
    private var status = 0

    init(
        _ head: HTTPHead, _ core: ServerCore, connection: OpaquePointer, entry: ConnectionGuard.Entry
    ) {
        self.head = head
        self.core = core
        self.connection = connection
        self.entry = entry
        core.began()
    }

    // MARK: The daemon's thread

    /// The head is there. False: close the connection.
    func begin() -> Bool {
        core.connections.isPeersTurn(entry)
        guard !core.isStopping else { return send(core.handler.stopping(head), closing: true) }
        switch core.handler.begin(head) {
        case .read(let limit):
            self.limit = limit
            // What is said to be too much need not be read: the client may wait for leave to send it.
            guard let length = head.contentLength, length > UInt64(limit) else { return true }
            return refuse(core.handler.tooLarge(head, limit: limit), bodyBytes: length)
        case .answer(let response): return refuse(response, bodyBytes: head.contentLength)
        }
    }

    /// Answers without the body. A small one is read first: its client may not look at the answer before it has sent it
    /// all, and the connection can be used again.
    private func refuse(_ response: HTTPResponse, bodyBytes: UInt64?) -> Bool {
        let isAwaited = head.header("expect") != nil
        if !isAwaited, bodyBytes.map({ $0 <= UInt64(core.limits.excessBytes) }) ?? true {
            early = response
            limit = 0
            return true
        }
        return send(response, closing: true)
    }

    /// A piece of the body. False: close the connection.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        received += bytes.count
        if early == nil, received > limit { drop(core.handler.tooLarge(head, limit: limit)) }
        if early == nil, !core.reserve(bytes.count) { drop(core.handler.overloaded(head)) }
        if early != nil { return received <= limit + core.limits.excessBytes }
        reserved += bytes.count
        body.append(contentsOf: bytes)
        return true
    }

    private func drop(_ response: HTTPResponse) {
        early = response
        body = []
        core.release(reserved)
        reserved = 0
    }

    /// The body is there, or the connection was woken. False: close the connection.
    func proceed() -> Bool {
        if let early { return send(early) }
        let response: HTTPResponse? = state.withLock { state in
            if case .answered(let response) = state { return response }
            return nil
        }
        if let response { return send(response) }
        core.connections.isOurTurn(entry)
        guard core.add(self) else { return send(core.handler.stopping(head), closing: true) }
        state.withLock { $0 = .handling }
        let request = HTTPRequest(head, body: body)
        body = []
        core.handler.handle(request, reply: HTTPReply(exchange: self))
        let answer: HTTPResponse? = state.withLock { state in
            if case .answered(let response) = state { return response }
            state = .suspended
            // Under the lock: nobody can wake what does not sleep yet.
            MHD_suspend_connection(connection)
            return nil
        }
        guard let answer else { return true }
        return send(answer)
    }

    private func send(_ response: HTTPResponse, closing: Bool = false) -> Bool {
        core.remove(self)
        state.withLock { $0 = .sent }
        status = response.status
        let raw: OpaquePointer?
        switch response.body {
        case .bytes(let bytes):
            core.connections.isPeersTurn(entry)
            raw = bytes.withUnsafeBytes { bytes in
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
            }
        case .stream(let stream):
            core.connections.isOurTurn(entry)
            raw = StreamBody.response(stream, core, connection)
        }
        guard let raw else { return false }
        defer { MHD_destroy_response(raw) }
        for field in response.headers { MHD_add_response_header(raw, field.name, field.value) }
        if closing { MHD_add_response_header(raw, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), raw) == .YES
    }

    /// The answer is out, or the connection has gone.
    func completed() {
        state.withLock { $0 = .sent }
        core.remove(self)
        core.release(reserved)
        reserved = 0
        core.connections.isPeersTurn(entry)
        core.handler.finished(head, status: status, microseconds: (Clock.monotonicNs() - startNs) / 1000)
        core.ended()
    }

    // MARK: Any thread

    /// The first answer counts; what comes after it is dropped.
    func answer(_ response: HTTPResponse) {
        state.withLock { state in
            switch state {
            case .reading, .handling: state = .answered(response)
            case .suspended:
                state = .answered(response)
                MHD_resume_connection(connection)
            case .answered, .sent: break
            }
        }
    }
}

/// Where a request's answer goes.
public struct HTTPReply: Sendable {
    private let respond: @Sendable (HTTPResponse) -> Void

    init(exchange: Exchange) { respond = { exchange.answer($0) } }

    /// For tests of handlers.
    public init(_ respond: @escaping @Sendable (HTTPResponse) -> Void) { self.respond = respond }

    /// Once; any thread.
    public func send(_ response: HTTPResponse) { respond(response) }
}
