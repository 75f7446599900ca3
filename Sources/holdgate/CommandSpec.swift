import HoldgateClient

/// A flag: how it is written, and what it is for. Help and parsing both come from here.
struct Flag: Hashable, Sendable {
    let name: String
    /// What stands for its value in help; nil for a switch.
    let value: String?
    let help: String

    init(_ name: String, _ value: String? = nil, _ help: String) {
        self.name = name
        self.value = value
        self.help = help
    }
}

/// A command: what its help says, what may be given, and what it does.
struct CommandSpec: Sendable {
    let name: String
    /// Positional arguments as help shows them, as `TYPE [DATA]`.
    var arguments = ""
    /// How many positional arguments may be given.
    var argumentCount = 0...0
    /// One line.
    let summary: String
    /// More, for its own help.
    var detail = ""
    var flags: [Flag] = []
    var examples: [String] = []
    /// Returns the exit status.
    let run: @Sendable (Invocation) throws -> Int32

    /// Its own flags and those that every command has.
    var allFlags: [Flag] { flags + [.keyFile, .hostKey, .timeout, .json, .help] }
}

extension Flag {
    static let control = Flag("--control", "ADDRESS", "the host's control endpoint (or HOLDGATE_CONTROL)")
    static let stream = Flag("--stream", "ADDRESS", "the host's stream endpoint (or HOLDGATE_STREAM)")
    static let ingest = Flag("--ingest", "ADDRESS", "the host's ingest endpoint (or HOLDGATE_INGEST)")
    static let keyFile = Flag("--key", "FILE", "the key that the host knows you by (or HOLDGATE_KEY_FILE)")
    static let hostKey = Flag(
        "--host-key", "KEY", "the host's public key, if it is not in that file (or HOLDGATE_HOST_KEY)")
    static let timeout = Flag(
        "--timeout", "DURATION", "give up when no host answers for so long (default: 5s)")
    static let json = Flag("--json", nil, "one line of JSON, for programs")
    static let help = Flag("--help", nil, "this text")

    /// Those of commands that go into the history.
    static let lifecycle = [
        Flag("--reason", "TEXT", "why, for the history: a ticket, not personal data"),
        Flag("--source", "NAME", "who asks, for the history (default: user@host)"),
        Flag("--idempotency-key", "KEY", "with the same one the same command is done only once"),
        control,
    ]
}

/// Wrong usage: exit status 2.
struct UsageError: Error, Hashable {
    let message: String
    init(_ message: String) { self.message = message }
}

/// What was given to a command, checked against its flags.
struct Invocation: Sendable {
    let spec: CommandSpec
    let console: Console
    private(set) var values: [String: String] = [:]
    private(set) var arguments: [String] = []

    /// - Throws: `UsageError`.
    init(_ spec: CommandSpec, _ given: [String], _ console: Console) throws {
        self.spec = spec
        self.console = console
        var rest = given[...]
        var isFlagsEnd = false
        while let word = rest.popFirst() {
            if word == "--", !isFlagsEnd {
                isFlagsEnd = true
            } else if word.hasPrefix("-"), word.count > 1, !isFlagsEnd {
                try take(flag: word, &rest)
            } else {
                arguments.append(word)
            }
        }
        guard !has("--help") else { return }
        guard arguments.count <= spec.argumentCount.upperBound else {
            let extra = arguments[spec.argumentCount.upperBound]
            throw UsageError("\(spec.name) does not take \"\(extra)\"")
        }
        guard arguments.count >= spec.argumentCount.lowerBound else {
            throw UsageError("\(spec.name) needs a \(spec.arguments.prefix { $0 != "…" })")
        }
    }

    private mutating func take(flag word: String, _ rest: inout ArraySlice<String>) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        let name = parts[0] == "-h" ? "--help" : parts[0]
        guard let flag = spec.allFlags.first(where: { $0.name == name }) else {
            let near = Nearest.of(name, in: spec.allFlags.map(\.name)).map { " (did you mean \($0)?)" } ?? ""
            throw UsageError("\(spec.name) has no flag \(name)\(near)")
        }
        if flag.value == nil {
            guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
            values[name] = ""
        } else if parts.count == 2 {
            values[name] = parts[1]
        } else {
            guard let value = rest.popFirst() else {
                throw UsageError("\(name) needs a value: \(flag.value ?? "")")
            }
            values[name] = value
        }
    }

    func has(_ flag: String) -> Bool { values[flag] != nil }
    var isJSON: Bool { has("--json") }

    func duration(_ flag: String, isPositive: Bool = false) throws -> Duration? {
        guard let text = values[flag] else { return nil }
        let duration = try Durations.parse(text, for: flag)
        guard !isPositive || duration > .zero else { throw UsageError("\(flag) \(text): it must be longer") }
        return duration
    }

    func count(_ flag: String) throws -> UInt64? {
        guard let text = values[flag] else { return nil }
        guard let count = UInt64(text) else { throw UsageError("\(flag) \(text): not a whole number") }
        return count
    }

    var endpoints: Endpoints {
        var endpoints = Endpoints(environment: console.environment)
        if let address = values["--control"] { endpoints.control = address }
        if let address = values["--stream"] { endpoints.stream = address }
        if let address = values["--ingest"] { endpoints.ingest = address }
        return endpoints
    }

    func timeout() throws -> Duration { try duration("--timeout", isPositive: true) ?? .seconds(5) }

    /// Whom commands go to, and from whom.
    func holdgate() throws -> Holdgate {
        Holdgate(
            endpoint: endpoints.control, timeout: try timeout(),
            source: values["--source"] ?? console.identity, credentials: try credentials())
    }

    /// Those that the flags or the variables name; nil: none.
    func credentials() throws -> Credentials? {
        do throws(HoldgateError) {
            return try Credentials(
                keyFile: values["--key"], hostKey: values["--host-key"], environment: console.environment)
        } catch {
            throw UsageError(error.message)
        }
    }

    /// The command with this invocation's reason and key.
    func described<Result>(_ command: Command<Result>) -> Command<Result> {
        command.with(reason: values["--reason"], key: values["--idempotency-key"])
    }
}
