// The host process: what comes up, the loop, and the one place where the engine's effects are performed.
//
// `Host` is the face. `Boot` reads the state back before anything is bound. `Reactor` owns the sockets and the engine
// on one thread: poll, decode, decide, perform. Read `Reactor.turn` first.
import Engine
import Journal
import Ledger
import Lifecycle
import Platform
import Wire
import ZeroMQ

/// What reaches the reactor from other threads.
enum Note: Sendable {
    case journal(JournalCompletion)
    /// What a look-up on the journal's thread found.
    case answer(Requester, ControlReply)
    case requeue(RequeueResult)
    case supervision(SupervisionNote)
    /// SIGHUP, or whoever embeds the host: the keys and the plugins are read again.
    case reload
    /// SIGTERM, or whoever embeds the host.
    case stop
}

/// How a run of the host ended.
public enum HostExit: Hashable, Sendable {
    case stopped
    /// `endLaunch` with `restart`: begin the next launch at once.
    case restart
    /// The disk or a socket failed; what it was is in the log.
    case failed(String)
}

/// Owns every socket and the engine; runs on one thread, which is the only one that touches it.
///
/// Made by whoever starts the host and handed to that thread, which makes `@unchecked Sendable` true.
final class Reactor: @unchecked Sendable {
    let configuration: Configuration
    let log: Logger
    var sockets: Sockets
    var access: AccessControl
    /// Somebody who is in may be in no longer.
    var mustCutOff = false
    var engine: Engine
    let journal: JournalClient
    let inbox: Inbox<Note>
    let grants: GrantReader
    let historyReader: HistoryReader
    /// Nil: the host starts no plugins.
    let supervisor: Supervisor?

    var envelopes = Envelopes()
    /// Commands that wait for the supervisor.
    var supervised: [UInt64: (requester: Requester, reply: ControlReply)] = [:]
    var lastSupervised: UInt64 = 0
    /// Blocks on their way to the disk, in the order of their tickets.
    var blocks = BlockQueue()
    var effects: [Effect] = []
    var notes: [Note] = []
    let message: InboundMessage
    let parser: JSONParser
    let scanner: EventScanner
    var writer = JSONWriter()
    var subscriptions = Subscriptions()
    var probes = Probes()
    var exit: HostExit?
    /// The engine asked to stop: what was read is answered, then the loop ends.
    var stopping: (restart: Bool, deadlineMs: Int64)?
    /// What the journal was told last.
    private var doneThrough = JournalSeq.zero
    /// When delivered events that are old enough are overwritten next.
    private var eraseAtMs: Int64
    /// When collectors whose queue was full are tried again: not at each turn, which would never sleep.
    private var retryBlockedAtMs: Int64 = 0
    /// Look-ups that the journal's thread has not answered.
    var lookUps = 0
    /// More than one turn's worth was waiting somewhere.
    var isBusy = false

    /// Messages that are read from `control` a turn.
    static let controlMessagesPerTurn = 64
    /// Bytes that are read from `ingest`, or handed to collectors, a turn.
    static let bytesPerTurn = 256 << 10
    static let pluginMessagesPerTurn = 256
    /// libzmq takes them in whether they are read or not: a flood is cut off the sooner.
    static let subscriptionsPerTurn = 4096
    /// Memory of blocks on their way to the disk beyond which `ingest` is not read: producers wait in their sockets.
    static let maxHeldBytes = 64 << 20
    /// Requests without an answer beyond which `ingest` is not read either.
    static let maxUnanswered = 65_536
    static let maxLookUps = 1024
    /// For the disk to do what was read. Closing takes its own time; all together stays below five seconds.
    static let stopTimeoutMs: Int64 = 3000
    static let retryBlockedMs: Int64 = 20
    static let eraseIntervalMs: Int64 = 60_000

    init(
        configuration: Configuration, log: Logger, access: AccessControl, sockets: consuming Sockets,
        engine: Engine,
        journal: JournalClient, inbox: Inbox<Note>, reader: LogReader, historyReader: HistoryReader,
        supervisor: Supervisor? = nil
    ) {
        self.configuration = configuration
        self.log = log
        self.access = access
        self.sockets = sockets
        self.engine = engine
        self.journal = journal
        self.inbox = inbox
        grants = GrantReader(reader, maxNesting: configuration.wireLimits.maxNesting)
        self.historyReader = historyReader
        self.supervisor = supervisor
        eraseAtMs = Clock.monotonicMs() + min(Self.eraseIntervalMs, configuration.eraseAfterMs)
        let limits = configuration.wireLimits
        message = InboundMessage(maxFrames: limits.maxFrames, maxBytes: limits.maxMessageBytes)
        parser = JSONParser()
        scanner = EventScanner(maxNesting: limits.maxNesting)
    }

