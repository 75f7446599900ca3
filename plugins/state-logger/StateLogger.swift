import Glibc
import HoldgateClient
import Platform

enum StateLogger {
    /// Returns the exit status: 0 once stopped by a signal, 1 after a failure, 2 for wrong arguments.
    static func run(_ arguments: [String]) -> Int32 {
        switch Options.parse(arguments, environment: { name in getenv(name).map { String(cString: $0) } }) {
        case .help:
            print(Options.help, terminator: "")
            return 0
        case .usage(let problem):
            complain("\(problem); --help says more")
            return 2
        case .run(let options):
            do {
                try run(options)
                return 0
            } catch let error as HoldgateError where error.code == .invalidArgument {
                complain("\(error.message); --help says more")
                return 2
            } catch {
                complain("\(error)")
                return 1
            }
        }
    }

    private static func run(_ options: Options) throws {
        Signals.ignorePipe()
        Signals.block()
        let log = try LogFile(options.file)
        let subscription = try StateSubscription(
            endpoints: options.endpoints, after: StateLine.lastPlace(in: log.tail[...]),
            credentials: options.credentials)
        _ = try Thread.spawn(name: "signals") {
            // SIGHUP has no meaning here; without a handler it would end the process like the others.
            while Signals.wait() == SIGHUP {}
            subscription.stop()
        }
        try subscription.run { change in
            try log.append(StateLine.lines(for: change, nowMs: Clock.wallMs()))
        }
    }

    private static func complain(_ text: String) {
        let line = "state-logger: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
