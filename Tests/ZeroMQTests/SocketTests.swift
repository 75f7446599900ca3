import Glibc
import Testing
import ZeroMQ

@Suite struct SocketTests {
    @Test(arguments: ["tcp://127.0.0.1:0", "tcp://127.0.0.1:*", "inproc://round-trip", "ipc://"])
    func aRequestGoesRoundThroughARouter(address: String) throws {
        try withTemporaryDirectory { directory in
            let context = try Context()
            let router = try Socket(.router, in: context)
            let endpoint = try router.bind(address == "ipc://" ? "ipc://\(directory)/socket" : address)
            #expect(!endpoint.hasSuffix(":0") && !endpoint.hasSuffix("*"))
            let request = try Socket(.req, in: context)
            try request.connect(endpoint)

            #expect(try send(["ping"], request))
            var envelope = Frame()
            try receive(router, into: &envelope)
            #expect(envelope.more == true)
            #expect(try message(router) == ["", "ping"])
            #expect(try router.send(&envelope, more: true) == true)
            #expect(try send(["", "pong"], router))
            #expect(try message(request) == ["pong"])
        }
    }

    @Test func aMessageKeepsItsFramesLongAndShort() throws {
        let context = try Context()
        let server = try Socket(.pair, in: context)
        let client = try Socket(.pair, in: context)
        try client.connect(server.bind("tcp://127.0.0.1:0"))
        let frames = [
            "", "short", String(repeating: "x", count: 33), String(repeating: "y", count: 34), "", "z",
        ]
        let long = String(repeating: "0123456789", count: 30_000)
        #expect(try send(frames + [long], client))
        #expect(try message(server) == frames + [long])
        #expect(try client.send([1, 0, 255] as [UInt8]) == true)
        var frame = Frame()
        try receive(server, into: &frame)
        #expect([UInt8](copying: frame) == [1, 0, 255])
        #expect(frame.more == false)
    }

    @Test func nothingToReceiveAndNobodyToSendToAreFalse() throws {
        let context = try Context()
        let dealer = try Socket(.dealer, in: context)
        var frame = Frame(copying: "kept")
        #expect(try dealer.send(&frame) == false)
        #expect(String(decoding: frame) == "kept")
        #expect(try dealer.send("text") == false)
        #expect(try dealer.receive(into: &frame) == false)
        #expect(try dealer.events == [])
        _ = try dealer.bind("inproc://nobody")
        let peer = try Socket(.dealer, in: context)
        try peer.connect("inproc://nobody")
        #expect(try dealer.events == .writable)
        #expect(try dealer.send(&frame) == true)
        #expect(frame.isEmpty == true)
    }

    @Test func aFullPeerIsFalse() throws {
        let context = try Context()
        let dealer = try Socket(.dealer, in: context, .sendHighWaterMark(1))
        try dealer.bind("inproc://full")
        let peer = try Socket(.dealer, in: context, .receiveHighWaterMark(1))
        try peer.connect("inproc://full")
        // A pipe inside one process holds what both marks allow.
        var sent = 0
        while try sent < 10 && dealer.send("\(sent)") { sent += 1 }
        #expect(sent == 2)
        #expect(try message(peer) == ["0"])
        #expect(try message(peer) == ["1"])
    }

    @Test func anUnknownPeerIsUnreachable() throws {
        let context = try Context()
        let router = try Socket(.router, in: context, .routerMandatory(true))
        try router.bind("inproc://mandatory")
        let unreachable = ZeroMQError(code: .hostUnreachable, call: "zmq_send")
        #expect(throws: unreachable) { _ = try router.send("nobody", more: true) }
        #expect(unreachable.number == EHOSTUNREACH)

        let dealer = try Socket(.dealer, in: context, .routingID(Array("known".utf8)))
        try dealer.connect("inproc://mandatory")
        #expect(try send(["hello"], dealer))
        #expect(try message(router) == ["known", "hello"])
        #expect(try send(["known", "welcome"], router))
        #expect(try message(dealer) == ["welcome"])
    }

    @Test func anXPubTellsOfEachSubscriptionIfVerbose() throws {
        let context = try Context()
        let publisher = try Socket(.xpub, in: context, .xpubVerbose(true))
        let endpoint = try publisher.bind("tcp://127.0.0.1:0")
        let first = try Socket(.sub, in: context)
        let second = try Socket(.sub, in: context)
        try first.connect(endpoint)
        try first.subscribe(to: "state")
        #expect(try message(publisher) == ["\u{1}state"])
        try second.connect(endpoint)
        try second.subscribe(to: "state")
        #expect(try message(publisher) == ["\u{1}state"])
        #expect(try send(["state", "operating"], publisher))
        #expect(try message(first) == ["state", "operating"])
        #expect(try message(second) == ["state", "operating"])
        try first.unsubscribe(from: "state")
        try second.unsubscribe(from: "state")
        #expect(try message(publisher) == ["\u{0}state"])
    }

