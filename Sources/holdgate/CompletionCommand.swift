/// `completion`: what a shell reads to complete this command line, made from the table of commands.
enum CompletionCommand {
    static let spec = CommandSpec(
        name: "completion", summary: "what a shell reads to complete holdgate's command line",
        detail: """
            It prints a script that knows the commands, their actions and flags, and the values of those that
            have a fixed few. No host is asked for anything. Print it anew after an upgrade, or let the shell
            read it whenever it starts, as below.
            """,
        actions: [
            Action(name: "bash", summary: "for bash, with or without bash-completion") {
                print(BashCompletion.script, $0)
            },
            Action(name: "zsh", summary: "for zsh") { print(ZshCompletion.script, $0) },
            Action(name: "fish", summary: "for fish") { print(FishCompletion.script, $0) },
        ],
        commonFlags: [.help],
        examples: [
            #"eval "$(holdgate completion bash)"    # in ~/.bashrc"#,
            #"holdgate completion zsh > "${fpath[1]}/_holdgate""#,
            "holdgate completion fish > ~/.config/fish/completions/holdgate.fish",
        ])

    private static func print(_ script: String, _ invocation: Invocation) -> Int32 {
        invocation.console.out(script)
        return 0
    }

    /// Words that stand in a command's place without being one.
    static let others = ["help", "version", "--help", "--version"]

    /// All that is given after `help`.
    static var names: [String] { CommandTable.all.map(\.name) }

    /// The flags that may be given with an action; nil: with any.
    static func flags(_ spec: CommandSpec, _ action: Action?) -> [Flag] {
        guard let action else { return spec.allFlags }
        return spec.flags + action.flags + spec.commonFlags
    }

    /// `text` in single quotes, as every shell here reads it.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
