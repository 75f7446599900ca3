/// The script for bash. It needs nothing but bash, and no host.
enum BashCompletion {
    static var script: String {
        """
        # Completion of holdgate's command line in bash; made by `holdgate completion bash`.

        # What may stand where a command, an action or a flag of "$1" (command, or command/action) is written.
        _holdgate_words() {
            case $1 in
        \(words)
            esac
        }

        # What the value of a flag, command/--flag, may be: file, dir, one or some with the words, text; none: no value.
        _holdgate_value() {
            case $1 in
        \(values)
            esac
        }

        # Fills COMPREPLY with those of the lines read that begin with "$2", each behind "$1".
        _holdgate_fill() {
            local line
            COMPREPLY=()
            while IFS= read -r line; do
                [[ $line == "$2"* ]] && COMPREPLY+=("$1$line")
            done
        }

        _holdgate() {
            local current=${COMP_WORDS[COMP_CWORD]-} flag= ahead= command=${COMP_WORDS[1]-} action= word kind=
            local index isEnd=
            COMPREPLY=()
            if ((COMP_CWORD == 1)); then
                _holdgate_fill "" "$current" < <(_holdgate_words "")
                return
            fi

            # The action is the first word that is no flag and no flag's value.
            for ((index = 2; index < COMP_CWORD; index++)); do
                word=${COMP_WORDS[index]}
                case $word in
                    --) isEnd=1 ;;
                    =) ((index++)) ;;
                    -*)
                        [[ ${COMP_WORDS[index + 1]-} != "=" && -n $(_holdgate_value "$command/$word") ]] && ((index++))
                        ;;
                    *) [[ -z $action && -z $isEnd ]] && action=$word ;;
                esac
            done

            # bash cuts --flag=value in three.
            if [[ -z $isEnd ]]; then
                if [[ $current == "=" ]]; then
                    flag=${COMP_WORDS[COMP_CWORD - 1]} current=
                elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == "=" ]]; then
                    flag=${COMP_WORDS[COMP_CWORD - 2]}
                elif [[ $current == --*=* ]]; then
                    flag=${current%%=*} ahead=$flag= current=${current#*=}
                elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --* ]]; then
                    flag=${COMP_WORDS[COMP_CWORD - 1]}
                fi
                kind=$(_holdgate_value "$command/$flag")
            fi

            if [[ -n $flag && -n $kind ]]; then
                case $kind in
                    file | dir)
                        compopt -o filenames 2>/dev/null
                        if [[ $kind == file ]]; then
                            _holdgate_fill "$ahead" "" < <(compgen -f -- "$current")
                        else
                            _holdgate_fill "$ahead" "" < <(compgen -d -- "$current")
                        fi
                        ;;
                    one*) _holdgate_fill "$ahead" "$current" < <(printf '%s\\n' ${kind#one }) ;;
                    some*)
                        # Behind the last comma.
                        [[ $current == *,* ]] && ahead+=${current%,*},
                        compopt -o nospace 2>/dev/null
                        _holdgate_fill "$ahead" "${current##*,}" < <(printf '%s\\n' ${kind#some })
                        ;;
                esac
                return
            fi
            if [[ $current == -* && -z $isEnd ]]; then
                _holdgate_fill "" "$current" < <(_holdgate_words "$command/$action")
            elif [[ -n $isEnd && $command/$action == plugins/check ]]; then
                _holdgate_fill "" "" < <(compgen -c -- "$current")
            elif [[ -z $action ]]; then
                _holdgate_fill "" "$current" < <(_holdgate_words "$command")
            fi
        }

        complete -F _holdgate holdgate

        """
    }

    private static var words: String {
        var lines = [entry("\"\"", CompletionCommand.names + CompletionCommand.others)]
        lines.append(entry("help", CompletionCommand.names))
        for spec in CommandTable.all {
            for action in spec.actions {
                let flags = CompletionCommand.flags(spec, action).map(\.name)
                lines.append(entry("\(spec.name)/\(action.name)", flags))
            }
            if !spec.actions.isEmpty { lines.append(entry(spec.name, spec.actions.map(\.name))) }
            lines.append(entry("\(spec.name)/*", CompletionCommand.flags(spec, nil).map(\.name)))
        }
        return lines.joined(separator: "\n")
    }

    private static func entry(_ place: String, _ words: [String]) -> String {
        "        \(place)) printf '%s\\n' \(words.joined(separator: " ")) ;;"
    }

    private static var values: String {
        var places: [(kind: String, places: [String])] = []
        for spec in CommandTable.all {
            for flag in spec.allFlags where flag.value != nil {
                let kind = kind(flag.values)
                let place = "\(spec.name)/\(flag.name)"
                if let at = places.firstIndex(where: { $0.kind == kind }) {
                    places[at].places.append(place)
                } else {
                    places.append((kind, [place]))
                }
            }
        }
        return places.map { "        \($0.places.joined(separator: " | "))) echo '\($0.kind)' ;;" }
            .joined(separator: "\n")
    }

    private static func kind(_ values: Flag.Values) -> String {
        switch values {
        case .text: "text"
        case .file: "file"
        case .directory: "dir"
        case .one(let choices): "one " + choices.joined(separator: " ")
        case .some(let choices): "some " + choices.joined(separator: " ")
        }
    }
}
