// Plugins that the host starts itself. `SupervisorCore` decides, as a value; `Supervisor` owns the
// processes on one
// thread of its own, which never makes the reactor wait. The thread lasts as long as the host: the kernel
// ends each plugin when
// the thread that started it ends, and so none outlives a host that is killed with -9.
import Engine
import Glibc
import Platform
import Wire
import ZeroMQ

/// What the supervisor tells the reactor.
enum SupervisionNote: Sendable {
    /// All plugins, as they are now; comes before the answers that it explains.
    case table([SupervisedPlugin])
    case report(String, PluginBody.Change, reason: String?)
    case answer(UInt64, WireError?)
}

/// The face of the supervisor's thread.
final class Supervisor: Sendable {
    enum Order: Sendable {
        case command(id: UInt64, name: String, PluginAction)
        /// Read the folder again.
        case reload
        case shutDown
    }

    private let inbox: Inbox<Order>
    private let thread: Locked<ThreadHandle?>

    /// Starts the thread and all plugins.
    ///
    /// - Throws: what is wrong with the folder. A wrong manifest keeps only its own plugin from being
    /// started, and is said
    ///   in the log.
    init(
        folder: PluginFolder, environment: PluginEnvironment, log: Logger, seed: UInt64,
        tell: @escaping @Sendable (SupervisionNote) -> Void
    ) throws {
        let inbox = try Inbox<Order>()
        let contents = try folder.read()
        self.inbox = inbox
        thread = Locked(
            try Thread.spawn(name: "supervisor") {
                var loop = SupervisorLoop(
                    folder: folder, environment: environment, log: log, inbox: inbox, seed: seed, tell: tell)
                loop.run(contents)
            })
    }

    deinit { inbox.post(.shutDown) }

    /// Never blocks; any thread.
    func order(_ order: Order) { inbox.post(order) }

    /// Stops all plugins, and waits until they are gone.
    func end() {
        inbox.post(.shutDown)
        let handle = thread.withLock { (handle: inout sending ThreadHandle?) -> sending ThreadHandle? in
            handle.take()
        }
        if let handle { handle.join() }
    }
}

/// What the supervisor's thread has in hand.
struct SupervisorLoop {
    /// One running plugin.
    private struct Running {
        let child: ChildProcess
        var lines = OutputLines()
        var isOutputOpen = true
    }

    /// Bytes that are read from one plugin a turn.
    private static let bytesPerTurn = 64 << 10
    /// And at its end: the pipe holds no more.
    private static let bytesAtEnd = 1 << 20

    private let folder: PluginFolder
    private let environment: PluginEnvironment
    private let log: Logger
    private let inbox: Inbox<Supervisor.Order>
    private let tell: @Sendable (SupervisionNote) -> Void
    private var core: SupervisorCore
    private var running: [String: Running] = [:]
    private var effects: [SupervisorCore.Effect] = []
    private var orders: [Supervisor.Order] = []
    private var told: [SupervisedPlugin] = []
    private var isFinished = false

    init(
        folder: PluginFolder, environment: PluginEnvironment, log: Logger, inbox: Inbox<Supervisor.Order>,
        seed: UInt64, tell: @escaping @Sendable (SupervisionNote) -> Void
    ) {
        self.folder = folder
        self.environment = environment
        self.log = log
        self.inbox = inbox
        self.tell = tell
        core = SupervisorCore(seed: seed)
    }

    mutating func run(_ contents: PluginFolder.Contents) {
        take(contents)
        while !isFinished { turn() }
    }

    private mutating func turn() {
        let names = running.keys.sorted()
        var polls = PollSet()
        polls.add(fileDescriptor: inbox.fileDescriptor)
        for name in names {
            polls.add(fileDescriptor: running[name]?.child.exitDescriptor ?? -1)
            let isOpen = running[name]?.isOutputOpen ?? false
            polls.add(fileDescriptor: isOpen ? running[name]?.child.output ?? -1 : -1)
        }
        let due = core.nextTickMs.map { max(0, $0 - Clock.monotonicMs()) }
        do throws(ZeroMQError) {
            _ = try polls.wait(timeoutMs: due.map { Int(min($0, 60_000)) } ?? -1)
        } catch {
            preconditionFailure("poll of descriptors that are ours: \(error)")
        }
        inbox.takeAll(into: &orders)
        for order in orders { take(order) }
        for name in names {
            readOutput(of: name, limit: Self.bytesPerTurn)
            takeExit(of: name)
        }
        core.tick(nowMs: Clock.monotonicMs(), into: &effects)
        perform()
    }

    private mutating func take(_ order: Supervisor.Order) {
        let nowMs = Clock.monotonicMs()
        switch order {
        case .command(let id, let name, let action):
            core.command(name, action, id: id, nowMs: nowMs, into: &effects)
        case .reload:
            do {
                take(try folder.read())
            } catch {
                log.log(.error, "the plugins are left as they are", [.init("error", .string("\(error)"))])
            }
        case .shutDown: core.shutDown(nowMs: nowMs, into: &effects)
        }
        perform()
    }

