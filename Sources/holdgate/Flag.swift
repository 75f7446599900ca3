/// A flag: how it is written, and what it is for. Help, completion and parsing all come from here.
struct Flag: Hashable, Sendable {
    /// What a value may be, for completion.
    enum Values: Hashable, Sendable {
        case text
        case file
        case directory
        case one(of: [String])
        /// Some, parted by commas.
        case some(of: [String])
    }

    let name: String
    /// What stands for its value in help; nil for a switch.
    let value: String?
    let help: String
    let values: Values

    init(_ name: String, _ value: String? = nil, _ help: String, values: Values? = nil) {
        self.name = name
        self.value = value
        self.help = help
        self.values = values ?? Self.values(of: value)
    }

    private static func values(of value: String?) -> Values {
        switch value {
        case "FILE": .file
        case "DIR": .directory
        default: .text
        }
    }
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

    /// Those of every command that asks a host.
    static let asking = [keyFile, hostKey, timeout, json, help]
    /// Those of commands that ask none.
    static let local = [json, help]

    /// Those of commands that go into the history.
    static let lifecycle = [
        Flag("--reason", "TEXT", "why, for the history: a ticket, not personal data"),
        source,
        Flag("--idempotency-key", "KEY", "with the same one the same command is done only once"),
        control,
    ]

    static let source = Flag("--source", "NAME", "who asks, for the history (default: user@host)")
}
