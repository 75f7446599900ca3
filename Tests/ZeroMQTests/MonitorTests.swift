import Glibc
import Testing
import ZeroMQ

@Suite struct MonitorTests {
    /// Waits for the next event.
    private func next(_ monitor: borrowing SocketMonitor) throws -> ConnectionEvent {
        var polls = PollSet()
        polls.add(socket: monitor.socket)
        while true {
            if let event = try monitor.next() { return event }
            guard try polls.wait(timeoutMs: deadlineMs) > 0 else { throw Silence() }
        }
    }

    @Test func itHearsAPeerComeAndGo() throws {
        let context = try Context()
        let router = try Socket(.router, in: context)
        let endpoint = try router.bind("tcp://127.0.0.1:0")
        let monitor = try router.monitor([.accepted, .disconnected])
        #expect(try monitor.next() == nil)
        for _ in 0..<3 {
            let peer = try Socket(.dealer, in: context)
            try peer.connect(endpoint)
            let came = try next(monitor)
            #expect(came.kind == .accepted && came.endpoint == endpoint && came.descriptor > 2)
            peer.close()
            let went = ConnectionEvent(kind: .disconnected, endpoint: endpoint, descriptor: came.descriptor)
            #expect(try next(monitor) == went)
        }
        router.close()
        #expect(try monitor.next() == nil)
    }

    @Test(arguments: [Socket.Kind.router, .xpub], ["tcp://127.0.0.1:0", "ipc://"])
    func aMessageSaysWhichConnectionItCameOver(_ kind: Socket.Kind, _ address: String) throws {
        let context = try Context()
        let listener = try Socket(kind, in: context, .linger(ms: 0))
        let monitor = try listener.monitor(.accepted)
        let directory = "/tmp/holdgate-monitor-\(getpid())-\(kind)"
        mkdir(directory, 0o700)
        defer { rmdir(directory) }
        let endpoint = try listener.bind(address == "ipc://" ? "ipc://\(directory)/socket" : address)
        let peer = try Socket(kind == .xpub ? .sub : .dealer, in: context)
        try peer.connect(endpoint)
        if kind == .xpub { try peer.subscribe(to: "x") } else { #expect(try peer.send("x")) }
        let descriptor = try next(monitor).descriptor
        var frame = try lastFrame(listener)
        #expect(frame.connection == descriptor)
        if kind == .xpub {
            // What libzmq says for one that has left comes over no connection.
            peer.close()
            frame = try lastFrame(listener)
            #expect(frame.connection == nil)
            #expect(Array(copying: frame) == Array("\0x".utf8))
        }
        listener.close()
    }

    private func lastFrame(_ socket: borrowing Socket) throws -> Frame {
        var polls = PollSet()
        polls.add(socket: socket)
        try #require(try polls.wait(timeoutMs: deadlineMs) == 1)
        var frame = Frame()
        repeat { #expect(try socket.receive(into: &frame)) } while frame.more
        return frame
    }

    @Test func itHearsOnlyWhatItWasAskedFor() throws {
        let context = try Context()
        let router = try Socket(.router, in: context)
        let monitor = try router.monitor(.disconnected)
        let endpoint = try router.bind("tcp://127.0.0.1:0")
        let peer = try Socket(.dealer, in: context)
        try peer.connect(endpoint)
        #expect(try send(["hello"], peer))
        _ = try message(router)
        #expect(try monitor.next() == nil)
        peer.close()
        #expect(try next(monitor).kind == .disconnected)
        router.close()
    }

    /// More than a socket's usual mark: libzmq's thread must not wait for whoever is slow to listen.
    @Test func nobodyWaitsForASlowListener() throws {
        let context = try Context()
        let router = try Socket(.router, in: context)
        let endpoint = try router.bind("tcp://127.0.0.1:0")
        let monitor = try router.monitor([.accepted, .disconnected])
        for number in 0..<2000 {
            let peer = try Socket(.dealer, in: context)
            try peer.connect(endpoint)
            #expect(try send(["\(number)"], peer))
            #expect(try message(router).last == "\(number)")
        }
        for _ in 0..<2000 { #expect(try next(monitor).endpoint == endpoint) }
        router.close()
    }

    @Test func anotherSocketTakesItsPlace() throws {
        let context = try Context()
        var router = try Socket(.router, in: context)
        var monitor = try router.monitor(.disconnected)
        for _ in 0..<3 {
            router.stopMonitor()
            router = try Socket(.router, in: context)
            monitor = try router.monitor(.disconnected)
            let endpoint = try router.bind("tcp://127.0.0.1:0")
            let peer = try Socket(.dealer, in: context)
            try peer.connect(endpoint)
            #expect(try send(["x"], peer))
            _ = try message(router)
            peer.close()
            let went = try next(monitor)
            #expect(went.kind == .disconnected && went.endpoint == endpoint)
        }
        router.close()
    }
}
