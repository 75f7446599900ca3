import Glibc
import Testing
import ZeroMQ

/// Both ends of the handshake, over real connections.
@Suite struct CurveTests {
    private let host = CurveKeyPair.random()
    private let client = CurveKeyPair.random()

    private func listener(
        _ context: Context, _ kind: Socket.Kind = .router, curve: Bool = true
    ) throws -> Socket {
        let socket = try Socket(kind, in: context)
        try socket.set(SocketOption.authenticated(domain: "door"))
        if curve { try socket.set(SocketOption.curveServer(host.secretKey)) }
        return socket
    }

    private func connect(
        _ context: Context, _ address: String, _ kind: Socket.Kind = .dealer, key: CurveKeyPair?,
        server: CurvePublicKey? = nil
    ) throws -> Socket {
        let socket = try Socket(kind, in: context)
        if let key { try socket.set(SocketOption.curveClient(key, server: server ?? host.publicKey)) }
        try socket.connect(address)
        return socket
    }

    /// Lets in whom `admit` names until `socket` has a message; answers the name it bears.
    private func sender(
        _ socket: borrowing Socket, _ authenticator: borrowing Authenticator, _ admit: (Peer) -> String?
    ) throws -> String? {
        var polls = PollSet()
        polls.add(socket: authenticator.socket)
        let arrived = polls.add(socket: socket)
        var frame = Frame()
        while true {
            try #require(try polls.wait(timeoutMs: deadlineMs) > 0)
            _ = try authenticator.answer(limit: 10, admit: admit)
            guard polls.isReadable(arrived) else { continue }
            repeat { _ = try socket.receive(into: &frame) } while frame.more
            return frame.userID
        }
    }

    @Test func aMessageBearsTheNameOfTheKeyThatSentIt() throws {
        let context = try Context()
        let authenticator = try Authenticator(in: context)
        let socket = try listener(context)
        let address = try socket.bind("tcp://127.0.0.1:0")
        let peer = try connect(Context(), address, key: client)
        #expect(try peer.send("hello") == true)
        let name = try sender(socket, authenticator) {
            $0 == Peer(domain: "door", address: "127.0.0.1", credentials: .curve(client.publicKey))
                ? "shop" : nil
        }
        #expect(name == "shop")
    }

    @Test func aSubscriptionBearsItsSendersName() throws {
        let context = try Context()
        let authenticator = try Authenticator(in: context)
        let socket = try listener(context, .xpub)
        try socket.set(.xpubManual(true))
        let address = try socket.bind("tcp://127.0.0.1:0")
        let peer = try connect(Context(), address, .sub, key: client)
        try peer.subscribe(to: "a")
        #expect(try sender(socket, authenticator) { _ in "watcher" } == "watcher")
        try socket.grant(Array("a".utf8))
        try peer.subscribe(to: "b")
        _ = try sender(socket, authenticator) { _ in nil }
        // Of the two it was given the first alone.
        #expect(try socket.send("b1") == true)
        #expect(try socket.send("a1") == true)
        #expect(try message(peer) == ["a1"])
    }

    /// One socket may have addresses of both kinds.
    @Test func theUserAtTheOtherEndOfAPathIsKnown() throws {
        let context = try Context()
        let authenticator = try Authenticator(in: context)
        let socket = try listener(context)
        try socket.bind("tcp://127.0.0.1:0")
        try socket.set(.noCurve)
        try withTemporaryDirectory { directory in
            try socket.bind("ipc://\(directory)/door")
            let peer = try connect(Context(), "ipc://\(directory)/door", key: nil)
            #expect(try peer.send("hello") == true)
            let name = try sender(socket, authenticator) {
                guard case .none(let user?) = $0.credentials else { return nil }
                return "uid-\(user.uid == getuid() && user.gid == getgid())"
            }
            #expect(name == "uid-true")
        }
    }

    @Test(arguments: ["refused", "no key", "another host's key", "no authenticator"])
    func nobodyElseIsLetIn(who: String) throws {
        let context = try Context()
        let authenticator = try who == "no authenticator" ? nil : Optional(Authenticator(in: context))
        let socket = try listener(context)
        let address = try socket.bind("tcp://127.0.0.1:0")
        let failed = try socket.monitor([.handshakeFailed, .disconnected])
        let peer = try connect(
            Context(), address, key: who == "no key" ? nil : client,
            server: who == "another host's key" ? CurveKeyPair.random().publicKey : nil)
        #expect(try peer.send("hello") == true)
        var polls = PollSet()
        polls.add(socket: failed.socket)
        switch authenticator {
        case .some(let door): polls.add(socket: door.socket)
        case .none: break
        }
        var isOver = false
        while !isOver {
            try #require(try polls.wait(timeoutMs: deadlineMs) > 0)
            switch authenticator {
            case .some(let door): _ = try door.answer(limit: 10) { _ in nil }
            case .none: break
            }
            isOver = try failed.next() != nil
        }
        var frame = Frame()
        #expect(try !socket.receive(into: &frame))
        socket.stopMonitor()
    }

    @Test func keysAreFortyCharactersOfZ85() {
        let key = CurveKeyPair.random()
        #expect(CurvePublicKey(z85: key.publicKey.z85) == key.publicKey)
        #expect(CurveKeyPair(secretKey: key.secretKey) == key)
        #expect(CurveKeyPair.random() != key)
        for bad in [
            "", "short", String(repeating: "~", count: 40), String(repeating: "#", count: 40),
            key.publicKey.z85 + "0",
        ] {
            #expect(CurvePublicKey(z85: bad) == nil && CurveSecretKey(z85: bad) == nil, "\(bad)")
        }
    }

    @Test func aSecretKeySaysNothingOfItselfInText() {
        let key = CurveKeyPair.random()
        var text = ""
        dump(key, to: &text)
        #expect(
            !"\(key) \(key.secretKey) \(String(reflecting: key.secretKey)) \(text)".contains(
                key.secretKey.z85))
    }
}
