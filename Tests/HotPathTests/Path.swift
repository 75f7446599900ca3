// What a block of events costs on its way through the host: scanned, admitted, committed, answered, read back, handed
// over and acknowledged, as the reactor and the journal's thread do it, on one thread and without sockets.
import CMallocCount
import Engine
import Glibc
import Journal
import Ledger
import Lifecycle
import Testing
import Wire

/// No command is given here, so nothing is recorded.
private final class NoHistory: HistoryAppending {
    func append(_ drafts: [HistoryDraft]) throws(JournalError) -> HistoryHead {
        preconditionFailure("nothing is to be recorded")
    }
}

/// The host's hot path over a real directory, with one collector that takes everything.
final class Path {
    private static let peer = PeerID(1)
    private static let launch = LaunchID(high: 7, low: 7)
    /// In memory where that can be had: the disk's pace is not what is measured.
    private static let directory =
        (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/holdgate-hot-path-XXXXXX"

    private let place: String
    private var engine: Engine
    private let worker: JournalWorker
    private let reader: LogReader
    private let scanner = EventScanner()
    private let block = LineBlock()
    private let readBuffer = ReadBuffer(capacity: 1 << 20)
    private var queue = JournalQueue()
    private var completions: [JournalCompletion] = []
    private var effects: [Effect] = []
    private var writer = JSONWriter()
    private var batch: UInt64 = 0
    private var lastTicket: UInt64 = 0
    private(set) var replies = 0
    private(set) var handedEvents: UInt64 = 0
    private(set) var handedBytes = 0

    init() throws {
        var template = Self.directory.utf8CString
        let isMade = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
        #expect(isMade)
        place = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        var configuration = Log.Configuration()
        configuration.segmentBytes = 8 << 20
        var generator = SystemRandomNumberGenerator()
        let log = try Log.open(
            storage: PosixStorage(directory: place), configuration: configuration,
            random: { generator.next() })
        worker = JournalWorker(log: log, history: NoHistory())
        reader = log.reader()
        let (lifecycle, transition) = Lifecycle.begin(
            launch: Self.launch, cause: .initialize, through: .zero, releasedThrough: .zero, wallMs: 1)
        let limits = EngineConfiguration()
        let state = StateBody(
            state: transition.state, previous: nil, command: "initialize", wallMs: 1, pending: 0)
        engine = Engine(
            Recovered(
                lifecycle: lifecycle, ledger: Ledger(producerLimit: limits.rememberedProducers),
                recordedThrough: .zero, lastState: state,
                replies: RememberedReplies(limit: limits.rememberedReplies), meter: QueueMeter(startBytes: 0)),
            configuration: limits, run: "run", now: Self.now)
        engine.boot(now: Self.now, into: &effects)
        perform()
        let collect = CollectRequest(types: ["*"], windowBytes: 8 << 20, durable: true)
        engine.receive(
            .hello(.init(name: "all", version: "1", collect: collect)), from: Self.peer, now: Self.now,
            into: &effects)
        perform()
        work()
    }

    deinit {
        for name in (try? PosixStorage(directory: place).names()) ?? [] { unlink(place + "/" + name) }
        rmdir(place)
    }

    private static let now = Now(monotonicMs: 0, wallMs: 1)

    /// Sends one frame of events all the way; returns how many allocations that took.
    func carry(_ frame: UnsafeRawBufferPointer) throws -> UInt64 {
        let before = hg_malloc_count()
        scanner.begin(block, byteCount: frame.count, frameCount: 1)
        try scanner.append(frame, to: block)
        try scanner.finish(block)
        batch += 1
        let header = IngestHeader(id: "1", producer: "producer", run: "run", batch: batch)
        let admission = engine.admit(
            header, block.summary, from: Requester(batch), now: Self.now, into: &effects)
        perform()
        guard case .commit(let ticket, let stamp) = admission else {
            Issue.record("not admitted")
            return 0
        }
        submit(.block(stamp, block), ticket)
        work()
        try handOver()
        return hg_malloc_count() - before
    }

    private func submit(_ job: JournalJob, _ ticket: Ticket) {
        lastTicket = ticket.raw
        queue.append(JournalQueue.Item(ticket: ticket.raw, job: job))
    }

    private func work() {
        while !queue.isEmpty {
            worker.turn(&queue, into: &completions)
            for completion in completions {
                guard case .done(let done) = completion else {
                    Issue.record("not written: \(completion)")
                    continue
                }
                engine.persisted(through: Ticket(done.ticket), now: Self.now, into: &effects)
                perform()
            }
            completions.removeAll(keepingCapacity: true)
        }
    }

    private func handOver() throws {
        while let grant = engine.nextGrant() {
            let slices = try reader.read(
                from: grant.from, through: grant.through, budgetBytes: grant.budgetBytes, into: readBuffer)
            let first = try #require(slices.first)
            let last = try #require(slices.last)
            let range = try #require(SeqRange(first: first.stamp.range.first, through: last.stamp.range.last))
            let bytes = first.bytes.lowerBound..<last.bytes.upperBound
            let header = DeliverHeader(
                launch: grant.launch, ranges: [range],
                under: [.init(range: range, transition: grant.opening.seq)], held: [],
                redelivered: grant.redelivered)
            writer.reset()
            HostMessage.deliver(header).write(into: &writer)
            handedEvents += range.count
            handedBytes += bytes.count
            engine.handed(
                grant, through: range.last, ranges: [range], bytes: bytes.count, now: Self.now, into: &effects
            )
            engine.receive(
                .ack(through: range.last, rejects: []), from: Self.peer, now: Self.now, into: &effects)
            perform()
        }
    }

    private func perform() {
        for effect in effects {
            switch effect {
            case .persist(let ticket, .entry(let entry)): submit(.entry(entry), ticket)
            case .ingestReply(_, let reply):
                writer.reset()
                reply.write(into: &writer)
                replies += 1
            case .persist, .reply, .publish, .publishBlock, .releaseBlock, .send, .rebind, .lookUp, .requeue,
                .endRequeue, .supervise, .reload, .stop, .log:
                break
            }
        }
        effects.removeAll(keepingCapacity: true)
    }
}
