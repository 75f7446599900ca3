import Access
import Ledger
import Lifecycle
import Wire

// Requests on `control`: lifecycle commands go on to `Engine+Commands`, queries are answered here.
extension Engine {
    ///
    /// - Parameter caller: where the host asks for keys, the request's `source` is its name, or goes on after that
    ///   with `/`, whatever else it said.
    public mutating func handle(
        _ request: ControlRequest, from requester: Requester, by caller: Caller = .anybody, now: Now,
        into effects: inout [Effect]
    ) {
        statistics.requests += 1
        var request = request
        if let name = caller.name, !caller.owns(request.source ?? "") { request.source = name }
        guard isAllowed(request, requester, caller, now: now, into: &effects) else { return }
        guard request.gate.isEmpty else {
            let path = request.gate.joined(separator: "/")
            let error = WireError(
                .unknownGate, "there is no gate \(path): this host serves its own alone, []")
            return refuse(request, requester, error, into: &effects)
        }
        if let intent = intent(of: request.command) {
            return take(intent, request, from: requester, now: now, into: &effects)
        }
        query(request, requester, now: now, into: &effects)
    }

    /// What a lifecycle command wants; nil for the others.
    private func intent(of command: ControlCommand) -> Intent? {
        switch command {
        case .startOperation(let leaseMs): .start(leaseMs: leaseMs)
        case .holdOperation(let waitMs, let policy): .hold(.holdOperation, waitMs: waitMs, policy: policy)
        case .kill: .kill
        case .initialize, .initializeWithHoldingOperations: .noOp
        case .endLaunch(let restart): .endLaunch(restart: restart)
        case .state, .isOperating, .ping, .commands, .configuration, .configure, .history, .plugins, .forget,
            .deadLetters, .requeue, .stats, .request, .plugin, .appLifecycle, .reload:
            nil
        }
    }

    private mutating func query(
        _ request: ControlRequest, _ requester: Requester, now: Now, into effects: inout [Effect]
    ) {
        switch request.command {
        case .state: reply(request, requester, stateMembers(now: now), into: &effects)
        case .isOperating, .ping: reply(request, requester, [], into: &effects)
        case .commands:
            let names = ControlCommand.names.map { JSONValue.string($0) }
            reply(request, requester, [.init("commands", .array(names))], into: &effects)
        case .configuration:
            reply(request, requester, [.init("configuration", internalConfiguration)], into: &effects)
        case .plugins: reply(request, requester, [.init("plugins", pluginRows(now: now))], into: &effects)
        case .stats: reply(request, requester, statisticsMembers(now: now), into: &effects)
        case .configure(let patch): configure(request, patch, requester, into: &effects)
        case .forget(let name): forget(request, name, requester, now: now, into: &effects)
        case .history(let after, let limit):
            lookUp(.history(after: after, limit: limit), request, requester, into: &effects)
        case .deadLetters(let after, let limit):
            lookUp(.deadLetters(after: after, limit: limit), request, requester, into: &effects)
        case .request: route(request, requester, now: now, into: &effects)
        case .appLifecycle: takeReport(request, requester, now: now, into: &effects)
        case .plugin(let name, let action):
            let reply = ControlReply(id: request.id, status: status)
            effects.append(.supervise(requester, reply, name: name, action))
        case .requeue(let seqs): requeue(request, seqs, requester, into: &effects)
        case .reload: effects.append(.reload(requester, ControlReply(id: request.id, status: status)))
        case .startOperation, .holdOperation, .kill, .initialize, .initializeWithHoldingOperations,
            .endLaunch:
            preconditionFailure("lifecycle commands are taken elsewhere")
        }
    }

    private func reply(
        _ request: ControlRequest, _ requester: Requester, _ members: [JSONValue.Member],
        into effects: inout [Effect]
    ) {
        effects.append(.reply(requester, ControlReply(id: request.id, status: status, members: members)))
    }

    private func lookUp(
        _ lookUp: LookUp, _ request: ControlRequest, _ requester: Requester, into effects: inout [Effect]
    ) {
        effects.append(.lookUp(lookUp, requester, ControlReply(id: request.id, status: status)))
    }

