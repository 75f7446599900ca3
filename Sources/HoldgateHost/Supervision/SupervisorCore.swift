import Wire

/// What decides about the plugins that the host starts: a value without process, clock or file.
///
/// | state \ input | start | stop | restart | exited | due | manifest changed | manifest gone |
/// |---|---|---|---|---|---|---|---|
/// | stopped | spawn | – | spawn | | | – | gone |
/// | running | – | TERM → stopping | TERM → stopping, then start | policy: backingOff, crashLooping, stopped | | as restart | TERM → stopping, then gone |
/// | backingOff | spawn | → stopped | spawn | | spawn | spawn | gone |
/// | stopping | then start | then stop | then start | → stopped, spawn, or gone | KILL | then start, if it was to go on | then gone |
/// | crashLooping | spawn | → stopped | spawn | | | spawn | gone |
///
/// `starting` lasts only from the effect `spawn` to `spawned` or `failedToSpawn`, which the edge says
/// before it gives any
/// other input. A command is answered when what it asked for is so. A shutdown stops the last started first.
struct SupervisorCore: Hashable, Sendable {
    enum State: Hashable, Sendable {
        case stopped
        case starting
        case running(pid: Int32, sinceMs: Int64)
        case backingOff(untilMs: Int64)
        /// TERM was sent, and KILL is at `deadlineMs`; then nothing is due any more (nil).
        case stopping(pid: Int32, deadlineMs: Int64?, then: Next)
        case crashLooping
    }

    /// What comes after `stopping`.
    enum Next: Hashable, Sendable {
        case stop
        case start
        case remove
    }

    enum Signal: Hashable, Sendable {
        case terminate
        case kill
    }

    enum Change: Hashable, Sendable {
        case started(pid: Int32)
        /// By the policy, by a command, or because its manifest has changed.
        case restarted(pid: Int32)
        case exited
        case failedToStart
        case stopped
        case gaveUp
        case removed
    }

    /// Whoever gave a command.
    struct Waiter: Hashable, Sendable {
        let id: UInt64
        let action: PluginAction
    }

    enum Effect: Hashable, Sendable {
        /// Start it now, and say `spawned` or `failedToSpawn`.
        case spawn(PluginManifest)
        case signal(String, Signal)
        /// For the log and the bus.
        case report(String, Change, reason: String?)
        /// The command is done (nil) or refused.
        case answer(UInt64, WireError?)
        /// Nothing runs any more, and nothing will.
        case finished
    }

    struct Entry: Hashable, Sendable {
        var manifest: PluginManifest
        var state = State.stopped
        /// Restarts since the host came up, by the policy or by command.
        var restarts: UInt64 = 0
        /// It was started before: the next start is a restart.
        var wasStarted = false
        /// When the policy restarted it, within `crashLoopWithinMs`.
        var recentMs: [Int64] = []
        /// Doublings of the backoff.
        var failures = 0
        /// Why it is started again.
        var cause: String?
        var waiters: [Waiter] = []
    }

    struct Limits: Hashable, Sendable {
        /// From TERM to KILL, when one is stopped.
        var graceMs: Int64 = 3000
        /// The same for each at a shutdown, when the others wait for it.
        var shutdownGraceMs: Int64 = 1000
        /// After so long all that still run get TERM at a shutdown…
        var shutdownHurryMs: Int64 = 2500
        /// … and KILL.
        var shutdownEndMs: Int64 = 3500
    }

    /// In the order in which they are started.
    var entries: [Entry] = []
    var shutdownSinceMs: Int64?
    /// Those that still run at a shutdown stop all at once now.
    var isHurrying = false
    var isFinished = false
    let limits: Limits
    var random: SplitMix

    init(seed: UInt64, limits: Limits = Limits()) {
        random = SplitMix(state: seed)
        self.limits = limits
    }

    func entry(_ name: String) -> Entry? { entries.first { $0.manifest.name == name } }

    // MARK: Inputs

    /// The folder as it is now: what is new is started, what has changed restarted, what is gone
    /// stopped; the rest is
    /// not touched.
    ///
    /// - Parameter kept: names whose manifest can't be read now: they go on as they are.
    mutating func manifests(
        _ manifests: [PluginManifest], keeping kept: Set<String> = [], nowMs: Int64,
        into effects: inout [Effect]
    ) {
        guard shutdownSinceMs == nil else { return }
        let names = Set(manifests.map(\.name))
        for index in entries.indices.reversed()
        where !names.contains(entries[index].manifest.name) && !kept.contains(entries[index].manifest.name) {
            remove(index, nowMs: nowMs, into: &effects)
        }
        for manifest in manifests {
            if let index = index(of: manifest.name) {
                change(index, to: manifest, nowMs: nowMs, into: &effects)
            } else {
                entries.append(Entry(manifest: manifest))
                start(entries.count - 1, into: &effects)
            }
        }
    }

