// One engine with a disk that does its jobs when it is told to, and somebody who remembers all that came out.
//
// Read the tests by their names; `Desk` is what they are written on.
@testable import Engine
import Ledger
import Lifecycle
import Wire

struct Desk: Hashable {
    /// A job that the disk has not done yet.
    enum Job: Hashable {
        case block(BlockStamp)
        case other(DiskJob)

        /// Whether later jobs of its kind build on it, as the journal's worker has it.
        var isBuiltOn: Bool {
            switch self {
            case .block, .other(.entry(.batch)), .other(.entry(.block)): true
            case .other: false
            }
        }
    }
    struct Item: Hashable {
        let ticket: Ticket
        let job: Job
    }
    struct Delivery: Hashable {
        let peer: PeerID
        let ranges: [SeqRange]
        let opening: TransitionSeq
        let redelivered: Bool
    }

    static let launch = LaunchID(high: 7, low: 7)

    var engine: Engine
    var nowMs: Int64
    /// The wall clock minus the monotonic one.
    var wallAheadMs: Int64 = 1_000_000
    var jobs: [Item] = []
    /// A block met a full disk: those behind it are not written before `resume`.
    var isRefusing = false

    // What is on the disk.
    var ledger: Ledger
    var blocks: [BlockStamp] = []
    var records: [Record] = []

    // What came out.
    var replies: [Requester: ControlReply] = [:]
    var ingestReplies: [Requester: IngestReply] = [:]
    var publications: [Publication] = []
    var headers: [StreamHeader] = []
    var publishedBlocks: [SeqRange] = []
    var sent: [PeerID: [HostMessage]] = [:]
    var deliveries: [Delivery] = []
    var logs: [String] = []
    var stops: [Bool] = []
    var rebinds = 0
    var requeues: [[UInt64]] = []
    var endedRequeues: [Bool] = []
    private var lastRequester: UInt64 = 0

    var now: Now { Now(monotonicMs: nowMs, wallMs: nowMs + wallAheadMs) }

    init(
        _ cause: LifecycleCause = .initialize, collectors: [String] = [],
        configure: (inout EngineConfiguration) -> Void = { _ in }
    ) {
        var configuration = EngineConfiguration()
        configuration.collectors = collectors
        configure(&configuration)
        let (lifecycle, transition) = Lifecycle.begin(
            launch: Self.launch, cause: cause, through: .zero, releasedThrough: .zero, wallMs: 1_000_000)
        nowMs = 0
        ledger = Ledger(producerLimit: configuration.rememberedProducers)
        let state = StateBody(
            state: transition.state, previous: nil, command: cause.rawValue, wallMs: transition.wallMs,
            pending: 0)
        engine = Engine(
            Recovered(
                lifecycle: lifecycle, ledger: ledger, recordedThrough: .zero, lastState: state,
                replies: RememberedReplies(limit: configuration.rememberedReplies),
                meter: QueueMeter(startBytes: 0)),
            configuration: configuration, run: "run", now: Now(monotonicMs: 0, wallMs: 1_000_000))
        act { $0.boot(now: $1, into: &$2) }
        disk()
    }

    // MARK: In

    mutating func act(_ body: (inout Engine, Now, inout [Effect]) -> Void) {
        var effects: [Effect] = []
        body(&engine, now, &effects)
        for effect in effects { take(effect) }
    }

    mutating func requester() -> Requester {
        lastRequester += 1
        return Requester(lastRequester)
    }

    /// Sends a request, and does not wait for the disk.
    mutating func send(
        _ command: ControlCommand, source: String? = nil, key: String? = nil, expect: Expectation? = nil
    ) -> Requester {
        let requester = requester()
        let request = ControlRequest(command, source: source, key: key, expect: expect)
        act { $0.handle(request, from: requester, now: $1, into: &$2) }
        return requester
    }

    /// Sends a request, and lets the disk finish. Nil: it was not answered.
    mutating func ask(
        _ command: ControlCommand, source: String? = nil, key: String? = nil, expect: Expectation? = nil
    ) -> ControlReply? {
        let requester = send(command, source: source, key: key, expect: expect)
        disk()
        return replies[requester]
    }

