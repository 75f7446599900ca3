import Lifecycle
import Platform
import Wire
import ZeroMQ

// The scripted host's gate: it goes where it is told, and says so as a host does.
extension ScriptedHost {
    /// Makes a transition, and tells the plugin and the stream.
    func move(to state: LifecycleState, command: String, extra: String = "") throws(ZeroMQError) {
        let previous = status.state
        status = HostStatus(state: state, seq: status.seq.next, launch: status.launch)
        lastBody = StateBody(
            state: state, previous: previous, command: command, wallMs: Clock.wallMs(), pending: 0)
        try tell(.state(lastBody, seq: status.seq, launch: status.launch), extra: extra)
        try publish(lastBody, extra: extra)
    }

    /// A launch begins, held.
    func beginLaunch() {
        status = HostStatus(state: .onHold, seq: TransitionSeq(1), launch: Self.launch())
        lastBody = StateBody(
            state: .onHold, previous: nil, command: "initializeWithHoldingOperations",
            wallMs: Clock.wallMs(), pending: 0)
    }

    /// Delivers events of these numbers, in one block.
    func deliver(
        _ numbers: ClosedRange<UInt64>, type: String, redelivered: Bool = false, bytesEach: Int = 0,
        extra: String = ""
    ) throws(ZeroMQError) {
        let range = SeqRange(
            first: JournalSeq(numbers.lowerBound), count: UInt64(numbers.count))
        let header = DeliverHeader(
            launch: status.launch, ranges: [range], under: [.init(range: range, transition: status.seq)],
            redelivered: redelivered)
        let padding = String(repeating: "x", count: bytesEach)
        let lines = numbers.map { number in
            JSONValue.object([
                .init("specversion", .string("1.0")), .init("id", .string("check-\(number)")),
                .init("source", .string("/holdgate/check")), .init("type", .string(type)),
                .init("data", .object([.init("n", .uint(number)), .init("padding", .string(padding))])),
            ]).text + "\n"
        }
        deliveredThrough = max(deliveredThrough, numbers.upperBound)
        try tell(.deliver(header), extra: extra, events: Array(lines.joined().utf8))
    }

    /// Members of the reply; lifecycle commands move the gate.
    func answer(_ command: ControlCommand) throws(ZeroMQError) -> [JSONValue.Member] {
        switch command {
        case .startOperation: return try transition(to: .operating, command.name)
        case .holdOperation: return try transition(to: .onHold, command.name)
        case .kill: return try transition(to: .killed, command.name)
        case .initialize, .initializeWithHoldingOperations, .endLaunch:
            return try transition(to: status.state, command.name)
        case .state:
            return [
                .init("since", .string(Timestamp.text(ms: lastBody.wallMs))), .init("pending", .uint(0)),
                .init("gated", .uint(0)), .init("queuedBytes", .uint(0)),
                .init("initializedWith", .string("initialize")), .init("access", .string("local")),
            ]
        case .commands:
            return [.init("commands", .array(ControlCommand.names.map { .string($0) }))]
        case .configuration, .configure: return [.init("configuration", .object([]))]
        case .history: return [.init("records", .array([]))]
        case .plugins: return [.init("plugins", .array([]))]
        case .deadLetters: return [.init("deadLetters", .array([]))]
        case .stats: return [.init("stats", .object([]))]
        case .request: return [.init("value", .null)]
        case .reload: return [.init("keys", .null)]
        case .isOperating, .ping, .forget, .requeue, .plugin, .appLifecycle: return []
        }
    }

    private func transition(
        to state: LifecycleState, _ command: String
    ) throws(ZeroMQError) -> [JSONValue.Member] {
        let previous = status.state
        let changed = state != previous && previous != .killed
        if changed { try move(to: state, command: command) }
        return [
            .init("previous", .string(previous.rawValue)), .init("changed", .bool(changed)),
            .init("pending", .uint(0)), .init("discarded", .uint(0)), .init("inFlight", .object([])),
        ]
    }
}
