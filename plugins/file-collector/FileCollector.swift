import Glibc
import HoldgateClient
import Platform

enum FileCollector {
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
                return try run(options)
            } catch let error as HoldgateError where error.code == .invalidArgument {
                log("\(error.message); --help says more")
                return 2
            } catch {
                log("\(error)")
                return 1
            }
        }
    }

    private static func run(_ options: Options) throws -> Int32 {
        Signals.ignorePipe()
        Signals.block()
        let files = try ReceiptedLog(RealDirectory(options.directory), rotateBytes: options.rotateBytes)
        var settings = Collector.Options(name: options.name)
        settings.endpoint = options.endpoint
        settings.credentials = options.credentials
        settings.version = "1"
        settings.collect = CollectRequest(
            types: options.types, windowBytes: options.windowBytes, durable: true)
        settings.gatherBytes = options.windowBytes
        let collector = try Collector(settings)
        log("writes to \(options.directory), and looks for a host at \(options.endpoint)")
        _ = try Thread.spawn(name: "signals") {
            // SIGHUP has no meaning here; without a handler it would end the process like the others.
            while Signals.wait() == SIGHUP {}
            collector.stop()
        }
        let ending = try collector.run(notice: report) { deliveries in
            try files.take(deliveries, wallMs: Clock.wallMs())
            return []
        }
        switch ending {
        case .stopped: break
        case .superseded: log("another \(options.name) has taken over")
        }
        return 0
    }

    private static func report(_ notice: Collector.Notice) {
        switch notice {
        case .attached(let cursor, let status):
            log(
                "attached, cursor \(cursor.map { String($0.raw) } ?? "none"), the host is \(status.state.rawValue)"
            )
        case .detached: log("the host is away")
        case .state, .app: break
        case .problem(let error): log("\(error)")
        }
    }

    private static func log(_ text: String) {
        let line = "file-collector: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
