import Wire

@testable import HoldgateHost

/// A supervisor's core and the processes that it thinks it has. Checks what must hold after every input.
struct World: Hashable {
    enum Input: Hashable {
        case command(String, PluginAction)
        case exit(String, isSuccess: Bool)
        /// Time goes on to when something is due.
        case due
        /// The folder: names, and the version of their manifests.
        case folder([String: String])
        case shutDown
    }

    private(set) var core: SupervisorCore
    private(set) var nowMs: Int64 = 1000
    private(set) var alive: Set<String> = []
    private(set) var terminated: Set<String> = []
    private(set) var unanswered: Set<UInt64> = []
    private(set) var finished = 0
    private(set) var problems: [String] = []
    /// Programs that can't be started.
    var broken: Set<String> = []
    private var lastID: UInt64 = 0
    private var lastPID: Int32 = 100
    /// Of the last input.
    private(set) var effects: [SupervisorCore.Effect] = []

    init(seed: UInt64 = 1) { core = SupervisorCore(seed: seed) }

    static func manifest(_ name: String, version: String = "1", restarts: Int = 2) -> PluginManifest {
        var manifest = PluginManifest(name: name, version: version, directory: "/p/\(name)", command: "./x")
        manifest.restart.crashLoopRestarts = restarts
        return manifest
    }

    /// Whether the input makes sense now.
    func takes(_ input: Input) -> Bool {
        switch input {
        case .exit(let name, _): alive.contains(name)
        case .due: core.nextTickMs != nil
        case .command, .folder, .shutDown: true
        }
    }

    mutating func apply(_ input: Input) {
        effects = []
        var waiting: [SupervisorCore.Effect] = []
        switch input {
        case .command(let name, let action):
            lastID += 1
            unanswered.insert(lastID)
            core.command(name, action, id: lastID, nowMs: nowMs, into: &waiting)
        case .exit(let name, let isSuccess):
            alive.remove(name)
            terminated.remove(name)
            core.exited(name, isSuccess: isSuccess, "it ended", nowMs: nowMs, into: &waiting)
        case .due:
            nowMs = max(nowMs, core.nextTickMs ?? nowMs)
            core.tick(nowMs: nowMs, into: &waiting)
        case .folder(let names):
            let manifests = names.sorted { $0.key < $1.key }.map { Self.manifest($0.key, version: $0.value) }
            core.manifests(manifests, nowMs: nowMs, into: &waiting)
        case .shutDown: core.shutDown(nowMs: nowMs, into: &waiting)
        }
        while !waiting.isEmpty { perform(waiting.removeFirst(), &waiting) }
        check()
    }

    private mutating func perform(
        _ effect: SupervisorCore.Effect, _ waiting: inout [SupervisorCore.Effect]
    ) {
        effects.append(effect)
        switch effect {
        case .spawn(let manifest):
            expect(core.shutdownSinceMs == nil, "a spawn after the shutdown")
            expect(!alive.contains(manifest.name), "two processes of one plugin")
            if broken.contains(manifest.name) {
                core.failedToSpawn(manifest.name, "broken", nowMs: nowMs, into: &waiting)
            } else {
                lastPID += 1
                alive.insert(manifest.name)
                core.spawned(manifest.name, pid: lastPID, nowMs: nowMs, into: &waiting)
            }
        case .signal(let name, .terminate):
            expect(alive.contains(name), "TERM to nothing")
            expect(terminated.insert(name).inserted, "TERM twice")
        case .signal(let name, .kill):
            expect(alive.contains(name) && terminated.contains(name), "KILL without TERM")
        case .report: break
        case .answer(let id, _): expect(unanswered.remove(id) != nil, "an answer to nobody")
        case .finished:
            finished += 1
            expect(alive.isEmpty, "finished while some run")
        }
    }

    private mutating func check() {
        for entry in core.entries {
            let name = entry.manifest.name
            switch entry.state {
            case .running:
                expect(alive.contains(name) && !terminated.contains(name), "\(name) should run")
                expect(entry.waiters.isEmpty, "nobody waits for what runs")
            case .stopping:
                expect(alive.contains(name) && terminated.contains(name), "\(name) should be ending")
            case .stopped, .backingOff, .crashLooping:
                expect(!alive.contains(name), "\(name) should not run")
                expect(entry.waiters.isEmpty, "nobody waits for what rests")
            case .starting: problems.append("\(name) is starting for ever")
            }
            if case .backingOff(let untilMs) = entry.state {
                expect((core.nextTickMs ?? .max) <= untilMs, "a backoff that nobody ends")
            }
        }
        expect(alive.isSubset(of: core.entries.map(\.manifest.name)), "a process that nobody knows")
        expect(
            finished == (core.shutdownSinceMs != nil && alive.isEmpty ? 1 : 0), "finished \(finished) times")
        if core.shutdownSinceMs != nil { expect(unanswered.isEmpty, "somebody waits at a shutdown") }
    }

    private mutating func expect(_ condition: Bool, _ problem: String) {
        if !condition { problems.append(problem) }
    }

    /// The first state's name, as the table has it.
    func state(_ name: String) -> String {
        switch core.entry(name)?.state {
        case nil: "gone"
        case .stopped: "stopped"
        case .starting: "starting"
        case .running: "running"
        case .backingOff: "backingOff"
        case .stopping(_, _, .stop): "stopping, then stop"
        case .stopping(_, _, .start): "stopping, then start"
        case .stopping(_, _, .remove): "stopping, then gone"
        case .crashLooping: "crashLooping"
        }
    }
}
