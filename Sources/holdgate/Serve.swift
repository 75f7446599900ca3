import Glibc
import HoldgateHost
import Platform
import Wire

/// `holdgate serve`: runs the host until a signal or `endLaunch`.
enum ServeCommand {
    static let spec = CommandSpec(
        name: "serve", summary: "run a host",
        detail: """
            It goes on with the launch in its state directory, in the state that it was in, and begins one
            where there is none. One line of JSON on standard output says when it is ready and where; its log
            goes to standard error. SIGTERM and SIGINT stop it, SIGHUP has it read the authorised keys and the
            folder of plugins again.
            """,
        flags: flags, commonFlags: [.help],
        examples: [
            "holdgate serve --state-dir /var/lib/holdgate",
            "holdgate serve --config holdgate.json --control ipc:///run/holdgate/control",
        ],
        exitStatus: "0 stopped, 1 not started or failed, 2 wrong usage.", isRaw: true, settings: settings
    ) { invocation in
        run(invocation.arguments, invocation.console.variables())
    }

    /// What the host's configuration takes on its command line.
    static let flags =
        Configuration.Switch.allCases.filter { $0 != .help }.map { Flag($0.rawValue, nil, $0.help) }
        + [Flag("--config", "FILE", "Read settings from this file: JSON with comments.")]
        + Configuration.keys.compactMap { key in
            guard let flag = key.flag else { return nil }
            return Flag(flag, key.kind.placeholder, key.flagHelp, values: values(of: key.kind))
        }

    /// What its file may hold.
    private static let settings = Settings(
        about: """
            Flags beat the environment, which beats the file. Each setting of the file is also a variable,
            drainTimeoutMs for one is HOLDGATE_DRAIN_TIMEOUT_MS, with commas between a list's elements. Names
            that end in Ms are milliseconds. `holdgate config` shows what is in force, and where it came from.
            """,
        rows: Configuration.keys.map {
            Settings.Row(name: $0.name, help: $0.help, standard: $0.defaultText, allowed: $0.kind.allowed)
        })

    private static func values(of kind: Configuration.Kind) -> Flag.Values {
        switch kind {
        case .choice(let choices): .one(of: choices)
        case .directory, .optionalDirectory: .directory
        case .optionalFile: .file
        case .number, .addresses, .names: .text
        }
    }

    /// Returns the exit status: 0 stopped, 1 failed, 2 usage.
    private static func run(_ arguments: [String], _ environment: [String: String]) -> Int32 {
        Signals.ignorePipe()
        Signals.block()
        OpenFiles.raiseLimit()
        let configuration: Configuration
        do {
            let parsed = try Configuration.parse(arguments: arguments, environment: environment)
            guard let parsed else { return 0 }
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
            case .restart: return restart(configuration)
            }
        } catch {
            complain("\(error)", configuration)
            return 1
        }
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
    private static func restart(_ configuration: Configuration) -> Int32 {
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        // Signals stay blocked: one that came meanwhile waits for the next launch, which stops by it.
        execv("/proc/self/exe", &arguments)
        complain("the next launch could not be begun: exec failed with error \(errno)", configuration)
        return 1
    }

    /// For a person, unless the log is for programs.
    private static func complain(_ message: String, _ configuration: Configuration? = nil) {
        switch configuration?.logFormat {
        case .json:
            Logger(format: .json).log(.error, "the host ended", [.init("reason", .string(message))])
        case .text, nil:
            let line = Array("holdgate: \(message)\n".utf8)
            _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }
}
