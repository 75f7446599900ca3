import Glibc
import HoldgateClient
import Platform

enum SessionPlugin {
    /// How long the last events may take to reach the host once the process is told to end.
    private static let lastSeconds: UInt32 = 3

    /// Returns the exit status: 0 once stopped by a signal or superseded, 1 after a failure, 2 for wrong
    /// arguments.
    static func run(_ arguments: [String]) -> Int32 {
        switch Options.parse(arguments, environment: { name in getenv(name).map { String(cString: $0) } }) {
        case .help:
            print(Options.help, terminator: "")
            return 0
        case .usage(let problem):
            log("\(problem); --help says more")
            return 2
        case .run(let options):
            do {
                try serve(options)
                return 0
            } catch {
                log("\(error)")
                return 1
            }
        }
    }

    private static func serve(_ options: Options) throws {
        Signals.ignorePipe()
        Signals.block()
        var configuration = Plugin.Configuration(name: options.name, version: "1")
        configuration.endpoint = options.endpoints.plugin
        configuration.credentials = options.credentials
        let plugin = try Plugin(configuration)
        var sending = Producer.Options(name: options.name)
        sending.endpoint = options.endpoints.ingest
        sending.credentials = options.credentials
        let producer = try Producer(sending)
        _ = try Thread.spawn(name: "signals") {
            // SIGHUP has no meaning here; without a handler it would end the process like the others.
            while Signals.wait() == SIGHUP {}
            plugin.stop()
        }
        var random = SystemRandomNumberGenerator()
        var core = SessionCore(prefix: String(LaunchID(high: random.next(), low: 0).raw.prefix(16)))
        var failure: HoldgateError?
        func emit(_ events: [SessionEvent]) {
            do {
                for event in events { try producer.send(event.text) }
                // After a kill the host takes nothing; that is no failure.
                for each in producer.takeFailures() where each.error.code != .notOperating {
                    log("\(each.error)")
                }
            } catch {
                failure = error
                plugin.stop()
            }
        }
        let ending = try plugin.run { notice in
            var events: [SessionEvent] = []
            switch notice {
            case .attached(_, let status):
                log("attached, the host is \(status.state.rawValue)")
                core.attached(status, into: &events)
            case .detached:
                log("the host is away")
                core.detached(wallMs: Clock.wallMs())
            case .state(let body, let seq, let launch):
                core.heard(body, seq: seq, launch: launch, into: &events)
            case .app(let body): core.heard(body, into: &events)
            case .problem(let error): log("\(error)")
            }
            emit(events)
        }
        if let failure { throw failure }
        switch ending {
        case .superseded: log("another \(options.name) has taken over")
        case .stopped:
            var events: [SessionEvent] = []
            core.stop(wallMs: Clock.wallMs(), into: &events)
            try leave(events, producer)
        }
    }

    /// Sends the last events, as well as it can in the time.
    private static func leave(_ events: [SessionEvent], _ producer: Producer) throws {
        _ = try Thread.spawn(name: "last") {
            sleep(lastSeconds)
            exit(0)
        }
        for event in events { try producer.send(event.text) }
        try? producer.flushBlocking()
    }

    private static func log(_ text: String) {
        let line = "session: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
