import Engine
import Lifecycle
import Simulator
import Wire

// Askers, and the providers that serve them, well and badly.
extension World {
    static let services = ["s", "t"]

    func ask() {
        // A gate that is closed says the same to all.
        let count = host?.engine.status.state == .operating ? 1...3 : 0...1
        for _ in 0..<Int.random(in: count, using: &random) {
            let service = random.chance(4) ? "nobody's" : Self.services.randomElement(using: &random)!
            let timeoutMs = [20, 100, 400, 2000].randomElement(using: &random)!
            messages.append(.ask(service: service, timeoutMs: Int64(timeoutMs)))
        }
    }

    func provide() throws {
        guard host != nil else { return }
        if random.chance(30) {
            for index in providers.indices where !providers[index].isMute { try beat(index) }
        } else {
            try provide(Int.random(in: 0..<providers.count, using: &random))
        }
    }

    private func provide(_ index: Int) throws {
        guard let host else { return }
        guard let peer = providers[index].peer else {
            if random.chance(50) { try greet(index, over: newPeer()) }
            return
        }
        if providers[index].isMute {
            if random.chance(15) { providers[index].isMute = false }
            return
        }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<54:
            guard let place = providers[index].inbox.indices.randomElement(using: &random) else { return }
            if random.chance(15) { passWithinTurn() }
            try answer(index, place)
        case 54..<62:
            // Late, twice, or in the name of a former self.
            guard let asked = providers[index].memory.randomElement(using: &random) else { return }
            try say(asked.number, random.chance(50) ? peer : asked.peer)
        case 62..<68: try say(UInt64.random(in: 0...highestCall + 2, using: &random), peer)
        case 68..<72:
            note("\(providers[index].name) falls silent")
            providers[index].isMute = true
        case 72..<75:
            note("\(providers[index].name) says bye")
            disconnectProvider(index)
            judge.callbacks.left(peer)
            host.plugin(.bye, from: peer, now)
            try takeOutputs()
        case 75..<82: try vanish(index, peer)
        case 82..<86: try greetAgain(index, peer)
        case 86..<91:
            guard providers[index].isWelcome else { return }
            host.troubled[peer] = host.troubled[peer] == nil ? .full : nil
        default: try beat(index)
        }
    }

    /// A turn takes its time, and the clock is looked at once a turn.
    func passWithinTurn() {
        let ms = Int64.random(in: 1...40, using: &random)
        monotonicMs += ms
        wallMs += ms
    }

    // MARK: Coming and going

    private func newPeer() -> PeerID {
        lastPeer += 1
        return PeerID(lastPeer)
    }

    private func greet(_ index: Int, over peer: PeerID) throws {
        providers[index].disconnect()
        providers[index].peer = peer
        try say(providers[index].hello(), peer)
    }

    /// Over the connection that it has: it has begun anew, maybe as somebody else, or with other services.
    private func greetAgain(_ index: Int, _ peer: PeerID) throws {
        providers[index].disconnect()
        providers[index].peer = peer
        let isRenamed = !providers[index].collects && random.chance(25)
        let services = random.chance(25) ? ["t"] : nil
        providers[index].isChanged = isRenamed || services != nil
        try say(providers[index].hello(as: isRenamed ? "renamed" : nil, services: services), peer)
    }

    private func say(_ hello: PluginMessage.Hello, _ peer: PeerID) throws {
        note("\(hello.name) says hello as \(peer.raw), and serves \(hello.services)")
        host?.troubled[peer] = nil
        judge.callbacks.greeted(peer, hello, now)
        host?.plugin(.hello(hello), from: peer, now)
        try takeOutputs()
    }

    private func vanish(_ index: Int, _ peer: PeerID) throws {
        note("\(providers[index].name) is gone")
        disconnectProvider(index)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: return try lose(peer)
        case 40..<75: host?.troubled[peer] = .gone
        default: break  // Its silence alone tells.
        }
        unnoticed.append(peer)
    }

    /// The host learns that a connection is gone.
    private func lose(_ peer: PeerID) throws {
        judge.callbacks.left(peer)
        host?.troubled[peer] = nil
        host?.lost(peer, now)
        try takeOutputs()
    }

    func disconnectProvider(_ index: Int) {
        if let peer = providers[index].peer { host?.troubled[peer] = nil }
        providers[index].disconnect()
    }

    private func beat(_ index: Int) throws {
        guard let host, let peer = providers[index].peer else { return }
        judge.callbacks.heard(peer, now)
        host.plugin(.heartbeat, from: peer, now)
        try takeOutputs()
    }

    // MARK: Answers

    private func answer(_ index: Int, _ place: Int) throws {
        let asked = providers[index].inbox.remove(at: place)
        providers[index].remember(asked)
        try say(asked.number, asked.peer)
    }

    /// No two results are alike, so that each is known again where it arrives.
    private func say(_ number: UInt64, _ peer: PeerID) throws {
        lastResult += 1
        var result = Result<JSONValue, WireError>.success(.array([.uint(number), .uint(lastResult)]))
        if !isEnding, random.chance(20) {
            let code = ErrorCode(random.chance(50) ? "noMorePages" : "timeout")
            result = .failure(WireError(code, "result \(lastResult)", retryable: random.chance(50)))
        }
        note("\(peer.raw) answers \(number): \(result)")
        judge.callbacks.said(result, for: number, by: peer, now)
        host?.plugin(.result(id: number, result), from: peer, now)
        try takeOutputs()
    }

    func hearAsProvider(_ message: HostMessage, _ peer: PeerID) throws {
        let index = providers.firstIndex { $0.peer == peer }
        switch message {
        case .welcome:
            judge.callbacks.welcomed(peer)
            if let index { providers[index].isWelcome = true }
        case .refused, .goodbye, .helloWanted:
            if message != .helloWanted { judge.callbacks.left(peer) }
            guard let index else { return }
            note("\(providers[index].name) hears \(message)")
            disconnectProvider(index)
        case .request(let number, let service, let arguments, let timeoutMs):
            note("\(peer.raw) is asked for \(service) under \(number), within \(timeoutMs) ms")
            highestCall = max(highestCall, number)
            try judge.callbacks.handed(
                .init(number: number, service: service, arguments: arguments, timeoutMs: timeoutMs), to: peer,
                now)
            if let index { providers[index].inbox.append(.init(number: number, peer: peer)) }
        case .error, .deliver, .state, .heartbeat, .app: break
        }
    }

    // MARK: The end

    /// Connections that are gone are known to be, and of two with one name only one stays.
    func settleProviders() throws {
        for peer in unnoticed + [providers.removeLast().peer].compactMap(\.self) { try lose(peer) }
        unnoticed = []
    }

    /// A provider does what it should.
    func serve(_ index: Int) throws {
        guard let host else { return }
        guard let peer = providers[index].peer else { return try greet(index, over: newPeer()) }
        if providers[index].isChanged { return try greet(index, over: peer) }
        providers[index].isMute = false
        host.troubled[peer] = nil
        try beat(index)
        while !providers[index].inbox.isEmpty { try answer(index, 0) }
    }

    /// With the gate open and all providers well, each request gets its value.
    func askAll() throws {
        for service in Self.services {
            lastAnswer = nil
            messages.append(.ask(service: service, timeoutMs: 5000))
            try readMessage()
            for index in providers.indices { try serve(index) }
            guard let lastAnswer, lastAnswer.error == nil else {
                throw Verdict(
                    "the last request for \(service) was answered \(lastAnswer.map { "\($0)" } ?? "never")")
            }
        }
    }
}
