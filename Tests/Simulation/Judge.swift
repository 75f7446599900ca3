import Engine
import HoldgateHost
import Journal
import Lifecycle
import Simulator
import Wire

/// A promise that was broken.
struct Verdict: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// One batch as its producer knows it.
struct BatchName: Hashable {
    let producer: Int
    let run: Int
    let batch: UInt64
}

/// Holds what comes out of the hosts against the promises. Knows what producers, collectors and people know, and the
/// order in which the host read things; nothing of what the host thinks.
struct Judge {
    /// What was promised of an event.
    struct Event {
        let name: BatchName
        let line: String
        let type: String
        /// When its batch was last read and not refused.
        var readAt = 0
        var seq: JournalSeq?
        /// The producer was told that it is kept, as gated or not.
        var isKept = false
        var wasGated = false
        var isDiscarded = false
    }

    private(set) var events: [String: Event] = [:]
    private var lineOfSeq: [JournalSeq: String] = [:]
    private(set) var step = 0
    /// From this step on, what is read must wait for a start: a closing was answered, and no start was read since.
    private var closedSince: Int?
    /// Nothing at all may be handed over.
    private var isSilent = false
    private(set) var isKilled = false
    /// The last closing was answered, and no start was read since: a host that comes up must be closed.
    private var mustBeClosed: Bool { closedSince != nil }
    private var lastStartAt = 0
    private var lastStartRead = Now(monotonicMs: 0, wallMs: 0)
    private var lastKillAt = -1
    /// As `closedSince`, for a lease whose end the host has read and not told yet: a crash may leave it undecided.
    private var expiredSince: Int? { didSet { callbacks.isLeaseOver = expiredSince != nil } }
    /// The latest time at which a lease that was given may still be running, by both clocks; nil where there is none.
    private var leaseEnds: Now?
    private var streamed: Set<JournalSeq> = []
    private var lastState: (launch: LaunchID, seq: UInt64)?
    private(set) var deliveries: [(launch: LaunchID, under: TransitionSeq, seqs: [JournalSeq])] = []
    private var keyedReplies: [String: String] = [:]
    /// Kept events that were lost by right.
    private var excused: Set<String> = []
    var callbacks: CallbackJudge

    init(callbacks: CallbackJudge) { self.callbacks = callbacks }

    mutating func passStep() { step += 1 }

    // MARK: What the host reads

    mutating func produced(_ name: BatchName, _ lines: [(line: String, type: String)]) {
        for (line, type) in lines { events[line] = Event(name: name, line: line, type: type) }
    }

    /// A batch was read, and not refused.
    mutating func admitted(_ lines: [String]) { for line in lines { events[line]?.readAt = step } }

    mutating func read(_ request: ControlRequest, _ requester: Requester, _ now: Now) {
        callbacks.read(request, requester, now)
        if request.command == .kill { lastKillAt = step }
        guard case .startOperation = request.command else { return }
        closedSince = nil
        expiredSince = nil
        isSilent = false
        lastStartAt = step
        // Known once it is answered.
        leaseEnds = nil
        lastStartRead = now
    }

    /// The host looked at the clock.
    mutating func ticked(_ now: Now) {
        callbacks.ticked(now)
        guard let leaseEnds, now.monotonicMs >= leaseEnds.monotonicMs else { return }
        expiredSince = min(expiredSince ?? step, step)
    }

    // MARK: What the host says

    mutating func replied(
        _ request: ControlRequest, source: String, readAt: Int, _ reply: ControlReply
    ) throws {
        guard reply.error == nil else { return }
        let isReplay = reply.members.contains { $0.name == "replayed" }
        switch request.command {
        case .holdOperation, .kill:
            if !isReplay || reply.status.state == .killed { close(reply.status, readAt: readAt) }
        case .startOperation(let leaseMs?):
            guard !isReplay, readAt == lastStartAt, reply.status.state == .operating else { break }
            leaseEnds = Now(
                monotonicMs: lastStartRead.monotonicMs + leaseMs, wallMs: lastStartRead.wallMs + leaseMs)
        case .startOperation(nil), .initialize, .initializeWithHoldingOperations, .endLaunch, .state,
            .isOperating,
            .ping,
            .commands, .configuration, .configure, .history, .plugins, .forget, .deadLetters, .requeue,
            .stats, .request, .plugin, .appLifecycle, .reload:
            break
        }
        if case .holdOperation(.some, _) = request.command { return }
        guard let key = request.key else { return }
        let place = "\(reply.status.launch) \(source) \(key)"
        var first = reply
        first.members.removeAll { $0.name == "replayed" }
        // As it goes over the wire.
        var writer = JSONWriter()
        first.write(into: &writer)
        if let known = keyedReplies[place] {
            guard isReplay, known == writer.text else {
                throw Verdict("key \(key) got \(reply) after \(known)")
            }
        }
        keyedReplies[place] = writer.text
    }

    private mutating func close(_ status: HostStatus, readAt: Int) {
        if status.state == .killed { isKilled = true }
        // A start that was read behind it may have opened the gate by now.
        guard readAt > lastStartAt, status.state != .operating else { return }
        closedSince = min(closedSince ?? step, step)
        if status.state == .onHold { isSilent = true }
        leaseEnds = nil
    }

