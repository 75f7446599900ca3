import HoldgateClient

/// The executable as a function of its arguments.
enum Tool {
    static let version = "0.1.0"

    /// Returns the exit status.
    static func run(_ arguments: [String], _ console: Console) -> Int32 {
        guard let name = arguments.first else {
            console.err(Help.overview)
            return 2
        }
        let rest = Array(arguments.dropFirst())
        switch name {
        case "serve": return ServeCommand.run(rest)
        case "--version", "version":
            console.out("holdgate \(version)\n")
            return 0
        case "--help", "-h", "help": return help(rest, console)
        default:
            guard let spec = CommandTable.command(name) else { return unknown(name, console) }
            return run(spec, rest, console)
        }
    }

    private static func help(_ rest: [String], _ console: Console) -> Int32 {
        guard let name = rest.first else {
            console.out(Help.overview)
            return 0
        }
        if name == "serve" { return ServeCommand.run(["--help"]) }
        guard let spec = CommandTable.command(name) else { return unknown(name, console) }
        console.out(Help.of(spec))
        return 0
    }

    private static func unknown(_ name: String, _ console: Console) -> Int32 {
        let names = CommandTable.all.map(\.name) + ["serve"]
        let near = Nearest.of(name, in: names).map { "; did you mean \($0)?" } ?? "."
        console.err("holdgate: there is no command \(name)\(near) `holdgate --help` lists them\n")
        return 2
    }

    private static func run(_ spec: CommandSpec, _ rest: [String], _ console: Console) -> Int32 {
        let invocation: Invocation
        do {
            invocation = try Invocation(spec, rest, console)
            if invocation.has("--help") {
                console.out(Help.of(spec))
                return 0
            }
            return try spec.run(invocation)
        } catch let error as UsageError {
            console.err("holdgate: \(error.message). `holdgate \(spec.name) --help` says more\n")
            return 2
        } catch let error as HoldgateError {
            return Report.failure(error, of: spec, isJSON: rest.contains("--json"), console)
        } catch {
            console.err("holdgate \(spec.name): \(error)\n")
            return 1
        }
    }
}

/// What help says, made from the commands' specs.
enum Help {
    static var overview: String {
        let rows = [("serve", "run a host")] + CommandTable.all.map { ($0.name, $0.summary) }
        return """
            holdgate: a gate for event streams. Nothing passes while it is held.

            usage: holdgate COMMAND [ARGUMENTS]

            \(aligned(rows))
            `holdgate COMMAND --help` says more about each, `holdgate --version` which version this is.

            Addresses: flags, else HOLDGATE_CONTROL, HOLDGATE_STREAM and HOLDGATE_INGEST, else the ports 5570 to 5572
            of this machine. Keys, where the host asks for them over TCP: --key FILE or HOLDGATE_KEY_FILE; `holdgate keys`
            makes them. Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 no host answered.

            """
    }

    static func of(_ spec: CommandSpec) -> String {
        var text = "holdgate \(spec.name): \(spec.summary)\n\nusage: holdgate \(spec.name)"
        if !spec.arguments.isEmpty { text += " \(spec.arguments)" }
        text += " [FLAGS]\n"
        if !spec.detail.isEmpty { text += "\n\(spec.detail)\n" }
        let rows = spec.allFlags.map { flag in
            (flag.value.map { "\(flag.name) \($0)" } ?? flag.name, flag.help)
        }
        text += "\n" + aligned(rows)
        if !spec.examples.isEmpty {
            text += "\nFor example:\n" + spec.examples.map { "  \($0)\n" }.joined()
        }
        return text
    }

    private static func aligned(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "  \(Table.padded($0.0, width))  \($0.1)\n" }.joined()
    }
}

/// The closest of some names, for "did you mean".
enum Nearest {
    static func of(_ word: String, in names: [String]) -> String? {
        let scored = names.map { (name: $0, distance: distance(Array(word), Array($0))) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(2, word.count / 3) ? best.name : nil
    }

    /// How many letters must be put in, taken out or replaced.
    private static func distance(_ a: [Character], _ b: [Character]) -> Int {
        var row = Array(0...b.count)
        for (i, letter) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in b.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(diagonal + (letter == other ? 0 : 1), above + 1, row[j] + 1)
                diagonal = above
            }
        }
        return row[b.count]
    }
}

/// `500ms`, `30s`, `5m`, `1h`, `2d`: a unit is required, since a bare number may mean any.
enum Durations {
    private static let units: [(String, Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    static func parse(_ text: String, for flag: String) throws -> Duration {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard let number = Int64(digits), let scale = units.first(where: { $0.0 == unit })?.1,
            !number.multipliedReportingOverflow(by: scale).overflow
        else {
            throw UsageError(
                "\(flag) \(text): a duration is a whole number and a unit, as 500ms, 30s, 5m or 1h")
        }
        return .milliseconds(number * scale)
    }

    /// As `parse` reads it, in the largest unit that fits twice or exactly.
    static func text(ms: Int64) -> String {
        for (name, scale) in units.reversed() where ms >= scale && (ms % scale == 0 || ms >= 2 * scale) {
            return "\(ms / scale)\(name)"
        }
        return "\(ms)ms"
    }
}
