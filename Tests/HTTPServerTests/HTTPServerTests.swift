import Glibc
import HTTPServer
import Platform
import Testing

@Suite struct HTTPServerTests {
    @Test func aPathAndABodyReachTheHandlerAndTheAnswerTheClient() throws {
        let server = try TestServer { request, reply in
            let fields = request.head.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
            reply.send(
                HTTPResponse(
                    200, "text/plain",
                    "\(request.head.method) \(request.head.path)?\(fields) \(request.body.count)"))
        }
        let client = try server.connect()
        client.send("POST /a%20b?c=d%26&e HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
        #expect(client.response()?.body == "POST /a b?c=d&&e= 3")
        // The connection stays.
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(client.response()?.body == "GET /? 0")
    }

    @Test func anAnswerMayComeLaterAndFromElsewhere() throws {
        let waiting = Locked<[HTTPReply]>([])
        let changed = Condition()
        let server = try TestServer { _, reply in
            waiting.withLock { $0.append(reply) }
            changed.broadcast()
        }
        let clients = try (0..<20).map { _ in try server.connect() }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }
        let replies = waiting.withLock(waitingOn: changed) { $0.count == 20 ? $0 : nil }
        for reply in replies.reversed() { reply.send(HTTPResponse(204)) }
        // A second answer is dropped.
        for reply in replies { reply.send(HTTPResponse(500)) }
        #expect(clients.map { $0.response()?.status } == Array(repeating: 204, count: 20))
    }

    @Test(arguments: [100, 1 << 20])
    func aBodyThatIsTooLargeIsAnsweredWhetherItsLengthIsKnownOrNot(bytes: Int) throws {
        let server = try TestServer(limit: 99) { _, reply in reply.send(HTTPResponse(200)) }
        let body = String(repeating: "x", count: bytes)
        let known = try server.connect()
        known.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes)\r\n\r\n\(body)")
        #expect(known.response()?.status == 413)
        let chunked = try server.connect()
        let size = String(bytes, radix: 16)
        chunked.send(
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(body)\r\n0\r\n\r\n")
        #expect(chunked.response()?.status == 413)
        let patient = try server.connect()
        patient.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes)\r\nExpect: 100-continue\r\n\r\n")
        #expect(patient.response()?.status == 413)
    }

    @Test func bodiesTogetherHaveABound() throws {
        var limits = HTTPServer.Limits()
        limits.bodyBytes = 150
        let waiting = Locked<[HTTPReply]>([])
        let changed = Condition()
        let server = try TestServer(limits: limits) { _, reply in
            waiting.withLock { $0.append(reply) }
            changed.broadcast()
        }
        let request =
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + String(repeating: "x", count: 100)
        let first = try server.connect()
        first.send(request)
        let reply = waiting.withLock(waitingOn: changed) { $0.first }
        let second = try server.connect()
        second.send(request)
        #expect(second.response()?.status == 429)
        reply.send(HTTPResponse(200))
        #expect(first.response()?.status == 200)
        // What was answered makes room.
        first.send(request)
        waiting.withLock(waitingOn: changed) { $0.count == 2 ? $0[1] : nil }.send(HTTPResponse(200))
        #expect(first.response()?.status == 200)
    }

    @Test func aStreamIsWrittenAsItIsMadeAndEndsWithTheServer() throws {
        let stream = TestStream()
        let server = try TestServer { _, reply in reply.send(HTTPResponse(200, body: .stream(stream))) }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(client.head()?.status == 200)
        for text in ["one", "two", "three"] {
            stream.write(text)
            #expect(client.chunk() == text)
        }
        server.server.stop()
        #expect(client.chunk() == "")
        stream.waitForEnd()
    }

    @Test func aClientThatGoesEndsItsStream() throws {
        let stream = TestStream()
        let server = try TestServer { _, reply in reply.send(HTTPResponse(200, body: .stream(stream))) }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(client.head()?.status == 200)
        client.close()
        // Writing shows that nobody is there.
        stream.writeUntilEnd("x")
    }

    @Test func stoppingAnswersWhoeverWaits() throws {
        let waiting = Locked(0)
        let changed = Condition()
        var limits = HTTPServer.Limits()
        limits.stopMs = 0
        let server = try TestServer(limits: limits) { _, _ in
            waiting.withLock { $0 += 1 }
            changed.broadcast()
        }
        let clients = try (0..<10).map { _ in try server.connect() }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }
        waiting.withLock(waitingOn: changed) { $0 == 10 ? () : nil }
        server.server.stop()
        #expect(clients.map { $0.response()?.status } == Array(repeating: 503, count: 10))
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
    ])
    func whoeverSendsForeverIsCutOff(start: String) throws {
        var limits = HTTPServer.Limits()
        limits.requestSeconds = 1
        let server = try TestServer(limits: limits) { _, reply in reply.send(HTTPResponse(200)) }
        let client = try server.connect()
        client.send(start)
        // Something now and then, so that the connection is never silent.
        #expect(client.trickle("x") == false)
    }

    @Test func aTakenPortIsSaid() throws {
        let server = try TestServer { _, _ in }
        let error = #expect(throws: HTTPServerError.self) {
            _ = try HTTPServer(
                listening: [("127.0.0.1", server.port)], handler: TestHandler(limit: 1) { _, _ in })
        }
        #expect(error?.description.contains("another program listens there") == true)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("localhost", true), ("0.0.0.0", false), ("::", false),
    ])
    func loopbackIsKnown(host: String, isLoopback: Bool) throws {
        #expect(try HTTPServer.isLoopback(host) == isLoopback)
    }
}