    mutating func told(_ name: BatchName, _ lines: [String], _ reply: IngestReply) throws {
        switch reply.outcome {
        case .taken(let accepted, let gated, let discarded, let kept, let last):
            guard !isKilled else { throw Verdict("\(name) was taken after a kill was answered") }
            guard accepted + discarded == lines.count else { throw Verdict("\(name) was taken in part") }
            for (index, line) in lines.enumerated() {
                events[line]?.isKept = kept
                events[line]?.wasGated = gated > 0
                events[line]?.isDiscarded = discarded > 0
                guard let last else { continue }
                try number(line, JournalSeq(last.raw + 1 + UInt64(index) - UInt64(lines.count)))
            }
        case .duplicate, .refused: break
        }
    }

    private mutating func number(_ line: String, _ seq: JournalSeq) throws {
        if let known = lineOfSeq[seq], known != line { throw Verdict("\(seq) is both \(known) and \(line)") }
        if let known = events[line]?.seq, known != seq {
            throw Verdict("\(line) is both \(known) and \(seq)")
        }
        lineOfSeq[seq] = line
        events[line]?.seq = seq
    }

    mutating func stated(_ body: StateBody, seq: UInt64, _ launch: LaunchID) throws {
        if let lastState, lastState.launch == launch, seq <= lastState.seq {
            throw Verdict("state \(seq) was told after \(lastState.seq)")
        }
        lastState = (launch, seq)
        callbacks.stated(body.state)
        if body.state != .operating, let expiredSince {
            closedSince = min(closedSince ?? expiredSince, expiredSince)
        }
        // (A start that was read meanwhile may be decided later.)
        if body.state == .killed { isKilled = true }
    }

    // MARK: What the host lets out

    private mutating func checkLetOut(_ seq: JournalSeq, _ line: String, _ whereTo: String) throws {
        guard let event = events[line] else { throw Verdict("\(whereTo) got \(line), which nobody sent") }
        if isKilled { throw Verdict("\(whereTo) got \(seq) after a kill was told") }
        if event.isDiscarded { throw Verdict("\(whereTo) got \(seq), which was discarded: \(line)") }
        if isSilent { throw Verdict("\(whereTo) got \(seq) while on hold") }
        if let closedSince = [closedSince, expiredSince].compactMap({ $0 }).min(), event.readAt > closedSince
        {
            throw Verdict("\(whereTo) got \(seq), read at \(event.readAt), while closed since \(closedSince)")
        }
        try number(line, seq)
    }

    mutating func delivered(_ delivered: Delivered, to name: String) throws {
        for (seq, line) in delivered.events { try checkLetOut(seq, line, name) }
        deliveries.append((delivered.launch, delivered.under, delivered.events.map(\.seq)))
    }

    mutating func streamed(_ seq: JournalSeq, _ line: String) throws {
        try checkLetOut(seq, line, "stream")
        guard streamed.insert(seq).inserted else { throw Verdict("stream got \(seq) twice") }
    }

    /// A drain ended because everything was done.
    ///
    /// - Parameter done: whether a durable collector has acknowledged an event, or does not want it.
    func drained(through: JournalSeq, done: (Event) -> Bool) throws {
        for event in events.values where event.isKept && !event.wasGated && !event.isDiscarded {
            guard let seq = event.seq, seq <= through, event.readAt > lastKillAt else { continue }
            guard done(event) else { throw Verdict("drained with \(seq) not done") }
        }
    }

    // MARK: Restarts

    /// A host came up, going on with its launch, or with a new one.
    mutating func came(up state: LifecycleState, isNewLaunch: Bool, _ now: Now) throws {
        expiredSince = nil
        callbacks.cameUp(state, now)
        if isNewLaunch {
            isKilled = false
            leaseEnds = nil
            if state == .operating { closedSince = nil }
        } else {
            try check(up: state, now)
        }
        // Whatever was on its way into the host before is gone.
        isSilent = state == .onHold
        if state != .operating { closedSince = closedSince ?? step }
        if state == .killed { isKilled = true }
        if let ends = leaseEnds {
            leaseEnds = Now(
                monotonicMs: now.monotonicMs + max(0, ends.wallMs - now.wallMs), wallMs: ends.wallMs)
        }
    }

    private func check(up state: LifecycleState, _ now: Now) throws {
        if isKilled, state != .killed { throw Verdict("came up \(state) after a kill was told") }
        if mustBeClosed, state == .operating {
            throw Verdict("came up operating after a closing was answered")
        }
        if state == .operating, let leaseEnds, now.wallMs >= leaseEnds.wallMs {
            throw Verdict("came up operating after its lease had run out")
        }
    }

    mutating func excuse(where isLost: (Event) -> Bool) {
        for event in events.values where isLost(event) { excused.insert(event.line) }
    }

    // MARK: The end

    /// Every event that was promised has reached every collector that wants it; none that was discarded.
    func settle(_ stores: [(name: String, wants: (String) -> Bool, store: [JournalSeq: String])]) throws {
        for (name, wants, store) in stores {
            let lines = Set(store.values)
            for event in events.values where event.isKept && !event.isDiscarded && wants(event.type) {
                guard !excused.contains(event.line), !lines.contains(event.line) else { continue }
                throw Verdict("\(name) never got \(event.seq.map(\.raw) ?? 0): \(event.line)")
            }
            for line in lines where !wants(events[line]?.type ?? "") { throw Verdict("\(name) got \(line)") }
        }
    }
}
