import Engine
import HoldgateHost
import Journal
import Lifecycle
import Simulator
import Wire

/// One world: a function of its seed.
final class World {
    enum Message {
        case ingest(BatchName, [String])
        case control(person: Int, ControlRequest)
        case ask(service: String, timeoutMs: Int64)
    }
    enum Client {
        case producer(BatchName, [String])
        case person(Int, ControlRequest, readAt: Int)
        case asker
    }

    static let stepCount = 380
    static let traceLimit = 120

    var random: SplitMix64
    let storage = FaultyStorage()
    var journal = Log.Configuration()
    var configuration = EngineConfiguration()
    let historyRotateBytes: UInt64

    var monotonicMs: Int64 = 0
    var wallMs: Int64 = 1_700_000_000_000
    var now: Now { Now(monotonicMs: monotonicMs, wallMs: wallMs) }

    var host: SimulatedHost?
    var launch: LaunchID?
    var launches = 0
    var isEnding = false
    /// A fault is planned that ends the host.
    var isTroubled = false
    /// The host was asked to stop, or its launch has ended.
    var isStopping = false
    /// A kill was read in this launch.
    var wasKilled = false
    /// The storage call at which the power fails, if it is to.
    var powerLossAt: Int?

    var producers: [SimulatedProducer] = []
    var collectors: [SimulatedCollector] = []
    var people = ["consent", "operations"].map { SimulatedPerson(name: $0) }
    var providers: [SimulatedProvider] = []
    /// Providers' connections that are gone, and the host does not know it.
    var unnoticed: [PeerID] = []
    /// The highest number under which a provider was asked.
    var highestCall: UInt64 = 0
    /// Results that providers gave, counted.
    var lastResult: UInt64 = 0
    var lastAnswer: ControlReply?
    var messages: [Message] = []
    var clients: [Requester: Client] = [:]
    var lastRequester: UInt64 = 0
    var lastPeer: UInt64 = 0

    var judge: Judge
    let traces: Bool
    private(set) var trace: [String] = []
    var crashes = 0

    init(seed: UInt64, traces: Bool = false) {
        random = SplitMix64(seed: seed)
        self.traces = traces
        journal.segmentBytes = [4096, 8192, 16_384].randomElement(using: &random) ?? 8192
        journal.freeSegments = Int.random(in: 1...2, using: &random)
        journal.producerLimit = 16
        historyRotateBytes = random.chance(50) ? 4096 : 64 << 20
        configuration.collectors = ["all", "some"]
        configuration.drainTimeoutMs = [0, 150, 2000].randomElement(using: &random) ?? 150
        configuration.gatedEvents =
            random.chance(70) ? .queue : GatedPolicy.allCases.randomElement(using: &random) ?? .queue
        configuration.gatedMaxAgeMs = random.chance(10) ? 2000 : 0
        configuration.queueLimitBytes = random.chance(15) ? 2500 : 1 << 20
        configuration.rememberedProducers = 16
        configuration.retryMs = 40
        configuration.heartbeatMs = 100
        configuration.discardRecordMs = 300
        configuration.deliverBytes = Int.random(in: 200...2000, using: &random)
        configuration.maxRequestsPerProvider = Int.random(in: 1...3, using: &random)
        judge = Judge(
            callbacks: CallbackJudge(
                limit: configuration.maxRequestsPerProvider, heartbeatMs: configuration.heartbeatMs))
        providers = SimulatedProvider.all(collects: random.chance(20))
        for index in 0...1 {
            producers.append(
                SimulatedProducer(
                    index: index, nextBatch: UInt64.random(in: 0...3, using: &random),
                    left: Int.random(in: 4...14, using: &random)))
        }
        collectors = [
            SimulatedCollector(
                name: "all", types: ["*"], isDurable: true,
                windowBytes: Int.random(in: 100...2000, using: &random)),
            SimulatedCollector(
                name: "some", types: ["a"], isDurable: true,
                windowBytes: Int.random(in: 100...2000, using: &random)),
            SimulatedCollector(name: "passing", types: ["*"], isDurable: false, windowBytes: 400),
        ]
    }

    func note(_ text: @autoclosure () -> String) {
        guard traces else { return }
        trace.append("\(judge.step) \(monotonicMs) ms: \(text())")
        if trace.count > 2 * Self.traceLimit { trace.removeFirst(Self.traceLimit) }
    }

    // MARK: The run

    func run() throws {
        try bringUp(options: LaunchOptions())
        for _ in 0..<Self.stepCount {
            judge.passStep()
            try step()
        }
        try settle()
    }

    private func step() throws {
        switch Int.random(in: 0..<146, using: &random) {
        case 0..<8: try pass(Int64.random(in: 1...60, using: &random))
        case 8..<9: try pass(Int64.random(in: 100...4000, using: &random))
        case 9..<22: produce()
        case 22..<38: try readMessage()
        case 38..<52: try disk()
        case 52..<64: try hear()
        case 64..<72: try handOver(limit: Int.random(in: 1...4, using: &random))
        case 72..<88: try collect(Int.random(in: 0..<collectors.count, using: &random))
        case 88..<95: decide(Int.random(in: 0..<people.count, using: &random))
        case 95..<96: host?.subscribe(now)
        case 100..<110: ask()
        case 110..<134: try provide()
        case 134...: try readMessage()
        default: try trouble()
        }
    }