    private mutating func take(_ contents: PluginFolder.Contents) {
        for (name, problem) in contents.problems {
            log.log(
                .error, "a manifest is not taken",
                [.init("plugin", .string(name)), .init("error", .string(problem))])
        }
        core.manifests(
            contents.manifests, keeping: Set(contents.problems.map(\.name)), nowMs: Clock.monotonicMs(),
            into: &effects)
        perform()
    }

    // MARK: Effects

    private mutating func perform() {
        var later: [SupervisionNote] = []
        while !effects.isEmpty {
            let batch = effects
            effects = []
            for effect in batch { perform(effect, &later) }
        }
        let table = core.entries.map { SupervisedPlugin($0) }
        if table != told {
            told = table
            tell(.table(table))
        }
        for note in later { tell(note) }
    }

    private mutating func perform(_ effect: SupervisorCore.Effect, _ notes: inout [SupervisionNote]) {
        switch effect {
        case .spawn(let manifest): spawn(manifest)
        case .signal(let name, let signal):
            running[name]?.child.signalGroup(signal == .kill ? SIGKILL : SIGTERM)
        case .report(let name, let change, let reason): report(name, change, reason, &notes)
        case .answer(let id, let error): notes.append(.answer(id, error))
        case .finished: isFinished = true
        }
    }

    private mutating func spawn(_ manifest: PluginManifest) {
        let name = manifest.name
        do {
            guard let order = try environment.order(manifest) else {
                let problem = "no program \(manifest.command): not in its folder, beside the host, or in PATH"
                return core.failedToSpawn(name, problem, nowMs: Clock.monotonicMs(), into: &effects)
            }
            let child = try ChildProcess.spawn(order)
            running[name] = Running(child: child)
            core.spawned(name, pid: child.pid, nowMs: Clock.monotonicMs(), into: &effects)
        } catch {
            core.failedToSpawn(
                name, "\(manifest.command): \(error)", nowMs: Clock.monotonicMs(), into: &effects)
        }
    }

    private func report(
        _ name: String, _ change: SupervisorCore.Change, _ reason: String?, _ notes: inout [SupervisionNote]
    ) {
        var fields: [JSONValue.Member] = [.init("plugin", .string(name))]
        if let reason { fields.append(.init("reason", .string(reason))) }
        switch change {
        case .started(let pid):
            log.log(.info, "a plugin was started", fields + [.init("pid", .int(Int64(pid)))])
        case .restarted(let pid):
            log.log(.info, "a plugin was started again", fields + [.init("pid", .int(Int64(pid)))])
            notes.append(.report(name, .restarted, reason: reason))
        case .exited: log.log(.warning, "a plugin ended by itself", fields)
        case .failedToStart: log.log(.error, "a plugin could not be started", fields)
        case .stopped: log.log(.info, "a plugin was stopped", fields)
        case .gaveUp:
            log.log(.error, "a plugin is given up until somebody starts it", fields)
            notes.append(.report(name, .gaveUp, reason: reason))
        case .removed: log.log(.info, "a plugin is no longer ours", fields)
        }
    }

    // MARK: Processes

    private mutating func readOutput(of name: String, limit: Int) {
        guard var plugin = running[name], plugin.isOutputOpen else { return }
        var bytes: [UInt8] = []
        plugin.isOutputOpen = plugin.child.read(into: &bytes, limit: limit)
        relay(plugin.lines.take(bytes, nowMs: Clock.monotonicMs()), from: name)
        running[name] = plugin
    }

    private mutating func takeExit(of name: String) {
        guard let plugin = running[name], let exit = plugin.child.reap() else { return }
        readOutput(of: name, limit: Self.bytesAtEnd)
        let nowMs = Clock.monotonicMs()
        if let lines = running[name]?.lines.finish(nowMs: nowMs) { relay(lines, from: name) }
        running[name] = nil
        core.exited(name, isSuccess: exit.isSuccess, exit.description, nowMs: nowMs, into: &effects)
        perform()
    }

    private func relay(_ lines: [String], from name: String) {
        for line in lines { log.relay(line, from: name) }
    }
}

extension SupervisedPlugin {
    init(_ entry: SupervisorCore.Entry) {
        let process: Process
        var pid: Int32?
        switch entry.state {
        case .stopped: process = .stopped
        case .starting: process = .starting
        case .running(let its, _):
            process = .running
            pid = its
        case .backingOff: process = .backingOff
        case .stopping(let its, _, _):
            process = .stopping
            pid = its
        case .crashLooping: process = .crashLooping
        }
        self.init(
            name: entry.manifest.name, version: entry.manifest.version, process: process, pid: pid,
            restarts: entry.restarts, may: entry.manifest.may.map(\.rawValue))
    }
}
