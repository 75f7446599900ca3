/// docs/cli.md, made from the commands' specs as help is: `holdgate help --markdown`.
enum Markdown {
    static var page: String {
        var text = """
            # The command line

            <!-- Made from the commands themselves: `make docs` writes it anew. -->

            `holdgate COMMAND [ARGUMENTS]`. `holdgate COMMAND --help` says the same as this page.


            """
        for group in CommandTable.groups {
            let links = group.commands.map { "[\($0.name)](#holdgate-\($0.name))" }
            text += "- \(group.title): \(links.joined(separator: ", "))\n"
        }
        text += "\n" + paragraphs(Help.addresses) + "\n" + paragraphs("Exit status: \(Help.exitStatus)")
        for group in CommandTable.groups {
            text += "\n## \(group.title)\n" + group.commands.map(section).joined()
        }
        return text
    }

    private static func section(_ spec: CommandSpec) -> String {
        var text =
            "\n### holdgate \(spec.name)\n\n\(sentence(spec.summary))\n\n```\n\(Help.usage(spec))\n```\n"
        if !spec.actions.isEmpty {
            text += table(
                ["action", ""], spec.actions.map { [code(Help.synopsis($0, of: spec)), $0.summary] })
        }
        if !spec.detail.isEmpty { text += "\n" + paragraphs(spec.detail) }
        text += flags(spec)
        if let settings = spec.settings { text += self.settings(settings) }
        if !spec.exitStatus.isEmpty { text += "\n" + paragraphs("Exit status: \(spec.exitStatus)") }
        if !spec.examples.isEmpty {
            text += "\n```sh\n" + spec.examples.map { "\($0)\n" }.joined() + "```\n"
        }
        return text
    }

    /// With the actions that take them, where not all do.
    private static func flags(_ spec: CommandSpec) -> String {
        var rows: [[String]] = []
        for group in Help.actionFlags(spec) {
            let actions = group.actions.joined(separator: ", ")
            rows += group.flags.map { [code(Help.synopsis($0)), "\(actions): \($0.help)"] }
        }
        rows += (spec.flags + spec.commonFlags).map { [code(Help.synopsis($0)), $0.help] }
        return table(["flag", ""], rows)
    }

    private static func settings(_ settings: Settings) -> String {
        let rows = settings.rows.map { [code($0.name), $0.help, $0.standard, $0.allowed] }
        return "\n" + paragraphs(settings.about) + table(["setting", "", "default", "allowed"], rows)
    }

    private static func table(_ head: [String], _ rows: [[String]]) -> String {
        let lines = [head, head.map { _ in "---" }] + rows.map { $0.map(cell) }
        return "\n" + lines.map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }

    private static func cell(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: #"\|"#)
    }

    private static func code(_ text: String) -> String { "`\(text)`" }

    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    private static func paragraphs(_ text: String) -> String {
        Help.split(text).joined(separator: "\n\n") + "\n"
    }
}
