import Glibc
import HTTPServer
import Platform

/// A server whose handler is a closure.
final class TestServer: Sendable {
    let server: HTTPServer
    let port: UInt16

    init(
        limit: Int = 1 << 20, limits: HTTPServer.Limits = HTTPServer.Limits(),
        _ handle: @escaping @Sendable (HTTPRequest, HTTPReply) -> Void
    ) throws {
        Signals.ignorePipe()
        server = try HTTPServer(
            listening: [("127.0.0.1", 0)], limits: limits, handler: TestHandler(limit: limit, handle))
        port = UInt16(server.addresses[0].split(separator: ":")[1])!
    }

    deinit { server.stop() }

    func connect() throws -> TestClient { try TestClient(port: port) }
}

struct TestHandler: HTTPHandler {
    let limit: Int
    let answer: @Sendable (HTTPRequest, HTTPReply) -> Void

    init(limit: Int, _ answer: @escaping @Sendable (HTTPRequest, HTTPReply) -> Void) {
        self.limit = limit
        self.answer = answer
    }

    func begin(_ head: HTTPHead) -> HTTPIntake { .read(limit: limit) }
    func handle(_ request: HTTPRequest, reply: HTTPReply) { answer(request, reply) }
    func tooLarge(_ head: HTTPHead, limit: Int) -> HTTPResponse { HTTPResponse(413) }
    func overloaded(_ head: HTTPHead) -> HTTPResponse { HTTPResponse(429) }
    func stopping(_ head: HTTPHead) -> HTTPResponse { HTTPResponse(503) }
    func finished(_ head: HTTPHead, status: Int, microseconds: Int64) {}
}

/// A stream that a test writes into.
final class TestStream: HTTPStream {
    private struct State {
        var text: [UInt8] = []
        var wake: (@Sendable () -> Void)?
        var hasEnded = false
    }
    private let state = Locked(State())
    private let changed = Condition()

    func begin(wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
        changed.broadcast()
    }

    func read(into space: UnsafeMutableRawBufferPointer) -> HTTPStreamStep {
        state.withLock { state in
            guard !state.text.isEmpty else { return .wait }
            let count = min(state.text.count, space.count)
            state.text.withUnsafeBytes {
                space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            state.text.removeFirst(count)
            return .bytes(count)
        }
    }

    func ended() {
        state.withLock { $0.hasEnded = true }
        changed.broadcast()
    }

    func write(_ text: String) {
        let wake = state.withLock(waitingOn: changed) { state -> (@Sendable () -> Void)? in
            guard let wake = state.wake else { return nil }
            state.text += text.utf8
            return wake
        }
        wake()
    }

    func waitForEnd() { state.withLock(waitingOn: changed) { $0.hasEnded ? () : nil } }

    func writeUntilEnd(_ text: String) {
        while !state.withLock({ $0.hasEnded }) { write(text) }
    }
}

/// A client that sends bytes as they are told.
final class TestClient {
    private var socket: Int32
    private var buffer: [UInt8] = []

    struct Response {
        let status: Int
        let headers: [String: String]
        var body = ""
    }

    init(port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw HTTPServerError("connect: \(errno)") }
        // A bound on hanging, nothing else.
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    func close() {
        if socket >= 0 { Glibc.close(socket) }
        socket = -1
    }

    /// What can be sent; the peer may have closed.
    func send(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(socket, $0.baseAddress! + sent, bytes.count - sent) }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Sends a byte whenever nothing has come for a while; false once the peer has ended the connection.
    func trickle(_ byte: String) -> Bool {
        for _ in 0..<600 {
            var item = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            if poll(&item, 1, 50) > 0 {
                guard fill() else { return false }
                continue
            }
            send(byte)
        }
        return true
    }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(socket, &piece, piece.count)
        guard count > 0 else { return false }
        buffer += piece[..<count]
        return true
    }

    private func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end].filter { $0 != 13 }, as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    /// The next answer up to its body; nil where the connection ends before.
    func head() -> Response? {
        guard let first = line() else { return nil }
        let status = Int(first.split(separator: " ")[1]) ?? 0
        var headers: [String: String] = [:]
        while let next = line(), !next.isEmpty {
            let parts = next.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = String(parts.count > 1 ? parts[1].dropFirst() : "")
        }
        if status == 100 { return head() }
        return Response(status: status, headers: headers)
    }

    /// The next whole answer.
    func response() -> Response? {
        guard var response = head() else { return nil }
        let count = Int(response.headers["content-length"] ?? "") ?? 0
        while buffer.count < count { guard fill() else { return nil } }
        response.body = String(decoding: buffer[..<count], as: UTF8.self)
        buffer.removeFirst(count)
        return response
    }

    /// The next piece of a chunked body; empty at its end.
    func chunk() -> String? {
        guard let size = line().flatMap({ Int($0, radix: 16) }) else { return nil }
        while buffer.count < size + 2 { guard fill() else { return nil } }
        defer { buffer.removeFirst(size + 2) }
        return String(decoding: buffer[..<size], as: UTF8.self)
    }
}
