// The table of keys, for people: what `holdgate serve --help` and the pages made from it say.
import Wire

extension Configuration.Kind {
    /// What stands for a value in help.
    public var placeholder: String {
        switch self {
        case .number: "NUMBER"
        case .choice(let choices): choices.joined(separator: "|")
        case .addresses: "ADDR"
        case .names: "NAMES"
        case .directory, .optionalDirectory: "DIR"
        case .optionalFile: "FILE"
        }
    }
}

extension Configuration.Key {
    /// What its flag is for.
    public var flagHelp: String { kind == .addresses ? help + " May be repeated." : help }

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
