import Engine
import Wire

/// Serves, and answers what it is asked: at once, late, twice, with an error, or never.
struct SimulatedProvider {
    struct Asked {
        let number: UInt64
        let peer: PeerID
    }

    let name: String
    let services: [String]
    /// It is a durable collector too, of events that never come.
    let collects: Bool

    var peer: PeerID?
    var isWelcome = false
    /// It has fallen silent, and hangs on to its connection.
    var isMute = false
    /// It gave another name than its own, or other services.
    var isChanged = false
    /// What it was asked and has not answered.
    var inbox: [Asked] = []
    /// What it has answered, or was asked over a connection that is gone: nobody waits for any of it.
    private(set) var memory: [Asked] = []

    private static let memoryLimit = 6

    /// Two services, each of several; the last one takes the first one's name over.
    static func all(collects: Bool) -> [SimulatedProvider] {
        [
            SimulatedProvider(name: "one", services: ["s"], collects: false),
            SimulatedProvider(name: "both", services: ["s", "t"], collects: collects),
            SimulatedProvider(name: "other", services: ["t"], collects: false),
            SimulatedProvider(name: "one", services: ["s", "t"], collects: false),
        ]
    }

    private init(name: String, services: [String], collects: Bool) {
        self.name = name
        self.services = services
        self.collects = collects
    }

    func hello(as name: String? = nil, services: [String]? = nil) -> PluginMessage.Hello {
        .init(
            name: name ?? self.name, version: "1",
            collect: collects ? CollectRequest(types: ["none"], durable: true) : nil,
            services: services ?? self.services)
    }

    mutating func remember(_ asked: Asked) {
        if memory.count == Self.memoryLimit { memory.removeFirst() }
        memory.append(asked)
    }

    mutating func disconnect() {
        for asked in inbox { remember(asked) }
        inbox = []
        peer = nil
        isWelcome = false
        isMute = false
        isChanged = false
    }
}
