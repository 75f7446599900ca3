import Wire

extension Configuration {
    /// What `holdgate serve --help` prints: every flag and every key.
    public static var helpText: String {
        var lines = [
            "holdgate serve: run a host",
            "",
            "usage: holdgate serve [FLAGS]",
            "",
            "It goes on with the launch in its state directory, in the state that it was in, and begins one where there",
            "is none. One line of JSON on standard output says when it is ready and where; its log goes to standard error.",
            "SIGTERM and SIGINT stop it.",
            "",
            "Flags (they beat the environment, which beats the file):",
        ]
        for known in Switch.allCases { lines.append(row(known.rawValue, known.help)) }
        lines.append(row("--config FILE", "Read settings from this file: JSON with comments."))
        for key in keys {
            guard let flag = key.flag else { continue }
            let value = key.kind == .addresses ? "ADDR" : "DIR"
            let again = key.kind == .addresses ? " May be repeated." : ""
            lines.append(row("\(flag) \(value)", key.help + again))
        }
        lines += [
            "",
            "Settings of the file. Each is also a variable, drainTimeoutMs for one is HOLDGATE_DRAIN_TIMEOUT_MS,",
            "with commas between a list's elements. Names that end in Ms are milliseconds.",
        ]
        for key in keys {
            lines += ["", "  \(key.name)  \(key.help)"]
            lines += ["      default: \(key.defaultText)", "      allowed: \(key.kind.allowed)"]
        }
        lines += [
            "", "For example:", "  holdgate serve --state-dir /var/lib/holdgate",
            "  holdgate serve --config holdgate.json --control ipc:///run/holdgate/control",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row(_ flag: String, _ help: String) -> String {
        "  " + flag + String(repeating: " ", count: max(1, 18 - flag.count)) + help
    }
}

extension Configuration.Key {
    /// The default, for people.
    public var defaultText: String {
        switch kind {
        case .optionalDirectory, .optionalFile: "none"
        case .directory: "$XDG_STATE_HOME/holdgate, or ~/.local/state/holdgate"
        case .number, .choice, .addresses, .names:
            Self.text(get(Configuration(stateDir: "")))
        }
    }

    private static func text(_ value: JSONValue) -> String {
        if let text = value.asString { return text }
        guard let elements = value.asArray else { return value.text }
        return elements.isEmpty ? "none" : elements.compactMap(\.asString).joined(separator: ",")
    }
}
