import Glibc
import HoldgateClient
import Platform

enum HTTPCollector {
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
        var configuration = Plugin.Configuration(
            name: options.name, version: "1",
            collect: CollectRequest(types: options.types, windowBytes: options.windowBytes, durable: true))
        configuration.endpoint = options.endpoint
        configuration.credentials = options.credentials
        configuration.gatherBytes = options.windowBytes
        let plugin = try Plugin(configuration)
        let courier = try Courier(options, plugin)
        log("posts to \(options.shownURL), and looks for a host at \(options.endpoint)")
        _ = try Thread.spawn(name: "signals") {
            // SIGHUP has no meaning here; without a handler it would end the process like the others.
            while Signals.wait() == SIGHUP {}
            courier.stop()
            plugin.stop()
        }
        let failure = Locked<(any Error)?>(nil)
        let sending = try Thread.spawn(name: "courier") {
            do {
                try courier.run()
            } catch {
                failure.withLock { $0 = error }
                plugin.stop()
            }
        }
        let ending = Result { try plugin.runDeferred(notice: { hear($0, courier) }, taker: courier.take) }
        courier.stop()
        sending.join()
        if let error = failure.withLock({ $0 }) { throw error }
        switch try ending.get() {
        case .stopped: break
        case .superseded: log("another \(options.name) has taken over")
        }
        return 0
    }

    private static func hear(_ notice: Plugin.Notice, _ courier: Courier) {
        switch notice {
        case .attached(let cursor, let status):
            courier.attached(status, cursor: cursor)
            let place = cursor.map { String($0.raw) } ?? "none"
            log("attached, cursor \(place), the host is \(status.state.rawValue)")
        case .detached:
            courier.detached()
            log("the host is away")
        case .state(let body, _, _):
            if body.state == .killed { courier.killed() }
        case .app: break
        case .problem(let error): log("\(error)")
        }
    }

    static func log(_ text: String) {
        let line = "http-collector: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
