import Wire

/// What a producer decides: which batch goes out when, under which number, and what an answer means. No
/// clock, no socket, no bytes: batches are tickets.
///
/// What makes it lose and repeat nothing:
/// - Batches of a run go out in order, over a connection that breaks rather than reconnects by itself: what
///   the host reads of them is a prefix of what was sent.
/// - A run's first batch may have any number, so on each new connection, and after each refusal, one batch
///   goes alone until it is taken. Else a lost first one would let the second be taken for the first.
/// - A number is never used for other events: once a batch is given up, the rest goes under a new run, which
///   makes the host refuse whatever of the old one is still on its way.
struct ProducerCore: Hashable, Sendable {
    struct Configuration: Hashable, Sendable {
        /// Batches sent and not answered.
        var window = 8
        /// Without an answer for so long, the connection is taken for dead.
        var replyTimeoutMs: Int64 = 5000
        /// Without any batch taken for so long, everything is given up; nil: never.
        var giveUpMs: Int64?
        var backoffFirstMs: Int64 = 20
        var backoffLastMs: Int64 = 2000
    }

    enum Effect: Hashable, Sendable {
        /// The host has it, or had taken it before (`duplicate`).
        case settled(ticket: UInt64, IngestReply.Outcome)
        /// Refused for good. `resolve(keep:)` must follow before anything else.
        case refused(ticket: UInt64, WireError)
        /// Close the socket and open a fresh one.
        case reconnect
        /// The producer is at its end: none of the batches that are left were taken for certain.
        case failed(WireError)
    }

    struct Sending: Hashable, Sendable {
        let ticket: UInt64
        let run: String
        let batch: UInt64
        /// Echoed by the host: tells an answer to this sending from one to an earlier.
        let id: UInt64
    }

    private struct Entry: Hashable {
        let ticket: UInt64
        var batch: UInt64
        /// Set while an answer to it is awaited.
        var sending: UInt64?
        var sentMs: Int64 = 0
        var isSettled = false
        var refusal: WireError?
    }

    let configuration: Configuration
    private(set) var run: String
    private(set) var failure: WireError?
    private var entries: [Entry] = []
    private var nextBatch: UInt64 = 1
    private var nextSending: UInt64 = 1
    private var isConnected = false
    /// One at a time until it is taken.
    private var isProbing = true
    private var attempts = 0
    private var backoffUntilMs: Int64 = 0
    private var lastProgressMs: Int64 = 0
    private var lastRefusal: WireError?
    /// A refusal that waits for `resolve`.
    private var isResolving = false
    private var random: SplitMix

    init(_ configuration: Configuration, seed: UInt64) {
        precondition(configuration.window > 0)
        self.configuration = configuration
        random = SplitMix(state: seed)
        run = random.name()
    }

    var isIdle: Bool { entries.isEmpty }
    var hasRoom: Bool { entries.count < configuration.window && failure == nil }

    // MARK: Inputs

    mutating func add(ticket: UInt64, now: Int64) {
        precondition(hasRoom, "more batches than the window")
        if entries.isEmpty { lastProgressMs = now }
        entries.append(Entry(ticket: ticket, batch: nextBatch))
        nextBatch += 1
    }

    /// A fresh connection stands.
    mutating func connected() {
        isConnected = true
        isProbing = true
    }

    /// The connection is gone, with whatever was on it.
    mutating func disconnected() {
        isConnected = false
        for index in entries.indices { entries[index].sending = nil }
    }

    mutating func answered(
        _ id: UInt64, _ outcome: IngestReply.Outcome, now: Int64, into effects: inout [Effect]
    ) {
        guard failure == nil, let index = entries.firstIndex(where: { $0.sending == id }) else { return }
        switch outcome {
        case .taken, .duplicate:
            entries[index].sending = nil
            entries[index].isSettled = true
            isProbing = false
            attempts = 0
            lastProgressMs = now
            lastRefusal = nil
            effects.append(.settled(ticket: entries[index].ticket, outcome))
            settle(into: &effects)
        case .refused(let error, let lastBatch):
            refused(index, error, lastBatch, now: now, into: &effects)
        }
    }

    /// Looks at the deadlines.
    mutating func tick(now: Int64, into effects: inout [Effect]) {
        guard failure == nil, !entries.isEmpty else { return }
        if let giveUpMs = configuration.giveUpMs, now - lastProgressMs >= giveUpMs {
            let silence = WireError(.noAnswer, "no host took anything for \(giveUpMs) ms", retryable: true)
            return fail(lastRefusal ?? silence, into: &effects)
        }
        let isSilent = entries.contains {
            $0.sending != nil && now - $0.sentMs >= configuration.replyTimeoutMs
        }
        if isSilent {
            disconnected()
            effects.append(.reconnect)
        }
    }