    mutating func start(leaseMs: Int64? = nil) { _ = ask(.startOperation(leaseMs: leaseMs)) }
    mutating func hold(_ policy: GatedPolicy? = nil) {
        _ = ask(.holdOperation(waitMs: nil, gatedEvents: policy))
    }

    /// Sends a block, and does not wait for the disk.
    mutating func sendBlock(
        _ count: Int = 1, bytes: Int = 100, batch: UInt64? = nil, run: String = "run",
        producer: String = "producer"
    ) -> Requester {
        let requester = requester()
        var header = IngestHeader()
        if let batch { header = IngestHeader(producer: producer, run: run, batch: batch) }
        var effects: [Effect] = []
        let admission = engine.admit(
            header, BlockSummary(count: count, byteCount: bytes), from: requester, now: now, into: &effects)
        for effect in effects { take(effect) }
        if case .commit(let ticket, let stamp) = admission {
            jobs.append(Item(ticket: ticket, job: .block(stamp)))
        }
        return requester
    }

    mutating func emit(
        _ count: Int = 1, bytes: Int = 100, batch: UInt64? = nil, run: String = "run",
        producer: String = "producer"
    ) -> IngestReply? {
        let requester = sendBlock(count, bytes: bytes, batch: batch, run: run, producer: producer)
        disk()
        return ingestReplies[requester]
    }

    mutating func hello(
        _ name: String, peer: UInt64 = 1, types: [String] = ["*"], windowBytes: Int = 1 << 20,
        durable: Bool = true
    ) {
        let collect = CollectRequest(types: types, windowBytes: windowBytes, durable: durable)
        receive(.hello(.init(name: name, version: "1", collect: collect)), peer: peer)
    }

    /// Attaches a provider.
    mutating func serve(_ services: String..., as name: String = "provider", peer: UInt64 = 1) {
        receive(.hello(.init(name: name, version: "1", services: services)), peer: peer)
    }

    /// Sends a callback request, and does not wait for the disk.
    mutating func call(_ service: String = "s", timeoutMs: Int64 = 5000) -> Requester {
        send(.request(service: service, arguments: .object([]), timeoutMs: timeoutMs))
    }

    /// A provider answers.
    mutating func answer(_ number: UInt64, _ text: String = "yes", peer: UInt64 = 1) {
        receive(.result(id: number, .success(.string(text))), peer: peer)
    }

    /// Sends an app's report, and does not wait for the disk.
    mutating func say(_ app: String, _ phase: AppPhase = .foreground) -> Requester {
        send(.appLifecycle(app: app, phase))
    }

    mutating func receive(_ message: PluginMessage, peer: UInt64 = 1) {
        act { $0.receive(message, from: PeerID(peer), now: $1, into: &$2) }
    }

    mutating func ack(_ through: UInt64, peer: UInt64 = 1, rejects: [UInt64] = []) {
        let rejects = rejects.map { Reject(seq: JournalSeq($0), reason: "no") }
        receive(.ack(through: JournalSeq(through), rejects: rejects), peer: peer)
    }

    mutating func pass(_ ms: Int64) {
        nowMs += ms
        act { $0.tick(now: $1, into: &$2) }
    }

    // MARK: The disk

    /// The disk does all that it was given, and what comes of it.
    mutating func disk() {
        while !jobs.isEmpty { diskStep() }
    }

    /// The disk does its oldest job.
    mutating func diskStep() {
        let item = jobs.removeFirst()
        if isRefusing && item.job.isBuiltOn { return fail(item) }
        write(item.job)
        act { $0.persisted(through: item.ticket, now: $1, into: &$2) }
    }

    /// The disk works until its oldest job is such a one.
    mutating func disk(until isWanted: (Job) -> Bool) {
        while let first = jobs.first, !isWanted(first.job) { diskStep() }
    }