    func pass(_ ms: Int64) throws {
        monotonicMs += ms
        wallMs += ms
        guard let host else { return }
        host.tick(now)
        judge.ticked(now)
        try takeOutputs()
    }

    private func produce() {
        let index = Int.random(in: 0..<producers.count, using: &random)
        if random.chance(2) { producers[index].restart(&random) }
        if random.chance(60), let (name, lines) = producers[index].make(&random) {
            judge.produced(name, lines)
        }
        // The oldest that was not sent, or any of them again.
        let pending = producers[index].pending
        let unsent = pending.firstIndex { $0.sentAtMs == nil }
        guard let place = random.chance(80) ? unsent : pending.indices.randomElement(using: &random) else {
            return
        }
        send(index, place)
    }

    func send(_ producer: Int, _ place: Int) {
        producers[producer].pending[place].sentAtMs = monotonicMs
        let batch = producers[producer].pending[place]
        guard !isEnding else { return messages.append(.ingest(batch.name, batch.lines)) }
        if random.chance(8) { return }  // Lost on the way.
        messages.append(.ingest(batch.name, batch.lines))
        if random.chance(8) { messages.append(.ingest(batch.name, batch.lines)) }
    }

    func decide(_ index: Int) {
        let person = people[index]
        if let request = person.request {
            guard monotonicMs - person.sentAtMs > 200 else { return }
            // No answer: under a key it is repeated, otherwise given up.
            if request.key == nil { people[index].request = nil } else { send(index, request) }
            return
        }
        send(index, people[index].decide(&random, canEnd: launches < 4))
    }

    func send(_ index: Int, _ request: ControlRequest) {
        people[index].sentAtMs = monotonicMs
        note("\(people[index].name) sends \(request)")
        if !isEnding, random.chance(8) { return }
        messages.append(.control(person: index, request))
    }

    func readMessage() throws {
        guard let host, !messages.isEmpty else { return }
        // Each client's own come in their order; `control` may come ahead of `ingest`.
        let ahead = messages.firstIndex { if case .ingest = $0 { false } else { true } }
        let message = messages.remove(at: random.chance(50) ? ahead ?? 0 : 0)
        lastRequester += 1
        let requester = Requester(lastRequester)
        switch message {
        case .ingest(let name, let lines):
            clients[requester] = .producer(name, lines)
            let header = IngestHeader(producer: "p\(name.producer)", run: "r\(name.run)", batch: name.batch)
            let stamp = host.ingest(header, lines, requester, now)
            if stamp != nil { judge.admitted(lines) }
            note(
                "reads \(name): \(stamp.map { "\($0.range) under \($0.under) gated \($0.gated)" } ?? "not taken")"
            )
        case .control(let index, let request):
            clients[requester] = .person(index, request, readAt: judge.step)
            note("reads \(request.command) \(request.key ?? "")")
            judge.read(request, requester, now)
            if request.command == .kill { wasKilled = true }
            host.control(request, requester, now)
        case .ask(let service, let timeoutMs):
            clients[requester] = .asker
            note("reads the request \(requester.raw) for \(service) within \(timeoutMs) ms")
            judge.callbacks.read(requester, service, timeoutMs: timeoutMs, now)
            let arguments = CallbackJudge.arguments(of: requester)
            let command = ControlCommand.request(
                service: service, arguments: arguments, timeoutMs: timeoutMs)
            host.control(ControlRequest(command), requester, now)
        }
        try takeOutputs()
    }

    func disk() throws {
        guard let host else { return }
        host.disk()
        try checkPower()
    }

    func hear() throws {
        guard let host else { return }
        if !isEnding, random.chance(10) { passWithinTurn() }
        host.takeNotes(now)
        try takeOutputs()
    }

    func handOver(limit: Int) throws {
        guard let host else { return }
        host.handOver(now, limit: limit)
        try takeOutputs()
    }

    func collect(_ index: Int) throws {
        guard let host else { return }
        if let peer = collectors[index].peer {
            try collectors[index].take(&random, rejectPercent: isEnding ? 0 : 4)
            let isQuick = index != 1 || isEnding
            if random.chance(isQuick ? 60 : 25), let ack = collectors[index].ack() {
                note("\(collectors[index].name) acks \(ack)")
                host.plugin(ack, from: peer, now)
            } else if !isEnding, random.chance(4) {
                note("\(collectors[index].name) is gone")
                collectors[index].disconnect()
                if random.chance(70) { host.lost(peer, now) }
            }
        } else if isEnding || random.chance(50) {
            lastPeer += 1
            collectors[index].peer = PeerID(lastPeer)
            note("\(collectors[index].name) says hello as \(lastPeer)")
            host.plugin(collectors[index].hello, from: PeerID(lastPeer), now)
        }
        try takeOutputs()
    }
}
