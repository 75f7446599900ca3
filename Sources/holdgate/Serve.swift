import Glibc
import HoldgateHost
import Platform
import Wire

/// `holdgate serve`: runs the host until a signal or `endLaunch`.
enum ServeCommand {
    /// Returns the exit status: 0 stopped, 1 failed, 2 usage.
    static func run(_ arguments: [String]) -> Int32 {
        Signals.ignorePipe()
        Signals.block()
        OpenFiles.raiseLimit()
        let configuration: Configuration
        do {
            let parsed = try Configuration.parse(arguments: arguments, environment: environment)
            guard let parsed else {
                print(Configuration.helpText, terminator: "")
                return 0
            }
            configuration = parsed
        } catch {
            complain("\(error)")
            return 2
        }
        do {
            let exit = try serve(configuration)
            switch exit {
            case .stopped: return 0
            case .failed: return 1
            case .restart: return restart()
            }
        } catch {
            complain("\(error)")
            return 1
        }
    }

    /// All variables; what has no `=` is none.
    private static var environment: [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return variables
    }

    private static func serve(_ configuration: Configuration) throws -> HostExit {
        let signals = try SignalFD(Signals.service)
        let host = try Host.start(configuration, log: Logger(configuration))
        announce(host, configuration)
        var polls = [
            pollfd(fd: signals.fileDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: host.ended.fileDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        var isAskedToStop = false
        while true {
            guard poll(&polls, 2, -1) >= 0 || errno == EINTR else { break }
            if polls[1].revents != 0 { break }
            while let signal = signals.next() {
                guard signal != SIGHUP else {
                    host.reload()
                    continue
                }
                isAskedToStop = true
                host.requestStop()
            }
        }
        let exit = host.wait()
        // It came when the launch had ended already: whoever ends the process means it.
        return exit == .restart && isAskedToStop ? .stopped : exit
    }

    /// One line on stdout when everything is bound.
    private static func announce(_ host: Host, _ configuration: Configuration) {
        func list(_ addresses: [String]) -> JSONValue { .array(addresses.map { .string($0) }) }
        let endpoints = host.endpoints
        let line = JSONValue.object([
            .init("ready", .bool(true)), .init("pid", .int(Int64(getpid()))),
            .init("launch", .string(host.status.launch.raw)), .init("run", .string(host.run)),
            .init("state", .string(host.status.state.rawValue)), .init("seq", .uint(host.status.seq.raw)),
            .init(
                "endpoints",
                .object([
                    .init("control", list(endpoints.control)), .init("stream", list(endpoints.stream)),
                    .init("ingest", list(endpoints.ingest)), .init("plugin", list(endpoints.plugin)),
                ])),
            .init("stateDir", .string(configuration.stateDir)),
        ])
        print(line.text)
        fflush(nil)
    }

    /// Replaces the process in place, with the arguments that it was started with.
    private static func restart() -> Int32 {
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        // Signals stay blocked: one that came meanwhile waits for the next launch, which stops by it.
        execv("/proc/self/exe", &arguments)
        complain("the next launch could not be begun: exec failed with error \(errno)")
        return 1
    }

    private static func complain(_ message: String) {
        let line = Array("holdgate: \(message)\n".utf8)
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
