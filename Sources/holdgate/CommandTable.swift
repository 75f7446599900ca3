/// All client commands, in the order in which help lists them.
enum CommandTable {
    static let all: [CommandSpec] =
        LifecycleCommands.all + ConsentCommand.all + StreamCommands.all + EmitCommand.all + HistoryCommand.all
        + QueryCommands.all + [KeysCommand.spec]

    static func command(_ name: String) -> CommandSpec? { all.first { $0.name == name } }
}