    mutating func spawned(_ name: String, pid: Int32, nowMs: Int64, into effects: inout [Effect]) {
        let index = expect(name)
        guard case .starting = entries[index].state else { preconditionFailure("\(name) was not starting") }
        entries[index].state = .running(pid: pid, sinceMs: nowMs)
        let isRestart = entries[index].wasStarted
        entries[index].wasStarted = true
        if isRestart { entries[index].restarts += 1 }
        let cause = entries[index].cause
        entries[index].cause = nil
        effects.append(
            .report(name, isRestart ? .restarted(pid: pid) : .started(pid: pid), reason: cause))
        answer(index, nil, into: &effects)
    }

    mutating func failedToSpawn(
        _ name: String, _ problem: String, nowMs: Int64, into effects: inout [Effect]
    ) {
        let index = expect(name)
        guard case .starting = entries[index].state else { preconditionFailure("\(name) was not starting") }
        effects.append(.report(name, .failedToStart, reason: problem))
        answer(
            index, WireError(.serviceUnavailable, "\(name) could not be started: \(problem)"), into: &effects)
        ended(index, isSuccess: false, "it could not be started: \(problem)", nowMs: nowMs, into: &effects)
    }

    mutating func exited(
        _ name: String, isSuccess: Bool, _ reason: String, nowMs: Int64, into effects: inout [Effect]
    ) {
        let index = expect(name)
        switch entries[index].state {
        case .running(_, let sinceMs):
            if nowMs - sinceMs >= entries[index].manifest.restart.crashLoopWithinMs {
                entries[index].failures = 0
            }
            effects.append(.report(name, .exited, reason: reason))
            ended(index, isSuccess: isSuccess, reason, nowMs: nowMs, into: &effects)
        case .stopping(_, _, let next):
            effects.append(.report(name, .stopped, reason: reason))
            entries[index].state = .stopped
            switch next {
            case .stop: answer(index, nil, into: &effects)
            case .start: start(index, into: &effects)
            case .remove: drop(index, into: &effects)
            }
        case .stopped, .starting, .backingOff, .crashLooping:
            preconditionFailure("\(name) ended and did not run")
        }
        if shutdownSinceMs != nil { shutDownNext(nowMs: nowMs, into: &effects) }
    }

    /// Does what is due.
    mutating func tick(nowMs: Int64, into effects: inout [Effect]) {
        for index in entries.indices {
            switch entries[index].state {
            case .backingOff(let untilMs):
                if untilMs <= nowMs { start(index, into: &effects) }
            case .stopping(let pid, let deadlineMs?, let next):
                guard deadlineMs <= nowMs else { continue }
                entries[index].state = .stopping(pid: pid, deadlineMs: nil, then: next)
                effects.append(.signal(entries[index].manifest.name, .kill))
            case .stopping(_, nil, _), .stopped, .starting, .running, .crashLooping: continue
            }
        }
        hurry(nowMs: nowMs, into: &effects)
    }

    /// When `tick` is due next; nil: nothing is.
    var nextTickMs: Int64? {
        var next: Int64?
        func consider(_ time: Int64) { next = min(next ?? time, time) }
        for entry in entries {
            switch entry.state {
            case .backingOff(let untilMs): consider(untilMs)
            case .stopping(_, let deadlineMs?, _): consider(deadlineMs)
            case .stopping(_, nil, _), .stopped, .starting, .running, .crashLooping: break
            }
        }
        if let shutdownSinceMs, !isFinished, !isHurrying {
            consider(shutdownSinceMs + limits.shutdownHurryMs)
        }
        return next
    }

    mutating func command(
        _ name: String, _ action: PluginAction, id: UInt64, nowMs: Int64, into effects: inout [Effect]
    ) {
        guard shutdownSinceMs == nil else {
            return effects.append(
                .answer(id, WireError(.shuttingDown, "the host is stopping", retryable: true)))
        }
        guard let index = index(of: name), !isBeingRemoved(index) else {
            let error = WireError(
                .invalidArgument,
                "the host started no plugin \(name): only those it started can be told to \(action.rawValue)")
            return effects.append(.answer(id, error))
        }
        overtake(index, action, into: &effects)
        entries[index].waiters.append(Waiter(id: id, action: action))
        switch action {
        case .start: begin(index, cause: "start was asked for", nowMs: nowMs, into: &effects)
        case .restart: again(index, cause: "a restart was asked for", nowMs: nowMs, into: &effects)
        case .stop: end(index, then: .stop, nowMs: nowMs, into: &effects)
        }
    }

    private func isBeingRemoved(_ index: Int) -> Bool {
        if case .stopping(_, _, .remove) = entries[index].state { true } else { false }
    }

    /// Stops all, the last started first, and starts nothing more.
    mutating func shutDown(nowMs: Int64, into effects: inout [Effect]) {
        guard shutdownSinceMs == nil else { return }
        shutdownSinceMs = nowMs
        for index in entries.indices {
            answer(
                index, WireError(.shuttingDown, "the host is stopping", retryable: true), into: &effects)
            switch entries[index].state {
            case .stopping(let pid, let deadlineMs, _):
                let latest = nowMs + limits.shutdownGraceMs
                entries[index].state = .stopping(
                    pid: pid, deadlineMs: deadlineMs.map { min($0, latest) }, then: .stop)
            case .backingOff: entries[index].state = .stopped
            case .stopped, .starting, .running, .crashLooping: break
            }
        }
        shutDownNext(nowMs: nowMs, into: &effects)
    }
}
