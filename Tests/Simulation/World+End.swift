import Engine
import HoldgateHost
import Journal
import Lifecycle
import Simulator
import Wire

// The end of a world: the disk is well again, somebody starts, and everything that was promised comes true.
extension World {
    /// Turns until everything must have arrived.
    static let settleLimit = 500

    func settle() throws {
        isEnding = true
        storage.capacityBytes = .max
        storage.faults = [:]
        powerLossAt = nil
        for index in producers.indices { producers[index].left = 0 }
        note("the end begins")
        if host?.hasFailed == true { try die("the host has failed") }
        try settleProviders()
        for _ in 0..<Self.settleLimit {
            judge.passStep()
            if host?.engine.status.state == .killed { try beginAgain() }
            try turn()
            if isSettled {
                try askAll()
                return try check()
            }
        }
        throw Verdict("nothing comes to an end: \(whatIsLeft)")
    }

    /// Only a new launch goes on after a kill.
    private func beginAgain() throws {
        host?.stop(now)
        try takeOutputs()
        guard host?.engine.status.state == .killed else { return }
        storage.restart()
        host = nil
        clients = [:]
        messages = []
        for index in collectors.indices { collectors[index].disconnect() }
        for index in providers.indices { disconnectProvider(index) }
        var options = LaunchOptions()
        options.newLaunch = true
        try bringUp(options: options)
    }

    private func turn() throws {
        try pass(20)
        for index in people.indices {
            if people[index].request != nil {
                decide(index)
            } else if index == 0, host?.engine.status.state != .operating {
                let request = ControlRequest(.startOperation(leaseMs: nil), source: people[0].name)
                people[0].request = request
                send(0, request)
            }
        }
        for index in producers.indices {
            for place in producers[index].pending.indices {
                let sentAtMs = producers[index].pending[place].sentAtMs
                if sentAtMs.map({ monotonicMs - $0 > 150 }) ?? true { send(index, place) }
            }
        }
        while !messages.isEmpty { try readMessage() }
        while let host, host.hasJobs || host.hasNotes {
            try disk()
            try hear()
        }
        try handOver(limit: 50)
        for index in collectors.indices {
            try collect(index)
            try collect(index)
        }
        for index in providers.indices { try serve(index) }
    }

    private var isSettled: Bool {
        guard let host, host.engine.status.state == .operating, host.engine.isOnDisk, host.engine.isIdle
        else {
            return false
        }
        return producers.allSatisfy(\.pending.isEmpty) && messages.isEmpty && clients.isEmpty
            && people.allSatisfy { $0.request == nil } && host.engine.pending == 0
            && host.engine.nextPublication == nil
            && collectors.allSatisfy { $0.inbox.isEmpty && $0.unacked == nil && $0.peer != nil }
            && host.engine.gate.admits && providers.allSatisfy { $0.isWelcome && $0.inbox.isEmpty }
    }

    private var whatIsLeft: String {
        guard let host else { return "no host" }
        return "\(host.engine.status.state), \(host.engine.pending) pending, \(clients.count) unanswered, "
            + "\(producers.map(\.pending.count)) batches, \(collectors.map { $0.unacked?.raw ?? 0 }) unacked"
    }

    // MARK: The history

    /// What the history says of a launch.
    private struct Told {
        var transitions: [HistoryRecord] = []
    }

    private func check() throws {
        var told: [LaunchID: Told] = [:]
        var dropped: [SeqRange] = []
        var killedThrough = JournalSeq.zero
        var keys: Set<String> = []
        var folded = RecoveredHistory()
        var failure: Verdict?
        do {
            let history = try History.open(storage: storage, rotateBytes: historyRotateBytes) {
                (record) throws(FormatFault) in
                try folded.apply(record)
                let draft = record.draft
                if draft.isTransition { told[draft.launch, default: Told()].transitions.append(record) }
                if draft.state == .killed { killedThrough = max(killedThrough, draft.through) }
                let extras = try HistoryExtras(draft.extra, source: draft.source)
                if let key = extras.remembered?.key,
                    !keys.insert("\(draft.launch) \(draft.source ?? "") \(key)").inserted
                {
                    failure = Verdict("\(key) was executed twice")
                }
                if let through = extras.discardedThrough, let closed = folded.lifecycle?.closedThrough,
                    let range = SeqRange(first: closed.next, through: through)
                {
                    dropped.append(range)
                }
            }
            withExtendedLifetime(history) {}
        } catch {
            throw Verdict("the history does not verify: \(error)")
        }
        if let failure { throw failure }
        for delivery in judge.deliveries {
            try check(delivery, told[delivery.launch]?.transitions ?? [])
            for seq in delivery.seqs where dropped.contains(where: { $0.contains(seq) }) {
                throw Verdict("\(seq) was handed over, and a hold had dropped it")
            }
        }
        let isAging = configuration.gatedMaxAgeMs > 0
        judge.excuse { event in
            if isAging, event.wasGated { return true }
            guard let seq = event.seq else { return false }
            return seq <= killedThrough || dropped.contains { $0.contains(seq) }
        }
        try judge.settle(collectors.filter(\.isDurable).map { ($0.name, $0.wants, $0.store) })
    }

    /// The transition that a delivery names had the gate open for all of it.
    private func check(
        _ delivery: (launch: LaunchID, under: TransitionSeq, seqs: [JournalSeq]),
        _ transitions: [HistoryRecord]
    ) throws {
        let after = transitions.drop { $0.draft.seq < delivery.under }
        guard let opening = after.first, opening.draft.seq == delivery.under,
            opening.draft.state == .operating
        else {
            throw Verdict("\(delivery.seqs) were handed over under \(delivery.under), which opened nothing")
        }
        guard let closing = after.first(where: { $0.draft.state != .operating }) else { return }
        if let late = delivery.seqs.first(where: { $0 > closing.draft.through }) {
            throw Verdict(
                "\(late) was handed over under \(delivery.under), which closed at \(closing.draft.through)")
        }
    }
}