    // MARK: Commands that change something beside the lifecycle

    private mutating func configure(
        _ request: ControlRequest, _ patch: String, _ requester: Requester, into effects: inout [Effect]
    ) {
        if isKilledOrMayBe(request, requester, into: &effects) { return }
        // However large they are, one may always come.
        let waiting = configurationChanges.reduce(0) { $0 + $1.byteCount }
        guard configurationChanges.count < Self.configurationChangeLimit,
            waiting == 0 || waiting + patch.utf8.count <= Self.configurationChangeBytes
        else {
            let error = WireError(.overloaded, "too many changes wait for the disk", retryable: true)
            return refuse(request, requester, error, into: &effects)
        }
        do {
            let byteCount = patch.utf8.count
            let patch = try JSONValue.parse(patch)
            configurationChanges.append(
                ConfigurationChange(
                    patch: patch, byteCount: byteCount, requester: requester, id: request.id))
        } catch {
            return refuse(request, requester, error, into: &effects)
        }
        if configurationChanges.count == 1 { writeConfiguration(into: &effects) }
    }

    /// Changes that may wait for the one before them, and the bytes of their patches.
    static let configurationChangeLimit = 1024
    static let configurationChangeBytes = 8 << 20

    /// Writes the oldest change; one at a time, so that none builds on one that found no room.
    private mutating func writeConfiguration(into effects: inout [Effect]) {
        while let change = configurationChanges.first {
            let merged = internalConfiguration.merging(patch: change.patch)
            let byteCount = merged.text.utf8.count
            if byteCount <= configuration.maxConfigurationBytes {
                awaiting.append(persist(.configuration(merged), into: &effects), .configuration(merged))
                return
            }
            let error = WireError(
                .tooLarge,
                "the configuration would have \(byteCount) bytes; at most "
                    + "\(configuration.maxConfigurationBytes) are kept")
            endChange(error, into: &effects)
        }
    }

    /// The oldest change is on disk, or failed.
    mutating func configurationWritten(
        _ new: JSONValue, _ error: WireError?, into effects: inout [Effect]
    ) {
        // Whoever gave up on the disk has answered all.
        guard !configurationChanges.isEmpty else { return }
        if error == nil { internalConfiguration = new }
        endChange(error, into: &effects)
        writeConfiguration(into: &effects)
    }

    private mutating func endChange(_ error: WireError?, into effects: inout [Effect]) {
        let change = configurationChanges.removeFirst()
        let members = [JSONValue.Member("configuration", internalConfiguration)]
        effects.append(
            .reply(
                change.requester,
                ControlReply(
                    id: change.id, status: status, members: error == nil ? members : [], error: error)))
    }

    /// Nothing more is changed.
    mutating func refuseConfigurationChanges(_ error: WireError, into effects: inout [Effect]) {
        while !configurationChanges.isEmpty { endChange(error, into: &effects) }
    }

    /// After a kill there is nothing to change. While one was read and is not on disk the answer would show it: it
    /// comes once that is settled.
    private mutating func isKilledOrMayBe(
        _ request: ControlRequest, _ requester: Requester, into effects: inout [Effect]
    ) -> Bool {
        if shown.state == .killed {
            refuse(request, requester, Self.notOperating(.killed), into: &effects)
        } else if gate != .dead {
            return false
        } else if isStopping {
            refuse(request, requester, Self.stoppingError, into: &effects)
        } else if unwritten != nil {
            refuse(request, requester, Self.closedInMemory, into: &effects)
        } else if undecidedChanges.count >= Self.undecidedChangeLimit {
            let error = WireError(.overloaded, "too many changes wait for the disk", retryable: true)
            refuse(request, requester, error, into: &effects)
        } else {
            undecidedChanges.append(UndecidedChange(request: request, requester: requester))
        }
        return true
    }

    /// Changes, a mebibyte each at most, that may wait for a kill to be written.
    static let undecidedChangeLimit = 16

