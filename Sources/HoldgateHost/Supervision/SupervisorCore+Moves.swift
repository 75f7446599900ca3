import Wire

// How one plugin goes from state to state. The table at `SupervisorCore` says where to.
extension SupervisorCore {
    func index(of name: String) -> Int? { entries.firstIndex { $0.manifest.name == name } }

    func expect(_ name: String) -> Int {
        guard let index = index(of: name) else { preconditionFailure("no plugin \(name)") }
        return index
    }

    /// Answers all who wait for this plugin.
    mutating func answer(_ index: Int, _ error: WireError?, into effects: inout [Effect]) {
        for waiter in entries[index].waiters { effects.append(.answer(waiter.id, error)) }
        entries[index].waiters = []
    }

    /// A stop ends what waits for a start, and the other way about.
    mutating func overtake(_ index: Int, _ action: PluginAction, into effects: inout [Effect]) {
        let overtaken = entries[index].waiters.filter { ($0.action == .stop) != (action == .stop) }
        let error = WireError(.conflict, "overtaken by a later \(action.rawValue)")
        for waiter in overtaken { effects.append(.answer(waiter.id, error)) }
        entries[index].waiters.removeAll { overtaken.contains($0) }
    }

    /// Spawns it.
    mutating func start(_ index: Int, into effects: inout [Effect]) {
        precondition(shutdownSinceMs == nil, "nothing starts at a shutdown")
        entries[index].state = .starting
        effects.append(.spawn(entries[index].manifest))
    }

    /// Somebody wants it to run, whatever became of it.
    private mutating func startAfresh(_ index: Int, cause: String, into effects: inout [Effect]) {
        entries[index].recentMs = []
        entries[index].failures = 0
        entries[index].cause = cause
        start(index, into: &effects)
    }

    mutating func begin(_ index: Int, cause: String, nowMs: Int64, into effects: inout [Effect]) {
        switch entries[index].state {
        case .stopped, .backingOff, .crashLooping: startAfresh(index, cause: cause, into: &effects)
        case .starting: preconditionFailure("an input between spawn and spawned")
        case .running: answer(index, nil, into: &effects)
        case .stopping(let pid, let deadlineMs, _):
            entries[index].cause = cause
            entries[index].state = .stopping(pid: pid, deadlineMs: deadlineMs, then: .start)
        }
    }

    /// As `begin`, but what runs is stopped first.
    mutating func again(_ index: Int, cause: String, nowMs: Int64, into effects: inout [Effect]) {
        guard case .running = entries[index].state else {
            return begin(index, cause: cause, nowMs: nowMs, into: &effects)
        }
        entries[index].cause = cause
        end(index, then: .start, nowMs: nowMs, into: &effects)
    }

    mutating func end(_ index: Int, then next: Next, nowMs: Int64, into effects: inout [Effect]) {
        switch entries[index].state {
        case .stopped: answer(index, nil, into: &effects)
        case .starting: preconditionFailure("an input between spawn and spawned")
        case .running(let pid, _):
            entries[index].recentMs = []
            entries[index].failures = 0
            terminate(index, pid, then: next, deadlineMs: nowMs + limits.graceMs, into: &effects)
        case .backingOff, .crashLooping:
            entries[index].state = .stopped
            effects.append(.report(entries[index].manifest.name, .stopped, reason: "it did not run"))
            answer(index, nil, into: &effects)
        case .stopping(let pid, let deadlineMs, _):
            entries[index].state = .stopping(pid: pid, deadlineMs: deadlineMs, then: next)
        }
    }

    private mutating func terminate(
        _ index: Int, _ pid: Int32, then next: Next, deadlineMs: Int64, into effects: inout [Effect]
    ) {
        entries[index].state = .stopping(pid: pid, deadlineMs: deadlineMs, then: next)
        effects.append(.signal(entries[index].manifest.name, .terminate))
    }

