/// A command: what its help says, what may be given, and what it does.
struct CommandSpec: Sendable {
    let name: String
    /// Positional arguments as help shows them, as `TYPE [DATA]`.
    var arguments = ""
    /// How many positional arguments may be given.
    var argumentCount = 0...0
    /// One line.
    let summary: String
    /// More, for its own help: paragraphs parted by an empty line.
    var detail = ""
    var flags: [Flag] = []
    /// What the first argument chooses among, if it does.
    var actions: [Action] = []
    /// The one that is meant when none is named.
    var defaultAction: String?
    /// Those that it shares with other commands.
    var commonFlags = Flag.asking
    var examples: [String] = []
    /// What its exit status says, beside what it says of every command.
    var exitStatus = ""
    /// It reads its arguments itself: all flags are handed on as they came.
    var isRaw = false
    /// What its file of settings may hold, if it has one.
    var settings: Settings?
    /// Returns the exit status.
    var run: @Sendable (Invocation) throws -> Int32 = { try $0.act() }

    /// All that it takes.
    var allFlags: [Flag] {
        var all = flags
        for flag in actions.flatMap(\.flags) where !all.contains(where: { $0.name == flag.name }) {
            all.append(flag)
        }
        return all + commonFlags
    }

    func action(_ name: String) -> Action? { actions.first { $0.name == name } }
}

/// One of the things that a command does, named by its first argument: `new` of `keys`.
struct Action: Sendable {
    let name: String
    var arguments = ""
    var argumentCount = 0...0
    /// One line.
    let summary: String
    /// What the command's other actions don't take.
    var flags: [Flag] = []
    /// Returns the exit status.
    let run: @Sendable (Invocation) throws -> Int32
}

/// What a configuration file may hold.
struct Settings: Sendable {
    struct Row: Sendable {
        let name: String
        let help: String
        let standard: String
        let allowed: String
    }

    let about: String
    let rows: [Row]
}
