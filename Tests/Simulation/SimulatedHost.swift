// A host without sockets, threads and clocks, in a world that is a function of its seed.
//
// `SimulatedHost` performs what the engine decides on the real journal, over a disk that fails; `World` has
// producers, collectors, people who hold and start, askers and providers, and everything that can go wrong; `Judge`
// and its `CallbackJudge` hold what comes out against the promises. Read `World.step` first.
import Engine
import HoldgateHost
import Journal
import Ledger
import Lifecycle
import Simulator
import Wire

/// What comes out of a host, in order.
enum Output {
    case reply(Requester, ControlReply)
    case ingestReply(Requester, IngestReply)
    case state(StateBody, seq: UInt64, LaunchID)
    case streamed(JournalSeq, line: String, heldMs: Int64?)
    case delivered(PeerID, Delivered)
    case message(PeerID, HostMessage)
    /// A callback request was sent and did not leave.
    case unsent(PeerID, HostMessage, Unsent)
    /// A message found the connection broken.
    case unreachable(PeerID)
    /// `stream` and `plugin` were bound again: all connections are gone.
    case rebound
    case stopped(restart: Bool)
    /// The record of a transition found the disk full.
    case full(Record)
    /// - Parameter isAnswered: whoever waits is told.
    case failed(String, isAnswered: Bool)
    /// The host has done all that one completion of the disk's called for.
    case turn
}

/// Why a message did not leave.
enum Unsent {
    /// The connection is broken.
    case gone
    /// The peer reads nothing, and its queue is full.
    case full
}

struct Delivered {
    let launch: LaunchID
    let under: TransitionSeq
    let events: [(seq: JournalSeq, line: String)]
    let redelivered: Bool
}

final class SimulatedHost {
    private(set) var engine: Engine
    var outputs: [Output] = []
    private(set) var hasFailed = false
    /// Connections on which nothing leaves.
    var troubled: [PeerID: Unsent] = [:]

    private let worker: JournalWorker
    private let files: SmallFiles
    private let grants: GrantReader
    private let historyReader: HistoryReader
    private var queue = JournalQueue()
    private var completions: [JournalCompletion] = []
    private var blocks: [Ticket: LineBlock] = [:]
    private var transitions: [Ticket: Record] = [:]
    private var lastTicket: UInt64 = 0
    private var effects: [Effect] = []

    /// Reads the state back, as the real one does before it binds.
    init(
        storage: FaultyStorage, journal: Log.Configuration, engine configuration: EngineConfiguration,
        options: LaunchOptions, historyRotateBytes: UInt64, now: Now, random: @escaping () -> UInt64
    ) throws {
        let boot = try Boot(
            storage: storage, journal: journal, engine: configuration, options: options, now: now,
            historyRotateBytes: historyRotateBytes, random: random)
        engine = boot.engine
        worker = JournalWorker(log: boot.log, history: boot.history, maxCommitBytes: 1500)
        files = SmallFiles(deadLetters: boot.deadLetters, configuration: boot.internalConfiguration)
        grants = GrantReader(boot.log.reader(), maxNesting: 32)
        historyReader = boot.history.reader
        engine.boot(now: now, into: &effects)
        perform(now)
        while !(engine.isIdle && engine.isOnDisk) {
            disk()
            for completion in completions {
                if case .full = completion { throw StartError("the disk is full") }
                if case .failed(let error) = completion { throw StartError("\(error)") }
            }
            takeNotes(now)
        }
        outputs = []
    }

    // MARK: In

    func control(_ request: ControlRequest, _ requester: Requester, _ now: Now) {
        engine.handle(request, from: requester, now: now, into: &effects)
        perform(now)
    }

    /// - Returns: the stamp, where the block is to be committed.
    func ingest(_ header: IngestHeader, _ lines: [String], _ requester: Requester, _ now: Now) -> BlockStamp?
    {
        let block = LineBlock(lines: lines)
        let admission = engine.admit(header, block.summary, from: requester, now: now, into: &effects)
        perform(now)
        guard case .commit(let ticket, let stamp) = admission else { return nil }
        blocks[ticket] = block
        submit(.block(stamp, block), ticket)
        return stamp
    }