    /// Answers an effect `refused`: with `keep` the same ticket, its bad events taken out, goes again.
    mutating func resolve(keep: Bool, into effects: inout [Effect]) {
        precondition(isResolving, "nothing was refused")
        isResolving = false
        if keep { entries[0].refusal = nil } else { entries.removeFirst() }
        beginRun()
        settle(into: &effects)
    }

    // MARK: Outputs

    /// The next batch to send, if one may go.
    mutating func next(now: Int64) -> Sending? {
        guard isConnected, failure == nil, !isResolving, now >= backoffUntilMs, let index = nextToSend
        else { return nil }
        let id = nextSending
        nextSending += 1
        entries[index].sending = id
        entries[index].sentMs = now
        return Sending(ticket: entries[index].ticket, run: run, batch: entries[index].batch, id: id)
    }

    /// The first batch that waits to be sent. Nothing overtakes a refused one, and a probe goes alone.
    private var nextToSend: Int? {
        guard let index = entries.firstIndex(where: { !$0.isSettled && $0.sending == nil }),
            entries[index].refusal == nil, !isProbing || !entries.contains(where: { $0.sending != nil })
        else { return nil }
        return index
    }

    /// When `tick` or `next` may have something to do though nothing else happens.
    func deadline() -> Int64? {
        guard failure == nil, !entries.isEmpty else { return nil }
        var times: [Int64] = entries.compactMap { entry in
            entry.sending == nil ? nil : entry.sentMs + configuration.replyTimeoutMs
        }
        if isConnected, nextToSend != nil { times.append(backoffUntilMs) }
        if let giveUpMs = configuration.giveUpMs { times.append(lastProgressMs + giveUpMs) }
        return times.min()
    }

    // MARK: Decisions

    private mutating func refused(
        _ index: Int, _ error: WireError, _ lastBatch: UInt64?, now: Int64, into effects: inout [Effect]
    ) {
        for later in index..<entries.count where !entries[later].isSettled { entries[later].sending = nil }
        lastRefusal = error
        isProbing = true
        if error.code == .superseded {
            return fail(error, into: &effects)
        } else if error.code == .outOfOrder {
            // Expected behind a batch that was refused itself: it goes again after that one.
            let isBehind = entries[..<index].contains { !$0.isSettled && $0.sending == nil }
            if isBehind { return }
            if let lastBatch, index == 0, lastBatch + 1 < entries[0].batch {
                // The host has forgotten what it had acknowledged: those can't be sent again, the rest starts
                // afresh.
                return beginRun()
            }
            for other in entries.indices where !entries[other].isSettled { entries[other].sending = nil }
            backOff(now: now)
        } else if error.retryable {
            backOff(now: now)
        } else {
            entries[index].refusal = error
            settle(into: &effects)
        }
    }

    private mutating func backOff(now: Int64) {
        let bound = configuration.backoffFirstMs << min(attempts, 20)
        let delay = min(bound, configuration.backoffLastMs)
        attempts += 1
        backoffUntilMs = now + delay / 2 + Int64(random.next() % UInt64(delay / 2 + 1))
    }

    /// Lets go of what is settled, from the front; a refused batch there waits to be resolved.
    private mutating func settle(into effects: inout [Effect]) {
        while let first = entries.first, first.isSettled { entries.removeFirst() }
        guard !isResolving, let first = entries.first, let refusal = first.refusal else { return }
        isResolving = true
        effects.append(.refused(ticket: first.ticket, refusal))
    }

    private mutating func beginRun() {
        precondition(entries.allSatisfy { $0.sending == nil }, "a run ends with nothing on its way")
        run = random.name()
        isProbing = true
        entries.removeAll { $0.isSettled }
        for index in entries.indices { entries[index].batch = UInt64(index) + 1 }
        nextBatch = UInt64(entries.count) + 1
    }

    private mutating func fail(_ error: WireError, into effects: inout [Effect]) {
        failure = error
        entries = []
        effects.append(.failed(error))
    }
}

/// A small generator of random numbers, repeatable from its seed.
struct SplitMix: Hashable, Sendable, RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func name() -> String {
        let high = next()
        return LaunchID(high: high, low: next()).raw
    }
}
