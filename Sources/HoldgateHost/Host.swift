import Engine
import Journal
import Ledger
import Lifecycle
import Platform
import Wire
import ZeroMQ

/// A running host: one gate, its journal, and its four endpoints, on threads of its own.
///
/// ```swift
/// let host = try Host.start(configuration, log: logger)
/// print(host.endpoints.control)
/// host.requestStop()
/// let exit = host.wait()
/// ```
public final class Host: Sendable {
    /// The addresses that were bound, ports filled in.
    public struct Endpoints: Hashable, Sendable {
        public let control: [String]
        public let stream: [String]
        public let ingest: [String]
        public let plugin: [String]

        init(_ bound: Sockets.Bound) {
            control = bound.control
            stream = bound.stream
            ingest = bound.ingest
            plugin = bound.plugin
        }
    }

    public let endpoints: Endpoints
    /// As it came up.
    public let status: HostStatus
    /// This process's random name within the launch.
    public let run: String
    /// Signalled when the host has ended.
    public let ended: EventFD

    private let inbox: Inbox<Note>
    private let supervisor: Supervisor?
    private let thread: Locked<ThreadHandle?>
    private let result: Locked<HostExit?>

    /// Reads the state back, binds, and serves. Returns once all endpoints are bound.
    public static func start(_ configuration: Configuration, log: Logger) throws -> Host {
        let access = try AccessControl.read(configuration)
        try access.checkAddresses(configuration)
        var configuration = configuration
        configuration.engine.access = access.asks ? .keys : configuration.isInsecure ? .insecure : .local
        if configuration.isInsecure {
            log.log(.warning, "insecure: whoever reaches an address of this host may do everything there", [])
        }
        let directory = try StateDirectory.open(configuration.stateDir, restored: configuration.restored)
        let paths: LocalPaths
        do throws(SocketPathError) {
            paths = try LocalPaths(configuration)
        } catch {
            throw StartError("\(error)")
        }
        let storage = try PosixStorage(directory: configuration.stateDir)
        var journal = Log.Configuration()
        journal.segmentBytes = configuration.segmentBytes
        journal.producerLimit = configuration.engine.rememberedProducers
        var options = LaunchOptions()
        options.isOperating = configuration.startsOperating
        options.newLaunch = configuration.newLaunch
        options.restored = configuration.restored
        let boot = try Boot(
            storage: storage, journal: journal, engine: configuration.engine, options: options, now: Self.now,
            maxDeadLetters: configuration.maxDeadLetters, random: Boot.systemRandom)
        let inbox = try Inbox<Note>()
        let worker = JournalWorker(log: boot.log, history: boot.history, clockNs: { Clock.monotonicNs() })
        let client = try JournalClient(
            worker: worker, deadLetters: boot.deadLetters, configuration: boot.internalConfiguration,
            inbox: inbox)
        do {
            let engine = try Self.settle(boot.engine, client, inbox, log)
            let sockets = try Sockets.bound(configuration, access, paths, inbox: inbox.fileDescriptor)
            let supervisor = try Self.supervisor(configuration, access, sockets.bound, inbox, log)
            let reactor = Reactor(
                configuration: configuration, log: log, access: access, sockets: sockets, engine: engine,
                journal: client, inbox: inbox, reader: boot.log.reader(), historyReader: boot.history.reader,
                supervisor: supervisor)
            return try Host(reactor, inbox, directory)
        } catch let error as ZeroMQError {
            client.stop()
            throw StartError(notBound: error)
        } catch {
            client.stop()
            throw error
        }
    }

    /// Starts the plugins, if the configuration names their folder.
    private static func supervisor(
        _ configuration: Configuration, _ access: AccessControl, _ bound: Sockets.Bound, _ inbox: Inbox<Note>,
        _ log: Logger
    ) throws -> Supervisor? {
        guard !configuration.plugins.isEmpty else { return nil }
        return try Supervisor(
            folder: PluginFolder(path: configuration.plugins),
            environment: PluginEnvironment(Endpoints(bound), access), log: log, seed: Boot.systemRandom()
        ) { inbox.post(.supervision($0)) }
    }

    static var now: Now {
        let now = Clock.now()
        return Now(monotonicMs: now.monotonicMs, wallMs: now.wallMs)
    }