    var now: Now {
        let now = Clock.now()
        return Now(monotonicMs: now.monotonicMs, wallMs: now.wallMs)
    }

    /// Runs until the host stops.
    func run() -> HostExit {
        do {
            while exit == nil { try turn() }
        } catch {
            log.log(.error, "a socket failed", [.init("error", .string("\(error)"))])
            exit = .failed("\(error)")
        }
        return exit ?? .stopped
    }

    /// One turn of the loop, bounded in messages and bytes: what the disk says, control, time, ingest, plugins, and
    /// then what may be handed over. Control is looked at between the two large pieces, so that a command waits for
    /// one of them at most.
    private func turn() throws(ZeroMQError) {
        let reads =
            stopping == nil && blocks.heldBytes < Self.maxHeldBytes && envelopes.count < Self.maxUnanswered
        sockets.watch(.ingest, reads)
        _ = try sockets.polls.wait(timeoutMs: timeoutMs)
        isBusy = false
        try takeNotes()
        if stopping == nil {
            try watchConnections()
            try answerDoors()
            if sockets.isReadable(.control) { try readControl() }
            tick()
            if reads { try readIngest() }
            try readPlugin()
            try probe()
            try readSubscriptions()
            if isBusy || sockets.isReadable(.ingest) { try readControl() }
            try handOver()
            try publishReleased()
        }
        retain()
        finishStopping()
    }

    /// Tells the journal what nobody needs any more: segments before it are used again.
    private func retain() {
        let done = engine.doneThrough
        guard done != doneThrough else { return }
        doneThrough = done
        journal.setDoneThrough(done)
    }

    private var timeoutMs: Int {
        // What comes in wakes nobody any more, and nothing is due: the disk alone is waited for.
        if stopping != nil { return 50 }
        if isBusy { return 0 }
        var due = min(engine.nextTickMs, probes.dueMs ?? .max, connectionsDueMs)
        if engine.isBlockedBySocket { due = min(due, retryBlockedAtMs) }
        return Int(max(0, min(due - Clock.monotonicMs(), 1000)))
    }

    private func takeNotes() throws(ZeroMQError) {
        guard sockets.isReadable(.inbox) else { return }
        inbox.takeAll(into: &notes)
        guard !notes.isEmpty else { return }
        let time = now
        for note in notes {
            switch note {
            case .journal(let completion): take(completion, now: time)
            case .answer(let requester, let reply):
                lookUps -= 1
                effects.append(.reply(requester, reply))
            case .requeue(let result): takeRequeue(result, now: time)
            case .supervision(let note): take(note)
            case .reload: reload()
            case .stop:
                engine.stop(restart: false, into: &effects)
                // Whoever ends the process means it, even while it is about to begin anew.
                stopping?.restart = false
            }
            perform()
            try cutOff()
        }
        notes.removeAll(keepingCapacity: true)
    }

    private func tick() {
        let time = now
        if engine.isBlockedBySocket, retryBlockedAtMs <= time.monotonicMs {
            retryBlockedAtMs = time.monotonicMs + Self.retryBlockedMs
            engine.retryBlocked()
        }
        if eraseAtMs <= time.monotonicMs {
            eraseAtMs = time.monotonicMs + min(Self.eraseIntervalMs, configuration.eraseAfterMs)
            erase()
            log.flush()
        }
        guard engine.nextTickMs <= time.monotonicMs else { return }
        engine.tick(now: time, into: &effects)
        perform()
    }

    /// Ends the loop once everything that was read is on disk and answered, or the time for it is over.
    private func finishStopping() {
        guard let stopping, exit == nil else { return }
        if !engine.isIdle || envelopes.count > 0 {
            guard stopping.deadlineMs <= Clock.monotonicMs() else { return }
            let error = WireError(
                .shuttingDown,
                "the host stops before the disk has answered, and whether it was written is unknown: send the "
                    + "same batch or key to the next one", retryable: true)
            engine.abandon(error, into: &effects)
            perform()
        }
        exit = stopping.restart ? .restart : .stopped
    }
}