    /// The disk works until the oldest block is its oldest job.
    mutating func diskUntilBlock() { disk { if case .block = $0 { true } else { false } } }

    /// The disk has no room for its oldest job.
    mutating func diskFull() {
        let item = jobs.removeFirst()
        if item.job.isBuiltOn { isRefusing = true }
        fail(item)
    }

    private mutating func fail(_ item: Item) {
        act { $0.diskFull(item.ticket, now: $1, into: &$2) }
        act { $0.persisted(through: item.ticket, now: $1, into: &$2) }
    }

    private mutating func write(_ job: Job) {
        switch job {
        case .block(let stamp):
            blocks.append(stamp)
            ledger.apply(.block(stamp))
        case .other(.entry(let entry)): ledger.apply(entry)
        case .other(.record(let record)): records.append(record)
        case .other(.purge):
            blocks = []
            let last = ledger.lastSeq
            ledger = Ledger(producerLimit: ledger.producers.limit)
            ledger.lastSeq = last
        case .other(.resumeBlocks): isRefusing = false
        case .other(.configuration), .other(.deadLetters): break
        }
    }

    /// The process dies with what it had not written, and comes up again.
    mutating func restart(wallMs passed: Int64 = 0) {
        jobs = []
        isRefusing = false
        wallAheadMs += passed
        engine = Engine(
            Recovered(
                lifecycle: engine.shown, ledger: ledger,
                recordedThrough: records.map(\.through).max() ?? .zero,
                discardedThrough: records.compactMap(\.facts.discardedThrough).max() ?? .zero,
                dropped: dropped, lastState: engine.stream.lastState.body, replies: engine.replies,
                meter: QueueMeter(startBytes: 0),
                configuration: engine.internalConfiguration),
            configuration: engine.configuration, run: "next run", now: now)
        act { $0.boot(now: $1, into: &$2) }
        disk()
    }

    /// What the records say was dropped.
    private var dropped: [SeqRange] {
        var closed = JournalSeq.zero
        var ranges: [SeqRange] = []
        for record in records {
            if record.previous == .operating, record.state == .holdRequested { closed = record.through }
            guard let through = record.facts.discardedThrough else { continue }
            ranges += [SeqRange(first: closed.next, through: through)].compactMap { $0 }
        }
        return ranges
    }

    // MARK: Out

    private mutating func take(_ effect: Effect) {
        switch effect {
        case .persist(let ticket, let job): jobs.append(Item(ticket: ticket, job: .other(job)))
        case .reply(let requester, let reply):
            precondition(replies.updateValue(reply, forKey: requester) == nil, "answered twice")
        case .ingestReply(let requester, let reply):
            precondition(ingestReplies.updateValue(reply, forKey: requester) == nil, "answered twice")
        case .publish(let header, let publication):
            headers.append(header)
            publications.append(publication)
        case .publishBlock(_, let stamp): publishedBlocks.append(stamp.range)
        case .releaseBlock: break
        case .send(let peer, let message): sent[peer, default: []].append(message)
        case .rebind: rebinds += 1
        case .lookUp(_, let requester, let reply): replies[requester] = reply
        case .requeue(_, _, let seqs): requeues.append(seqs)
        case .endRequeue(_, let isTaken): endedRequeues.append(isTaken)
        case .supervise(let requester, let reply, _, _), .reload(let requester, let reply):
            replies[requester] = reply
        case .stop(let restart): stops.append(restart)
        case .log(_, let message, _): logs.append(message)
        }
    }

    /// Hands over all that may be, and publishes all that was released.
    ///
    /// - Parameter matches: whether a collector that does not take all takes this event.
    mutating func handOver(matching matches: (JournalSeq) -> Bool = { _ in true }) {
        engine.retryBlocked()
        while let grant = engine.nextGrant() { carryOut(grant, matching: matches) }
        while let (range, _) = engine.nextPublication {
            for stamp in blocks where stamp.kept {
                if let part = Self.part(of: stamp, from: range.first, through: range.last) {
                    publishedBlocks.append(part)
                }
            }
            engine.published(through: range.last)
        }
    }

