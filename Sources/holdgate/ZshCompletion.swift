/// The script for zsh: a function of its completion system.
enum ZshCompletion {
    static var script: String {
        """
        #compdef holdgate
        # Completion of holdgate's command line in zsh; made by `holdgate completion zsh`.

        _holdgate() {
            local curcontext="$curcontext"
            local -a commands
            commands=(
        \(CommandTable.all.map { "        " + described($0.name, $0.summary) }.joined(separator: "\n"))
                \(described("help", "what a command does"))
            )
            if ((CURRENT == 2)); then
                _describe -t commands command commands
                return
            fi
            local command=$words[2]
            shift words
            ((CURRENT--))
            case $command in
                help) _arguments ':command:(\(CompletionCommand.names.joined(separator: " ")))' ;;
        \(CommandTable.all.map(arguments).joined(separator: "\n"))
            esac
        }

        # Read by `eval` as well as from a folder of functions.
        if [[ ${funcstack[1]} == _holdgate ]]; then
            _holdgate "$@"
        else
            compdef _holdgate holdgate
        fi

        """
    }

    private static func described(_ name: String, _ summary: String) -> String {
        CompletionCommand.quoted("\(name):\(summary)")
    }

    private static func arguments(_ spec: CommandSpec) -> String {
        var lines = spec.allFlags.map(option)
        if spec.actions.isEmpty {
            lines.append("'*: :'")
        } else {
            let actions = spec.actions.map { #"\#($0.name)\:\#(escaped($0.summary))"# }
            let words = actions.map { $0.split(separator: " ").joined(separator: #"\ "#) }
            lines.append(CompletionCommand.quoted("1:action:((\(words.joined(separator: " "))))"))
            lines.append(
                spec.action("check")?.arguments.hasPrefix("--") == true ? "'*:: :_normal'" : "'*: :'")
        }
        let body = lines.map { "                \($0)" }.joined(separator: " \\\n")
        return "        \(spec.name))\n            _arguments \\\n\(body)\n            ;;"
    }

    private static func option(_ flag: Flag) -> String {
        let text = "[\(escaped(flag.help))]"
        guard let value = flag.value else { return CompletionCommand.quoted(flag.name + text) }
        // Some may be given more than once.
        return CompletionCommand.quoted("*\(flag.name)=\(text):\(escaped(value)):\(action(flag.values))")
    }

    private static func action(_ values: Flag.Values) -> String {
        switch values {
        case .text: " "
        case .file: "_files"
        case .directory: "_files -/"
        case .one(let choices): "(\(choices.joined(separator: " ")))"
        case .some(let choices): "_values -s , value \(choices.joined(separator: " "))"
        }
    }

    /// What has a meaning of its own in a specification.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if #"[]:\()"#.contains(character) || character == "\"" || character == "'" { result += "\\" }
            result.append(character)
        }
        return result
    }
}