    /// It ended by itself: the policy decides.
    mutating func ended(
        _ index: Int, isSuccess: Bool, _ reason: String, nowMs: Int64, into effects: inout [Effect]
    ) {
        let policy = entries[index].manifest.restart
        let isWanted =
            switch policy.when {
            case .always: true
            case .onFailure: !isSuccess
            case .never: false
            }
        guard isWanted, shutdownSinceMs == nil else {
            entries[index].state = .stopped
            return
        }
        entries[index].recentMs.removeAll { nowMs - $0 >= policy.crashLoopWithinMs }
        guard entries[index].recentMs.count < policy.crashLoopRestarts else {
            entries[index].state = .crashLooping
            let text =
                "\(policy.crashLoopRestarts) restarts within \(policy.crashLoopWithinMs) ms; last: \(reason)"
            effects.append(.report(entries[index].manifest.name, .gaveUp, reason: text))
            return
        }
        entries[index].recentMs.append(nowMs)
        entries[index].cause = reason
        entries[index].state = .backingOff(
            untilMs: nowMs + backoffMs(policy, failures: entries[index].failures))
        entries[index].failures += 1
    }

    /// Half of it to all of it, so that plugins which died together don't come back together.
    private mutating func backoffMs(_ policy: RestartPolicy, failures: Int) -> Int64 {
        var delay = policy.backoffMs
        for _ in 0..<failures where delay < policy.maxBackoffMs { delay *= 2 }
        delay = min(delay, policy.maxBackoffMs)
        return delay - Int64(random.next() % UInt64(delay / 2 + 1))
    }

    // MARK: The folder

    mutating func change(
        _ index: Int, to manifest: PluginManifest, nowMs: Int64, into effects: inout [Effect]
    ) {
        let isSame = entries[index].manifest == manifest
        entries[index].manifest = manifest
        switch entries[index].state {
        case .stopping(let pid, let deadlineMs, .remove):
            entries[index].state = .stopping(pid: pid, deadlineMs: deadlineMs, then: .start)
        case .stopping(_, _, .start), .stopping(_, _, .stop), .stopped: break
        case .running, .backingOff, .crashLooping, .starting:
            if !isSame { again(index, cause: "its manifest has changed", nowMs: nowMs, into: &effects) }
        }
    }

    mutating func remove(_ index: Int, nowMs: Int64, into effects: inout [Effect]) {
        switch entries[index].state {
        case .running: end(index, then: .remove, nowMs: nowMs, into: &effects)
        case .stopping(let pid, let deadlineMs, _):
            answer(index, WireError(.conflict, "overtaken: its manifest is gone"), into: &effects)
            entries[index].state = .stopping(pid: pid, deadlineMs: deadlineMs, then: .remove)
        case .stopped, .starting, .backingOff, .crashLooping: drop(index, into: &effects)
        }
    }

    mutating func drop(_ index: Int, into effects: inout [Effect]) {
        effects.append(.report(entries[index].manifest.name, .removed, reason: "its manifest is gone"))
        entries.remove(at: index)
    }

    // MARK: The end

    /// Stops the next, once the one before has ended.
    mutating func shutDownNext(nowMs: Int64, into effects: inout [Effect]) {
        guard let sinceMs = shutdownSinceMs, !isFinished else { return }
        let endMs = sinceMs + limits.shutdownEndMs
        for index in entries.indices.reversed() {
            switch entries[index].state {
            case .stopping:
                if !isHurrying { return }
            case .running(let pid, _):
                let deadlineMs = isHurrying ? endMs : min(nowMs + limits.shutdownGraceMs, endMs)
                terminate(index, pid, then: .stop, deadlineMs: deadlineMs, into: &effects)
                if !isHurrying { return }
            case .stopped, .starting, .backingOff, .crashLooping: continue
            }
        }
        let isAnyLeft = entries.contains { if case .stopping = $0.state { true } else { false } }
        guard !isAnyLeft else { return }
        isFinished = true
        effects.append(.finished)
    }

    mutating func hurry(nowMs: Int64, into effects: inout [Effect]) {
        guard let sinceMs = shutdownSinceMs, !isHurrying, sinceMs + limits.shutdownHurryMs <= nowMs else {
            return
        }
        isHurrying = true
        shutDownNext(nowMs: nowMs, into: &effects)
    }
}

/// A small seeded generator: the same seed, the same backoffs.
struct SplitMix: Hashable, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
