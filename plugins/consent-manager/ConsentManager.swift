import Glibc
import HoldgateClient
import Platform

enum ConsentManager {
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
        case .run(let options) where options.isIdle:
            log("CONSENT_STORE is not set: nobody decides by consent")
            return 0
        case .run(let options):
            do {
                try run(options)
                return 0
            } catch {
                log("\(error)")
                return 1
            }
        }
    }

    private static func run(_ options: Options) throws {
        Signals.ignorePipe()
        Signals.block()
        let store = try ConsentStore(options.file, options.store)
        let link = try HostLink(options.link)
        let service = try ConsentService(store, link, lease: options.link.lease, bind: options.bind)
        log("takes decisions at \(service.address); \(store.standing(at: Clock.wallMs()).reason)")
        try link.start()
        try service.run()
    }

    private static func log(_ text: String) {
        let line = "consent-manager: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
