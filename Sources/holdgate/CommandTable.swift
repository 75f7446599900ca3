/// All commands, in the order in which help lists them.
enum CommandTable {
    /// Commands that belong together.
    struct Group: Sendable {
        let title: String
        let commands: [CommandSpec]
    }

    static let groups = [
        Group(
            title: "Running a host",
            commands: [ServeCommand.spec, ConfigCommand.spec, PluginsCommand.spec, KeysCommand.spec]),
        Group(title: "The gate", commands: LifecycleCommands.all + ConsentCommand.all),
        Group(
            title: "Events",
            commands: EmitCommand.all + [
                DeadLettersCommand.spec, RequeueCommand.spec, QueryCommands.forget,
            ]),
        Group(
            title: "Looking",
            commands: StreamCommands.all + HistoryCommand.all + [
                TopCommand.spec, StatsCommand.spec, QueryCommands.configuration, QueryCommands.ping,
            ]),
        Group(
            title: "Keeping",
            commands: [QueryCommands.configure, JournalCommand.spec, CompletionCommand.spec]),
    ]

    static let all = groups.flatMap(\.commands)

    static func command(_ name: String) -> CommandSpec? { all.first { $0.name == name } }
}
