/// The script for fish.
enum FishCompletion {
    static var script: String {
        var lines = [
            """
            # Completion of holdgate's command line in fish; made by `holdgate completion fish`.

            # Whether no command is there yet.
            function __holdgate_needs_command
                test (count (commandline -opc)) -eq 1
            end

            # Whether the command is $argv[1].
            function __holdgate_command
                set -l words (commandline -opc)
                test (count $words) -ge 2; and test $words[2] = $argv[1]
            end

            # The first word after the command that is no flag.
            function __holdgate_action
                for word in (commandline -opc)[3..]
                    if not string match -q -- '-*' $word
                        echo $word
                        return
                    end
                end
            end

            # Whether the command is $argv[1], and its action one of the others; '' is none yet.
            function __holdgate_acts
                __holdgate_command $argv[1]; and contains -- "$(__holdgate_action)" $argv[2..]
            end

            complete -c holdgate -f
            """
        ]
        lines += CommandTable.all.map { command($0.name, $0.summary) }
        lines.append(command("help", "what a command does"))
        lines.append(
            "complete -c holdgate -n '__holdgate_command help' -a "
                + CompletionCommand.quoted(CompletionCommand.names.joined(separator: " ")))
        for spec in CommandTable.all {
            for action in spec.actions {
                lines.append(
                    "complete -c holdgate -n '__holdgate_acts \(spec.name) \"\"' -a \(action.name) "
                        + "-d \(quoted(action.summary))")
            }
            for flag in spec.flags + spec.commonFlags {
                lines.append(option(flag, "__holdgate_command \(spec.name)"))
            }
            for group in Help.actionFlags(spec) {
                let actions = group.actions.joined(separator: " ")
                lines += group.flags.map { option($0, "__holdgate_acts \(spec.name) \(actions)") }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func command(_ name: String, _ summary: String) -> String {
        "complete -c holdgate -n __holdgate_needs_command -a \(name) -d \(quoted(summary))"
    }

    private static func option(_ flag: Flag, _ condition: String) -> String {
        var line = "complete -c holdgate -n \(quoted(condition)) -l \(flag.name.dropFirst(2))"
        if flag.value != nil {
            switch flag.values {
            case .text: line += " -x"
            case .file: line += " -r -F"
            case .directory: line += " -x -a '(__fish_complete_directories)'"
            case .one(let choices): line += " -x -a \(quoted(choices.joined(separator: " ")))"
            case .some(let choices):
                line += " -x -a \(quoted("(__fish_append , \(choices.joined(separator: " ")))"))"
            }
        }
        return line + " -d \(quoted(flag.help))"
    }

    /// In fish a backslash means itself between single quotes, but before one of them.
    private static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"\'"#) + "'"
    }
}