    private mutating func carryOut(_ grant: Grant, matching matches: (JournalSeq) -> Bool) {
        var ranges: [SeqRange] = []
        var through = grant.from
        var bytes = 0
        var isFirst = true
        for stamp in blocks {
            guard let part = Self.part(of: stamp, from: grant.from, through: grant.through) else { continue }
            if bytes + stamp.byteCount > grant.budgetBytes {
                guard isFirst else { break }
                guard grant.mayExceed else { return engine.notHanded(grant, untilAck: true) }
            }
            isFirst = false
            through = part.last
            guard stamp.kept else { continue }
            if grant.takesAll {
                ranges.append(part)
                bytes += stamp.byteCount
            } else {
                for seq in part.first.raw...part.last.raw where matches(JournalSeq(seq)) {
                    ranges.append(SeqRange(first: JournalSeq(seq), count: 1))
                    bytes += stamp.byteCount / Int(stamp.range.count)
                }
            }
        }
        precondition(!isFirst, "granted \(grant.from) to \(grant.through), which the disk does not have")
        if !ranges.isEmpty {
            deliveries.append(
                Delivery(
                    peer: grant.peer, ranges: ranges, opening: grant.opening.seq,
                    redelivered: grant.redelivered))
        }
        act { $0.handed(grant, through: through, ranges: ranges, bytes: bytes, now: $1, into: &$2) }
    }

    private static func part(of stamp: BlockStamp, from: JournalSeq, through: JournalSeq) -> SeqRange? {
        SeqRange(first: max(stamp.range.first, from), through: min(stamp.range.last, through))
    }

    /// What a peer was handed, event by event.
    func handed(to peer: UInt64 = 1) -> [UInt64] {
        deliveries.filter { $0.peer == PeerID(peer) }.flatMap(\.ranges).flatMap { $0.first.raw...$0.last.raw }
    }

    /// What `stream` was handed, event by event.
    var streamed: [UInt64] { publishedBlocks.flatMap { $0.first.raw...$0.last.raw } }

    /// The numbers of the callback requests that a provider was handed.
    func calls(to peer: UInt64 = 1) -> [UInt64] {
        (sent[PeerID(peer)] ?? []).compactMap {
            if case .request(let number, _, _, _) = $0 { number } else { nil }
        }
    }

    /// What `stream` was told of apps: `shop+` came to the foreground, `shop-` left it.
    var told: [String] {
        publications.compactMap { if case .app(let body) = $0 { body.brief } else { nil } }
    }

    /// The states that `stream` was told, snapshots left out.
    var states: [LifecycleState] {
        publications.compactMap {
            if case .state(let body) = $0, !body.snapshot { body.state } else { nil }
        }
    }
}

extension AppBody {
    var brief: String { app + (phase == .foreground ? "+" : "-") }
}

extension ControlReply {
    /// `yes`, or `notOperating onHold retryable`, or `timeout operating unknown`.
    var outcome: String {
        guard let error else {
            return if case .string(let text) = self["value"] { text } else { "\(members.map(\.name))" }
        }
        return "\(error.code) \(status.state.rawValue)" + (error.retryable ? " retryable" : "")
            + (error.isOutcomeUnknown ? " unknown" : "")
    }

    subscript(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    /// `state`, `seq`, and the members named, as they would stand in a row.
    var brief: String { "\(status.state.rawValue) \(status.seq)" + (error.map { " \($0.code)" } ?? "") }
}

extension IngestReply {
    /// `ok 1 gated 1`, or the error's code.
    var brief: String {
        switch outcome {
        case .taken(let accepted, let gated, let discarded, let kept, let last):
            "accepted \(accepted) gated \(gated) discarded \(discarded) kept \(kept) last \(last?.raw ?? 0)"
        case .duplicate(let last): "duplicate \(last)"
        case .refused(let error, let last): "\(error.code)" + (last.map { " \($0)" } ?? "")
        }
    }
}