    @Test func aBoundAddressIsTakenUntilUnbound() throws {
        let context = try Context()
        let first = try Socket(.router, in: context)
        let endpoint = try first.bind("inproc://taken")
        let second = try Socket(.router, in: context)
        let taken = ZeroMQError(code: .addressInUse, call: "zmq_bind", endpoint: endpoint)
        #expect(throws: taken) { try second.bind(endpoint) }
        #expect(taken.description == "zmq_bind inproc://taken: Address already in use")
        try first.unbind(endpoint)
        #expect(try second.bind(endpoint) == endpoint)
        #expect(
            throws: ZeroMQError(code: .noSuchEndpoint, call: "zmq_disconnect", endpoint: "tcp://127.0.0.1:1")
        ) {
            try second.disconnect("tcp://127.0.0.1:1")
        }
    }

    @Test func aWrongAddressOrOptionIsAnError() throws {
        let context = try Context()
        let socket = try Socket(.router, in: context)
        #expect(throws: ZeroMQError(code: .invalidArgument, call: "zmq_connect", endpoint: "nonsense")) {
            try socket.connect("nonsense")
        }
        #expect(throws: ZeroMQError(code: .invalidArgument, call: "zmq_setsockopt(ZMQ_SNDHWM)")) {
            try socket.set(.sendHighWaterMark(-1))
        }
        #expect(throws: ZeroMQError(code: .invalidArgument, call: "zmq_setsockopt(ZMQ_ROUTING_ID)")) {
            _ = try Socket(.dealer, in: context, .routingID([]))
        }
    }

    @Test func aContextRefusesCountsThatMakeNoSense() {
        #expect(throws: ZeroMQError(code: .invalidArgument, call: "zmq_ctx_set(ZMQ_IO_THREADS)")) {
            _ = try Context(ioThreads: -1)
        }
        #expect(throws: ZeroMQError(code: .invalidArgument, call: "zmq_ctx_set(ZMQ_MAX_SOCKETS)")) {
            _ = try Context(maxSockets: 0)
        }
    }

    @Test func everyOptionIsAccepted() throws {
        let context = try Context()
        for option: SocketOption in [
            .linger(ms: -1), .linger(ms: 0), .sendHighWaterMark(0), .receiveHighWaterMark(10),
            .maxMessageBytes(16 << 20), .maxMessageBytes(-1), .heartbeatInterval(ms: 1000),
            .heartbeatTimeout(ms: 3000), .heartbeatTimeToLive(ms: 3000), .handshakeInterval(ms: 5000),
            .reconnectInterval(ms: 100), .reconnectIntervalMax(ms: 5000), .immediate(true), .ipv6(true),
            .sendBufferBytes(1 << 20), .receiveBufferBytes(1 << 20), .backlog(128), .routingID([1, 0]),
        ] {
            let socket = try Socket(.dealer, in: context, option)
            #expect(socket.kind == .dealer)
        }
        _ = try Socket(.router, in: context, .routerMandatory(true), .routerHandover(true))
        _ = try Socket(.req, in: context, .reqCorrelate(true), .reqRelaxed(true))
        _ = try Socket(.xpub, in: context, .xpubVerbose(true))
    }

    @Test func aSecondRequestWaitsForTheReplyUnlessRelaxed() throws {
        let context = try Context()
        let router = try Socket(.router, in: context)
        try router.bind("inproc://relaxed")
        let strict = try Socket(.req, in: context)
        try strict.connect("inproc://relaxed")
        #expect(try strict.send("1") == true)
        #expect(throws: ZeroMQError(code: .wrongState, call: "zmq_send")) { _ = try strict.send("2") }
        let relaxed = try Socket(.req, in: context, .reqCorrelate(true), .reqRelaxed(true))
        try relaxed.connect("inproc://relaxed")
        #expect(try relaxed.send("1") == true)
        #expect(try relaxed.send("2") == true)
    }

    @Test func afterAShutdownCallsFailAndSocketsClose() throws {
        let context = try Context()
        let socket = try Socket(.dealer, in: context)
        context.shutdown()
        #expect(throws: ZeroMQError(code: .terminated, call: "zmq_send")) { _ = try socket.send("late") }
        #expect(throws: ZeroMQError(code: .terminated, call: "zmq_socket")) {
            _ = try Socket(.dealer, in: context)
        }
        socket.close()
    }
}