    func plugin(_ message: PluginMessage, from peer: PeerID, _ now: Now) {
        engine.receive(message, from: peer, now: now, into: &effects)
        perform(now)
    }

    func lost(_ peer: PeerID, _ now: Now) {
        engine.lost(peer, now: now, into: &effects)
        perform(now)
    }

    func subscribe(_ now: Now) { engine.subscribedToState(now: now) }

    func tick(_ now: Now) {
        engine.retryBlocked()
        guard engine.nextTickMs <= now.monotonicMs else { return }
        engine.tick(now: now, into: &effects)
        perform(now)
    }

    func stop(_ now: Now) {
        engine.stop(restart: false, into: &effects)
        perform(now)
    }

    // MARK: The disk

    var hasJobs: Bool { !queue.isEmpty }
    var hasNotes: Bool { !completions.isEmpty }

    /// The journal's thread does one turn.
    func disk() {
        guard !queue.isEmpty else { return }
        worker.turn(&queue, into: &completions)
        if let failure = worker.prepare() { completions.append(.failed(failure)) }
    }

    /// The reactor hears what the journal's thread has done.
    func takeNotes(_ now: Now) {
        let taken = completions
        completions = []
        for completion in taken where !hasFailed {
            switch completion {
            case .done(let done):
                engine.persisted(through: Ticket(done.ticket), now: now, into: &effects)
            case .full(let ticket, _):
                if let record = transitions[Ticket(ticket)] { outputs.append(.full(record)) }
                engine.diskFull(Ticket(ticket), now: now, into: &effects)
            case .erased, .committed: break
            case .failed(let error):
                hasFailed = true
                engine.abandon(
                    WireError(.internalError, "the disk failed", retryable: true), into: &effects)
                outputs.append(.failed("\(error)", isAnswered: true))
            }
            perform(now)
            outputs.append(.turn)
        }
        if !hasFailed { worker.doneThrough.withLock { $0 = engine.doneThrough } }
    }

    private func submit(_ job: JournalJob, _ ticket: Ticket) {
        lastTicket = ticket.raw
        queue.append(JournalQueue.Item(ticket: ticket.raw, job: job))
    }

    // MARK: Out

    /// Hands over and publishes, at most `limit` pieces of each.
    func handOver(_ now: Now, limit: Int) {
        var count = 0
        while count < limit, !hasFailed, let grant = engine.nextGrant() {
            carryOut(grant, now)
            perform(now)
            count += 1
        }
        count = 0
        while count < limit, !hasFailed, let (range, opening) = engine.nextPublication {
            publish(range, opening)
            count += 1
        }
    }

    private func carryOut(_ grant: Grant, _ now: Now) {
        switch grants.read(grant, isDurable: engine.isDurable(grant)) {
        case .delivery(let delivery, let through):
            let seqs = delivery.ranges.flatMap { $0.first.raw...$0.last.raw }
            let events = zip(seqs, lines(delivery)).map { (JournalSeq($0), $1) }
            if events.count != seqs.count { fail("\(seqs.count) events have \(events.count) lines") }
            outputs.append(
                .delivered(
                    grant.peer,
                    Delivered(
                        launch: grant.launch, under: grant.opening.seq, events: events,
                        redelivered: grant.redelivered)))
            engine.handed(
                grant, through: through, ranges: delivery.ranges, bytes: delivery.byteCount, now: now,
                into: &effects)
        case .nothing(let through):
            engine.handed(grant, through: through, ranges: [], bytes: 0, now: now, into: &effects)
        case .noRoom: engine.notHanded(grant, untilAck: true)
        case .missing(let through): engine.missing(grant, through: through)
        case .failed(let what): fail("grant to \(grant.name): \(what)")
        }
    }

