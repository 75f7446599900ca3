import Engine
import Lifecycle
import Simulator
import Wire

/// Sends batches, keeps those that were not answered, and sends them again.
struct SimulatedProducer {
    struct Batch {
        let name: BatchName
        let lines: [String]
        var sentAtMs: Int64?
    }

    let index: Int
    var run = 0
    var nextBatch: UInt64
    var pending: [Batch] = []
    /// Batches that it will still make.
    var left: Int

    static let window = 4

    mutating func make(_ random: inout SplitMix64) -> (BatchName, [(line: String, type: String)])? {
        guard left > 0, pending.count < Self.window else { return nil }
        left -= 1
        let name = BatchName(producer: index, run: run, batch: nextBatch)
        nextBatch += 1
        let lines = (0..<Int.random(in: 1...4, using: &random)).map { number in
            let type = Bool.random(using: &random) ? "a" : "b"
            let padding = String(repeating: "x", count: Int.random(in: 0...40, using: &random))
            let id = "\(name.producer)-\(name.run)-\(name.batch)-\(number)"
            return (
                "{\"specversion\":\"1.0\",\"id\":\"\(id)\",\"source\":\"s\",\"type\":\"\(type)\",\"data\":\"\(padding)\"}",
                type
            )
        }
        pending.append(Batch(name: name, lines: lines.map(\.0)))
        return (name, lines)
    }

    mutating func hear(_ name: BatchName, _ reply: IngestReply) {
        guard name.run == run else { return }
        switch reply.outcome {
        case .taken: pending.removeAll { $0.name == name }
        case .duplicate(let last): pending.removeAll { $0.name.batch <= last }
        case .refused(let error, let last):
            if let last { pending.removeAll { $0.name.batch <= last } }
            if error.code == .notOperating, !error.retryable { pending = [] }
        }
    }

    /// Its process dies, and a new one begins: what it had not been told is nobody's concern any more.
    mutating func restart(_ random: inout SplitMix64) {
        run += 1
        nextBatch = UInt64.random(in: 0...5, using: &random)
        pending = []
    }
}

/// Stores what it gets, and acknowledges now or later.
struct SimulatedCollector {
    let name: String
    let types: [String]
    let isDurable: Bool
    let windowBytes: Int

    var peer: PeerID?
    var isWelcome = false
    var inbox: [Delivered] = []
    var store: [JournalSeq: String] = [:]
    var highest = JournalSeq.zero
    /// Stored or rejected in this connection, and not acknowledged.
    var unacked: JournalSeq?
    var rejects: [Reject] = []
    /// Acknowledged to some host.
    var acked: Set<JournalSeq> = []
    private var handled: [JournalSeq] = []

    init(name: String, types: [String], isDurable: Bool, windowBytes: Int) {
        self.name = name
        self.types = types
        self.isDurable = isDurable
        self.windowBytes = windowBytes
    }

    func wants(_ type: String) -> Bool { types.contains("*") || types.contains(type) }

    var hello: PluginMessage {
        .hello(
            .init(
                name: name, version: "1",
                collect: CollectRequest(types: types, windowBytes: windowBytes, durable: isDurable)))
    }

    mutating func disconnect() {
        peer = nil
        isWelcome = false
        inbox = []
        unacked = nil
        rejects = []
        handled = []
    }

    /// Stores one delivery.
    mutating func take(_ random: inout SplitMix64, rejectPercent: Int) throws {
        guard !inbox.isEmpty else { return }
        let delivered = inbox.removeFirst()
        for (seq, line) in delivered.events {
            handled.append(seq)
            unacked = max(unacked ?? .zero, seq)
            if let known = store[seq] {
                guard known == line else { throw Verdict("\(name) got \(seq) changed: \(known), \(line)") }
                continue
            }
            if isDurable, seq < highest { throw Verdict("\(name) got \(seq) after \(highest)") }
            highest = max(highest, seq)
            store[seq] = line
            if random.chance(rejectPercent) { rejects.append(Reject(seq: seq, reason: "no")) }
        }
    }

    mutating func ack() -> PluginMessage? {
        guard let through = unacked else { return nil }
        defer {
            unacked = nil
            rejects = []
            handled = []
        }
        acked.formUnion(handled)
        return .ack(through: through, rejects: rejects)
    }
}

/// Holds and starts, and repeats under the same key what was not answered.
struct SimulatedPerson {
    let name: String
    var request: ControlRequest?
    var sentAtMs: Int64 = 0
    var key = 0

    mutating func decide(_ random: inout SplitMix64, canEnd: Bool) -> ControlRequest {
        let command: ControlCommand
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: command = .startOperation(leaseMs: nil)
        case 30..<45: command = .startOperation(leaseMs: Int64.random(in: 20...3000, using: &random))
        case 45..<62: command = .holdOperation(waitMs: nil, gatedEvents: nil)
        case 62..<72:
            command = .holdOperation(waitMs: Int64.random(in: 0...500, using: &random), gatedEvents: nil)
        case 72..<86:
            command = .holdOperation(
                waitMs: nil, gatedEvents: GatedPolicy.allCases.randomElement(using: &random))
        case 86..<88: command = .kill
        case 88..<92: command = .initialize
        case 92..<94: command = canEnd ? .endLaunch(restart: false) : .ping
        case 94..<97: command = .configure(patch: "{\"n\":\(Int.random(in: 0...9, using: &random))}")
        default: command = .state
        }
        key += 1
        let isKeyed = command.isLifecycle && random.chance(70)
        var made = ControlRequest(command, source: name, key: isKeyed ? "k\(key)" : nil)
        if command.isLifecycle, random.chance(10) {
            made.expect = Expectation(state: LifecycleState.allCases.randomElement(using: &random))
        }
        request = made
        return made
    }
}
