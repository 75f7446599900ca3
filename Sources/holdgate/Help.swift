/// What help says, made from the commands' specs.
enum Help {
    /// Lines are broken to fit a terminal's.
    static let width = 80

    static var overview: String {
        let column = (CommandTable.all.map(\.name.count).max() ?? 0) + 4
        var text = """
            holdgate: a gate for event streams. Nothing passes while it is held.

            usage: holdgate COMMAND [ARGUMENTS]

            """
        for group in CommandTable.groups {
            text += "\n\(group.title):\n" + rows(group.commands.map { ($0.name, $0.summary) }, column: column)
        }
        return text + "\n" + paragraphs(common)
    }

    /// What holds for all commands.
    private static let common = """
        `holdgate COMMAND --help` says more about each, `holdgate --version` which version this is.

        \(addresses)

        Exit status: \(exitStatus)
        """

    static let addresses = """
        Addresses: flags, else HOLDGATE_CONTROL, HOLDGATE_STREAM and HOLDGATE_INGEST, else the ports 5570 to 5572
        of this machine. Keys, where the host asks for them over TCP: --key FILE or HOLDGATE_KEY_FILE; `holdgate keys`
        makes them.
        """

    static let exitStatus = "0 done, 1 refused or failed, 2 wrong usage, 3 no host answered."

    static func of(_ spec: CommandSpec) -> String {
        var text = paragraphs("holdgate \(spec.name): \(spec.summary)") + "\nusage: \(usage(spec))\n"
        if !spec.actions.isEmpty {
            text += "\n" + rows(spec.actions.map { (synopsis($0, of: spec), $0.summary) })
        }
        if !spec.detail.isEmpty { text += "\n" + paragraphs(spec.detail) }
        text += "\n" + flags(spec)
        if let settings = spec.settings { text += "\n" + self.settings(settings) }
        if !spec.exitStatus.isEmpty { text += "\n" + paragraphs("Exit status: " + spec.exitStatus) }
        if !spec.examples.isEmpty {
            text += "\nFor example:\n" + spec.examples.map { "  \($0)\n" }.joined()
        }
        return text
    }

    static func usage(_ spec: CommandSpec) -> String {
        var words = ["holdgate", spec.name]
        if !spec.actions.isEmpty {
            words.append(spec.defaultAction == nil ? "ACTION" : "[ACTION]")
        } else if !spec.arguments.isEmpty {
            words.append(spec.arguments)
        }
        return (words + ["[FLAGS]"]).joined(separator: " ")
    }

    /// An action as it is written, and whether it is the one that is meant without a name.
    static func synopsis(_ action: Action, of spec: CommandSpec) -> String {
        let name = spec.defaultAction == action.name ? "[\(action.name)]" : action.name
        return action.arguments.isEmpty ? name : "\(name) \(action.arguments)"
    }

    /// Those of some actions alone come first, under the actions' names.
    private static func flags(_ spec: CommandSpec) -> String {
        var text = ""
        let column = (spec.allFlags.map { synopsis($0).count }.max() ?? 0) + 4
        for group in actionFlags(spec) {
            text += "\(group.actions.joined(separator: ", ")):\n"
            text += rows(group.flags.map { (synopsis($0), $0.help) }, column: column) + "\n"
        }
        return text + rows((spec.flags + spec.commonFlags).map { (synopsis($0), $0.help) }, column: column)
    }

    /// The flags that not all actions take, with those that do.
    static func actionFlags(_ spec: CommandSpec) -> [(actions: [String], flags: [Flag])] {
        var groups: [(actions: [String], flags: [Flag])] = []
        for flag in spec.allFlags {
            let actions = spec.actions.filter { $0.flags.contains { $0.name == flag.name } }.map(\.name)
            guard !actions.isEmpty else { continue }
            if let at = groups.firstIndex(where: { $0.actions == actions }) {
                groups[at].flags.append(flag)
            } else {
                groups.append((actions, [flag]))
            }
        }
        return groups
    }

    private static func settings(_ settings: Settings) -> String {
        var text = paragraphs(settings.about)
        for row in settings.rows {
            text += "\n  \(row.name)\n"
            for line in [row.help, "default: \(row.standard)", "allowed: \(row.allowed)"] {
                text += rows([("", line)], column: 6)
            }
        }
        return text
    }

    static func synopsis(_ flag: Flag) -> String { flag.value.map { "\(flag.name) \($0)" } ?? flag.name }

    // MARK: Setting

    /// Names at the margin, what they mean beside them from `column` on.
    static func rows(_ rows: [(String, String)], column: Int? = nil) -> String {
        let column = column ?? (rows.map(\.0.count).max() ?? 0) + 4
        let margin = String(repeating: " ", count: column)
        return rows.map { name, meaning in
            let lines = wrapped(meaning, width: width - column)
            return "  \(Table.padded(name, column - 2))\(lines.joined(separator: "\n\(margin)"))\n"
        }.joined()
    }

    /// Paragraphs, parted by an empty line, filled anew.
    static func paragraphs(_ text: String) -> String {
        split(text).map { wrapped($0, width: width).joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    /// The paragraphs, each in one line.
    static func split(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "").map { lines in
            lines.joined(separator: " ")
        }
    }

    /// Broken between words; a word that is longer has a line of its own.
    static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        return lines + [line]
    }
}