    private func lines(_ delivery: Outgoing) -> [String] {
        grants.buffer.withBytes { bytes in
            delivery.pieces.flatMap { piece in
                bytes[piece].split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
            }
        }
    }

    private func publish(_ range: SeqRange, _ opening: Opening) {
        do {
            let read = try grants.read(range, budgetBytes: 500) { block, stamp in
                publish(block, stamp, heldMs: stamp.heldMs(opening))
            }
            engine.published(through: read.through)
        } catch {
            fail("publication of \(range): \(error)")
        }
    }

    private func publish(_ block: LineBlock, _ stamp: BlockStamp, heldMs: Int64?) {
        for (index, line) in block.lines.enumerated() {
            let text = block.withBytes {
                String(decoding: $0[Int(line.offset)..<Int(line.offset + line.length)], as: UTF8.self)
            }
            outputs.append(
                .streamed(stamp.range.first.advanced(by: UInt64(index)), line: text, heldMs: heldMs))
        }
    }

    private func perform(_ now: Now) {
        var index = 0
        while index < effects.count {
            let effect = effects[index]
            index += 1
            perform(effect, now)
        }
        effects.removeAll(keepingCapacity: true)
    }

    private func perform(_ effect: Effect, _ now: Now) {
        switch effect {
        case .persist(let ticket, let job): persist(job, ticket, now)
        case .reply(let requester, let reply): outputs.append(.reply(requester, reply))
        case .ingestReply(let requester, let reply): outputs.append(.ingestReply(requester, reply))
        case .publish(let header, let publication):
            guard case .state(let body) = publication, !body.snapshot else { return }
            outputs.append(.state(body, seq: header.seq, header.launch))
        case .publishBlock(let ticket, let stamp):
            if let block = blocks[ticket] { publish(block, stamp, heldMs: nil) }
        case .releaseBlock(let ticket): blocks[ticket] = nil
        case .send(let peer, let message): send(message, to: peer, now)
        case .rebind: outputs.append(.rebound)
        case .lookUp(_, let requester, let reply): outputs.append(.reply(requester, reply))
        case .requeue(let requester, let id, _):
            engine.refuseRequeued(
                requester, id: id, WireError(.invalidArgument, "not in this world"), into: &effects)
        case .supervise(let requester, let reply, _, _), .reload(let requester, let reply):
            outputs.append(.reply(requester, reply))
        case .endRequeue: break
        case .stop(let restart): outputs.append(.stopped(restart: restart))
        case .log: break
        }
    }

    private func send(_ message: HostMessage, to peer: PeerID, _ now: Now) {
        guard let trouble = troubled[peer] else { return outputs.append(.message(peer, message)) }
        if case .request(let number, _, _, _) = message {
            outputs.append(.unsent(peer, message, trouble))
            engine.unsent(number, isGone: trouble == .gone, into: &effects)
        }
        guard trouble == .gone else { return }
        troubled[peer] = nil
        outputs.append(.unreachable(peer))
        engine.lost(peer, now: now, into: &effects)
    }

    private func persist(_ job: DiskJob, _ ticket: Ticket, _ now: Now) {
        switch job {
        case .record(let record):
            if record.previous != record.state { transitions[ticket] = record }
            submit(.history(HistoryDraft(record)), ticket)
        case .entry(let entry): submit(.entry(entry), ticket)
        case .purge:
            submit(files.purge, Ticket(lastTicket))
            submit(.purge, ticket)
        case .configuration(let object): submit(files.replaceConfiguration(with: object), ticket)
        case .deadLetters(let collector, let rejects):
            var letters: [DeadLetter] = []
            do {
                letters = try grants.letters(rejects, of: collector, wallMs: now.wallMs)
            } catch {
                fail("burial of \(rejects.count) rejected events: \(error)")
            }
            submit(files.bury(letters), ticket)
        case .resumeBlocks: submit(.resume, ticket)
        }
    }

    private func fail(_ what: String) {
        hasFailed = true
        outputs.append(.failed(what, isAnswered: false))
    }
}
