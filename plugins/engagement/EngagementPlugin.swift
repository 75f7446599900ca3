import Glibc
import HoldgateClient
import Platform
import SQLite

enum EngagementPlugin {
    /// A seed's bytes, at most.
    private static let seedBytes = 64 << 20

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
        let store = try EngagementStore(options.store)
        if let path = options.seed {
            do {
                try Seed(try read(path)).plant(in: store)
            } catch let error as SeedError {
                throw SeedError(problem: "\(path): \(error.problem)")
            }
        }
        let owner = PluginThread(engagement: Engagement(store: store))
        var configuration = Plugin.Configuration(name: options.name, version: "1")
        configuration.endpoint = options.endpoint
        configuration.credentials = options.credentials
        for service in Engagement.services {
            configuration.services[service] = .blocking { request in
                owner.engagement.answer(request.service, request.arguments)
            }
        }
        let plugin = try Plugin(configuration)
        _ = try Thread.spawn(name: "signals") {
            // SIGHUP has no meaning here; without a handler it would end the process like the others.
            while Signals.wait() == SIGHUP {}
            plugin.stop()
        }
        let ending = try plugin.run { notice in
            switch notice {
            case .attached(_, let status): log("attached, the host is \(status.state.rawValue)")
            case .detached: log("the host is away")
            case .state, .app: break
            case .problem(let error): log("\(error)")
            }
        }
        if ending == .superseded { log("another \(options.name) has taken over") }
    }

    /// Services that block run on the plugin's thread alone, and so the database is used there alone. That makes
    /// the `@unchecked` true.
    private struct PluginThread: @unchecked Sendable {
        let engagement: Engagement
    }

    private static func read(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "re") else {
            throw SeedError(problem: String(cString: strerror(errno)))
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            bytes += chunk[..<count]
            guard bytes.count <= seedBytes else { throw SeedError(problem: "larger than \(seedBytes) bytes") }
            if count == 0 {
                guard ferror(file) == 0 else { throw SeedError(problem: "it can't be read") }
                return bytes
            }
        }
    }

    private static func log(_ text: String) {
        let line = "engagement: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
