import Glibc
import Wire

extension Configuration {
    /// A flag that takes no value.
    public enum Switch: String, Hashable, Sendable, CaseIterable {
        case operating = "--operating"
        case holding = "--holding"
        case newLaunch = "--new-launch"
        case restored = "--restored"
        case insecure = "--insecure"
        case help = "--help"

        public var help: String {
            switch self {
            case .operating: "A launch that begins now begins with the gate open."
            case .holding: "A launch that begins now begins on hold (the default)."
            case .newLaunch: "Begin a new launch instead of going on with the last."
            case .restored: "Accept a copied or mended state, and begin a new launch with it, on hold."
            case .insecure:
                "Without keys, bind anywhere: whoever reaches an address may do everything there."
            case .help: "Print this."
            }
        }
    }

    /// Variables that begin with `HOLDGATE_` and are the clients' business: the host ignores them.
    public static let ignoredVariables = [
        "HOLDGATE_TIMEOUT", "HOLDGATE_KEY_FILE", "HOLDGATE_HOST_KEY", "HOLDGATE_CONSENT",
    ]
    /// So are all that begin with this.
    public static let ignoredVariablePrefix = "HOLDGATE_TEST_"

    /// The configuration of `holdgate serve`: flags beat the environment, which beats the file.
    ///
    /// - Parameters:
    ///   - arguments: what follows `serve`.
    ///   - environment: all variables; `HOME` and `XDG_STATE_HOME` are looked at too.
    ///   - readFile: the bytes of the file at a path.
    /// - Returns: nil if `--help` was asked for, whatever else was.
    /// - Throws: the first mistake. Flags are looked at first, then the file, then the variables by name.
    public static func parse(
        arguments: [String], environment: [String: String], readFile: (String) throws -> [UInt8] = readFile
    ) throws(ConfigurationError) -> Configuration? {
        if arguments.contains(where: { $0 == Switch.help.rawValue || $0 == "-h" }) { return nil }
        let flags = try ConfigurationFlags(arguments)
        // Empty until all sources have been read; `validate` refuses it.
        var configuration = Configuration(stateDir: "")
        if let path = flags.file {
            let bytes: [UInt8]
            do {
                bytes = try readFile(path)
            } catch {
                throw ConfigurationError(
                    .unreadable, .flag("--config"), "--config: can't read \(path): \(error)")
            }
            try configuration.apply(file: bytes, path: path)
        }
        try configuration.apply(environment)
        try configuration.apply(flags)
        if configuration.sources["stateDir"] == nil { try configuration.placeState(environment) }
        try configuration.validate()
        return configuration
    }

    private mutating func apply(file bytes: [UInt8], path: String) throws(ConfigurationError) {
        for member in try ConfigurationFile.members(of: bytes, path: path) {
            let source = Source.file(path: path, line: member.line)
            guard let key = Self.key(member.name) else {
                throw .unknownKey(member.name, source)
            }
            try set(key, key.kind.read(member.value), given: member.value, source)
        }
    }

    private mutating func apply(_ environment: [String: String]) throws(ConfigurationError) {
        for (variable, text) in environment.sorted(by: { $0.key < $1.key }) {
            guard variable.hasPrefix("HOLDGATE_"), !Self.ignoredVariables.contains(variable),
                !variable.hasPrefix(Self.ignoredVariablePrefix)
            else { continue }
            guard let key = Self.keys.first(where: { $0.variable == variable }) else {
                throw .unknownVariable(variable)
            }
            try set(key, key.kind.read(text: text), given: .string(text), .environment(variable))
        }
    }

    private mutating func apply(_ flags: ConfigurationFlags) throws(ConfigurationError) {
        for (flag, values) in flags.values.sorted(by: { $0.key < $1.key }) {
            guard let key = Self.keys.first(where: { $0.flag == flag }) else {
                preconditionFailure("flags are of keys")
            }
            let given: JSONValue =
                key.kind == .addresses ? .array(values.map { .string($0) }) : .string(values[0])
            try set(key, key.kind.read(given), given: given, .flag(flag))
        }
        startsOperating = flags.switches.contains(.operating)
        newLaunch = flags.switches.contains(.newLaunch)
        restored = flags.switches.contains(.restored)
        isInsecure = flags.switches.contains(.insecure)
    }

    private mutating func set(
        _ key: Key, _ value: JSONValue?, given: JSONValue, _ source: Source
    ) throws(ConfigurationError) {
        guard let value else {
            throw .wrongValue(key.name, given, allowed: key.kind.allowed, source)
        }
        key.set(&self, value)
        sources[key.name] = source
    }

    /// The XDG base directories' rule; a relative `XDG_STATE_HOME` doesn't count, as that says.
    private mutating func placeState(_ environment: [String: String]) throws(ConfigurationError) {
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") {
            stateDir = home + "/holdgate"
            sources["stateDir"] = .environment("XDG_STATE_HOME")
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            stateDir = home + "/.local/state/holdgate"
            sources["stateDir"] = .environment("HOME")
        } else {
            throw ConfigurationError(
                .missing, .standard,
                "stateDir has no default, as neither XDG_STATE_HOME nor HOME is an absolute path: "
                    + "give --state-dir DIR")
        }
    }

    /// The largest file that `readFile` takes.
    public static let maxFileBytes = 1 << 20

    /// The bytes of a file of up to `maxFileBytes`.
    public static func readFile(_ path: String) throws -> [UInt8] {
        struct Failure: Error, CustomStringConvertible { let description: String }
        func failure() -> Failure { Failure(description: String(cString: strerror(errno))) }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure() }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure() }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= maxFileBytes else {
                throw Failure(description: "it is larger than \(maxFileBytes) bytes")
            }
        }
    }
}