    /// What the engine decides on coming up (a lease that ran out, a drain with nothing left) is on disk
    /// before anything is bound.
    private static func settle(
        _ recovered: Engine, _ journal: JournalClient, _ inbox: Inbox<Note>, _ log: Logger
    ) throws -> Engine {
        var engine = recovered
        var effects: [Effect] = []
        var notes: [Note] = []
        engine.boot(now: now, into: &effects)
        var polls = PollSet()
        polls.add(fileDescriptor: inbox.fileDescriptor)
        while true {
            for effect in effects {
                switch effect {
                case .persist(let ticket, .record(let record)):
                    journal.submit(.history(HistoryDraft(record)), ticket: ticket.raw)
                case .persist(let ticket, .entry(let entry)):
                    journal.submit(.entry(entry), ticket: ticket.raw)
                case .log(let level, let message, let fields): log.log(level, message, fields)
                case .persist, .reply, .ingestReply, .publish, .publishBlock, .releaseBlock, .send, .rebind,
                    .lookUp,
                    .requeue, .endRequeue, .supervise, .reload, .stop:
                    break  // Nobody is there to hear of it.
                }
            }
            effects.removeAll()
            if engine.isIdle, engine.isOnDisk { return engine }
            _ = try polls.wait(timeoutMs: -1)
            inbox.takeAll(into: &notes)
            for note in notes {
                guard case .journal(let completion) = note else { continue }
                switch completion {
                case .done(let done): engine.persisted(through: Ticket(done.ticket), now: now, into: &effects)
                case .full:
                    throw StartError("the disk is full: make room for the state directory, and start again")
                case .failed(let error): throw StartError("\(error)")
                case .erased, .committed: break
                }
            }
            notes.removeAll()
        }
    }

    private init(
        _ reactor: Reactor, _ inbox: Inbox<Note>, _ directory: consuming StateDirectory
    ) throws {
        endpoints = Endpoints(reactor.sockets.bound)
        supervisor = reactor.supervisor
        status = reactor.engine.status
        run = reactor.engine.run
        self.inbox = inbox
        let ended = try EventFD()
        let result = Locked<HostExit?>(nil)
        self.ended = ended
        self.result = result
        let held = Locked<Running?>(Running(reactor: reactor, directory: directory))
        thread = Locked(
            try Thread.spawn(name: "reactor") {
                var running = held.withLock { $0.take() }
                let exit = running?.run() ?? .stopped
                result.withLock { $0 = exit }
                ended.signal()
            })
    }

    /// Asks the host to stop: what was read is answered, plugins are told, and it ends within five seconds.
    public func requestStop() { inbox.post(.stop) }

    /// Reads the authorised keys and the folder of plugins again.
    ///
    /// Whoever had a key that is no longer authorised is cut off; a file with a mistake changes nothing. Plugins that are
    /// new are started, changed ones restarted, and those that are gone stopped. What is wrong with either is in the log.
    public func reload() { inbox.post(.reload) }

    /// Waits for the end.
    public func wait() -> HostExit {
        let handle = thread.withLock { (handle: inout sending ThreadHandle?) -> sending ThreadHandle? in
            handle.take()
        }
        if let handle { handle.join() }
        return result.withLock { $0 } ?? .stopped
    }
}

extension StartError {
    /// Why an address could not be bound.
    init(notBound error: ZeroMQError) {
        let address = error.endpoint ?? "an address"
        switch error.code {
        case .addressInUse:
            self.init(
                "\(address) is in use: does another host run here? Give this one other addresses with --control, "
                    + "--stream, --ingest and --plugin; port 0 takes a free one")
        case .addressNotAvailable, .noSuchEndpoint, .invalidArgument:
            self.init("\(address) can't be bound: this machine has no such address")
        default: self.init("\(error)")
        }
    }
}

/// What lives on the reactor's thread, in the order in which it ends.
struct Running: ~Copyable, Sendable {
    private var reactor: Reactor?
    /// Locked until everything else has ended.
    private var directory: StateDirectory

    init(reactor: Reactor, directory: consuming StateDirectory) {
        self.reactor = reactor
        self.directory = directory
    }

    /// With the reactor's own time for stopping and what sockets linger, less than the five seconds of a host.
    private static let journalTimeoutMs = 500

    mutating func run() -> HostExit {
        let exit = reactor?.run() ?? .stopped
        let hasEnded = reactor?.journal.stop(timeoutMs: Self.journalTimeoutMs) ?? true
        if !hasEnded { directory.keepLocked() }
        reactor?.supervisor?.end()
        // Closes the sockets; what was answered still goes out.
        reactor = nil
        return exit
    }
}
