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
            #expect(try next(monitor) == ConnectionEvent(kind: .accepted, endpoint: endpoint))
            peer.close()
            #expect(try next(monitor) == ConnectionEvent(kind: .disconnected, endpoint: endpoint))
        }
        router.close()
        #expect(try monitor.next() == nil)
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
            #expect(try next(monitor) == ConnectionEvent(kind: .disconnected, endpoint: endpoint))
        }
        router.close()
    }
}
