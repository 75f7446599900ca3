import HoldgateClient
import HoldgateHost

/// `holdgate config`: the host's settings as `serve` would have them, and where each came from.
enum ConfigCommand {
    static let spec = CommandSpec(
        name: "config", summary: "the settings that serve would have, and where each comes from",
        detail: """
            It takes the flags of serve, reads the same variables and the same file, and refuses what serve
            refuses. Nothing is started, and nothing is written. A SOURCE is a flag, a variable, a line of the
            file, or the default.

            For the configuration that is kept inside a running host, see `holdgate configuration`.
            """,
        flags: ServeCommand.flags + [changed], commonFlags: Flag.local,
        examples: [
            "holdgate config --config holdgate.json", "holdgate config --changed",
            "holdgate config --json | jq .stateDir",
        ],
        exitStatus: "2 for settings that serve would refuse, too.", isRaw: true
    ) { invocation in
        let own = [changed.name, Flag.json.name]
        let arguments = invocation.arguments.filter { !own.contains($0) }
        let configuration: Configuration
        do {
            guard
                let parsed = try Configuration.parse(
                    arguments: arguments, environment: invocation.console.variables())
            else { return 0 }
            configuration = parsed
        } catch {
            if invocation.isJSON {
                let fault = JSONValue.object([
                    .init("code", .string("invalidArgument")), .init("message", .string("\(error)")),
                ])
                Report.json(
                    JSONValue.object([.init("ok", .bool(false)), .init("error", fault)]).text,
                    invocation.console)
            } else {
                invocation.console.err("holdgate: \(error)\n")
            }
            return 2
        }
        let onlyChanged = invocation.arguments.contains(changed.name)
        let rows = (switches(configuration) + settings(configuration)).filter { !onlyChanged || $0.isChanged }
        if invocation.isJSON {
            let members = rows.map { row in
                JSONValue.Member(
                    row.name, .object([.init("value", row.value), .init("source", json(row.source))]))
            }
            Report.json(JSONValue.object(members).text, invocation.console)
        } else if rows.isEmpty {
            invocation.console.out("all settings have their defaults\n")
        } else {
            let cells = rows.map { [$0.name, text($0.value), "\($0.source)"] }
            invocation.console.out(Table.columns(["KEY", "VALUE", "SOURCE"], cells))
        }
        return 0
    }

    private static let changed = Flag("--changed", nil, "only what has not its default")

    private struct Row {
        let name: String
        let value: JSONValue
        let source: Configuration.Source

        /// What `HOME` says of a path is its default.
        var isChanged: Bool {
            switch source {
            case .standard, .environment("HOME"), .environment("XDG_STATE_HOME"): false
            case .file, .environment, .flag: true
            }
        }
    }

    private static func settings(_ configuration: Configuration) -> [Row] {
        Configuration.keys.map {
            Row(name: $0.name, value: $0.value(in: configuration), source: configuration.source(of: $0.name))
        }
    }

    /// The flags that are no key, named as programs name what they stand for.
    private static func switches(_ configuration: Configuration) -> [Row] {
        Configuration.Switch.allCases.compactMap { flag in
            let (name, isGiven): (String, Bool)
            switch flag {
            case .operating: (name, isGiven) = ("operating", configuration.startsOperating)
            case .newLaunch: (name, isGiven) = ("newLaunch", configuration.newLaunch)
            case .restored: (name, isGiven) = ("restored", configuration.restored)
            case .insecure: (name, isGiven) = ("insecure", configuration.isInsecure)
            // The opposite of another, and no setting.
            case .holding, .help: return nil
            }
            return Row(name: name, value: .bool(isGiven), source: isGiven ? .flag(flag.rawValue) : .standard)
        }
    }

    private static func text(_ value: JSONValue) -> String {
        if let elements = value.asArray {
            return elements.isEmpty ? "none" : elements.compactMap(\.asString).joined(separator: ",")
        }
        guard let text = value.asString else { return value.text }
        return text.isEmpty ? "none" : text
    }

    private static func json(_ source: Configuration.Source) -> JSONValue {
        switch source {
        case .standard: .object([.init("kind", .string("default"))])
        case .file(let path, let line):
            .object([
                .init("kind", .string("file")), .init("path", .string(path)),
                .init("line", .int(Int64(line))),
            ])
        case .environment(let variable):
            .object([.init("kind", .string("environment")), .init("variable", .string(variable))])
        case .flag(let flag): .object([.init("kind", .string("flag")), .init("flag", .string(flag))])
        }
    }
}
