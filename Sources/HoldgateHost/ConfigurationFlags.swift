/// The command line, cut into flags; the values haven't been looked at yet.
struct ConfigurationFlags {
    private(set) var switches: Set<Configuration.Switch> = []
    /// The path of `--config`.
    private(set) var file: String?
    /// By flag; more than one value only where the key is a list.
    private(set) var values: [String: [String]] = [:]

    static let fileFlag = "--config"

    /// Every flag there is.
    static let all =
        Configuration.Switch.allCases.map(\.rawValue) + [fileFlag]
        + Configuration.keys.compactMap(\.flag)

    init(_ arguments: [String]) throws(ConfigurationError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                throw .unexpectedArgument(argument)
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let flag = String(parts[0])
            let attached = parts.count == 2 ? String(parts[1]) : nil
            if let known = Configuration.Switch(rawValue: flag) {
                try take(known, attached)
            } else if Self.all.contains(flag) {
                try take(flag, value(of: flag, attached, &rest))
            } else {
                throw .unknownFlag(flag)
            }
        }
        try checkSwitches()
    }

    private mutating func take(
        _ known: Configuration.Switch, _ attached: String?
    ) throws(ConfigurationError) {
        let flag = known.rawValue
        if let attached {
            throw ConfigurationError(
                .wrongValue, .flag(flag),
                "\(flag) takes no value, and was given \(ConfigurationError.shown(.string(attached)))")
        }
        guard switches.insert(known).inserted else { throw .repeatedFlag(flag) }
    }

    private mutating func take(_ flag: String, _ value: String) throws(ConfigurationError) {
        if flag == Self.fileFlag {
            guard file == nil else { throw .repeatedFlag(flag) }
            file = value
            return
        }
        let isList = Configuration.keys.contains { $0.flag == flag && $0.kind == .addresses }
        guard isList || values[flag] == nil else { throw .repeatedFlag(flag) }
        values[flag, default: []].append(value)
    }

    private func value(
        of flag: String, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(ConfigurationError) -> String {
        if let attached { return attached }
        guard let next = rest.first, !next.hasPrefix("--") else {
            let kind = Configuration.keys.first { $0.flag == flag }?.kind
            throw ConfigurationError(
                .missing, .flag(flag),
                "\(flag) needs a value; allowed: \(kind?.allowed ?? "the path of a file")")
        }
        rest.removeFirst()
        return next
    }

    private func checkSwitches() throws(ConfigurationError) {
        guard switches.contains(.operating) else { return }
        // What a restored state may let out is for a person to say, once the host is up.
        for other in [Configuration.Switch.holding, .restored] where switches.contains(other) {
            throw ConfigurationError(
                .conflict, .flag(Configuration.Switch.operating.rawValue),
                "--operating and \(other.rawValue) exclude each other"
                    + (other == .restored ? ": a restored launch begins on hold" : ""))
        }
    }
}