    /// A kill that was read has come to nothing.
    mutating func settleChanges(now: Now, into effects: inout [Effect]) {
        guard gate != .dead else { return }
        let waiting = undecidedChanges
        undecidedChanges = []
        for each in waiting { query(each.request, each.requester, now: now, into: &effects) }
    }

    mutating func refuseChanges(_ error: WireError, into effects: inout [Effect]) {
        let waiting = undecidedChanges
        undecidedChanges = []
        for each in waiting { refuse(each.request, each.requester, error, into: &effects) }
    }

    private mutating func forget(
        _ request: ControlRequest, _ name: String, _ requester: Requester, now: Now,
        into effects: inout [Effect]
    ) {
        guard durable[name] != nil else {
            let error = WireError(
                .invalidArgument, "no durable collector \(name) is known; `plugins` lists them")
            return refuse(request, requester, error, into: &effects)
        }
        drop(name, command: "forget", reason: "forgotten", request, requester, now: now, into: &effects)
    }

    /// A durable collector is no longer waited or kept for.
    mutating func drop(
        _ name: String, command: String, reason: String, _ request: ControlRequest?, _ requester: Requester?,
        now: Now,
        into effects: inout [Effect]
    ) {
        if let peer = holder(of: name) {
            let error = WireError(.superseded, "\(name) was \(reason): it is no longer kept for")
            effects.append(.send(peer, .refused(error)))
            detach(peer, change: nil, reason: nil, into: &effects)
        }
        durable[name] = nil
        drain?.names.remove(name)
        forgetDone()
        note(.forgotten(collector: name), into: &effects)
        if command == "evicted" { statistics.collectorsEvicted += 1 }
        report(name, command == "evicted" ? .evicted : .detached, reason, into: &effects)
        var facts = RecordFacts()
        facts.collector = name
        take(.note(command: command, facts), request, from: requester, now: now, into: &effects)
        checkDrain(now: now, into: &effects)
    }

    private mutating func requeue(
        _ request: ControlRequest, _ seqs: [UInt64], _ requester: Requester, into effects: inout [Effect]
    ) {
        if isKilledOrMayBe(request, requester, into: &effects) { return }
        guard !isHalted else {
            return refuse(request, requester, Self.storageFull, into: &effects)
        }
        guard !isRequeueing else {
            let error = WireError(.overloaded, "another requeue is under way; send it again", retryable: true)
            return refuse(request, requester, error, into: &effects)
        }
        isRequeueing = true
        effects.append(.requeue(requester, id: request.id, seqs))
    }

    /// Dead letters, read back, go to the queue's end: like a producer's block, but whatever the gate's policy is they
    /// are kept.
    public mutating func admitRequeued(
        _ summary: BlockSummary, _ batch: ProducerBatch, from requester: Requester, id: String?, now: Now,
        into effects: inout [Effect]
    ) -> Admission {
        // The gate may have been killed, or the disk have filled up, while they were read.
        if let refusal = refusalBeforeAnything() {
            effects.append(.endRequeue(batch, isTaken: false))
            refuseRequeued(requester, id: id, refusal, into: &effects)
            return .settled
        }
        return commit(summary, batch, isGated: !gate.admits, now: now, into: &effects) {
            .requeued($0, batch, requester, id: id)
        }
    }

    /// They could not be read back.
    public mutating func refuseRequeued(
        _ requester: Requester, id: String?, _ error: WireError, into effects: inout [Effect]
    ) {
        isRequeueing = false
        effects.append(.reply(requester, ControlReply(id: id, status: status, error: error)))
    }

    /// Their block is on disk, or found no room there.
    mutating func endRequeue(
        _ stamp: BlockStamp, _ batch: ProducerBatch, _ requester: Requester, _ id: String?,
        _ error: WireError?,
        into effects: inout [Effect]
    ) {
        effects.append(.endRequeue(batch, isTaken: error == nil))
        if let error { return refuseRequeued(requester, id: id, error, into: &effects) }
        isRequeueing = false
        let members = [JSONValue.Member("requeued", .uint(stamp.range.count))]
        effects.append(.reply(requester, ControlReply(id: id, status: status, members: members)))
    }
}
