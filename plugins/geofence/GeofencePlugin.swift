import Glibc
import HoldgateClient
import Platform

/// The process: takes readings, keeps the memory on disk, and hands crossings to the outbox.
enum GeofencePlugin {
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
        let file = try StateFile(in: options.directory)
        let memory = try file.read().map { bytes in try Memory(text: bytes) } ?? Memory(run: newRun())
        let current = Locked<GeofenceSession?>(nil)
        let isStopped = Locked(false)
        _ = try Thread.spawn(name: "signals") {
            // SIGHUP has no meaning here; without a handler it would end the process like the others.
            while Signals.wait() == SIGHUP {}
            isStopped.withLock { $0 = true }
            current.withLock { $0 }?.stop()
        }
        var keeper = Keeper(memory)
        while !isStopped.withLock({ $0 }) {
            let session = try GeofenceSession(options, keeper, file)
            current.withLock { $0 = session }
            // A signal between the look above and the line before would find nothing to stop.
            if isStopped.withLock({ $0 }) { return }
            guard try session.run(&keeper) == .runLost else { return }
            log("the host has forgotten what it took: going on under a new run")
            keeper.begin(run: newRun())
            try file.write(keeper.memory.text)
        }
    }

    /// A name that no other run has.
    static func newRun() -> String {
        var random = SystemRandomNumberGenerator()
        return LaunchID(high: random.next(), low: random.next()).raw
    }

    static func log(_ text: String) {
        let line = "geofence: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
