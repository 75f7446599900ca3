import HoldgateClient

/// `holdgate plugins`: who is attached; and the plugins that the host starts itself.
enum PluginsCommand {
    static let spec = CommandSpec(
        name: "plugins", summary: "who is attached, and how far each is; start, stop, restart or check one",
        detail: """
            start, stop and restart are for plugins that the host starts itself (serve --plugins DIR), and end
            once it is done. A plugin that was stopped stays so until it is started, or the host is.

            check needs no host: it starts COMMAND, any plugin in any language, against a scripted one, and
            says promise by promise what it keeps of the contract. --timeout is for each answer then.
            """,
        flags: [.control],
        actions: [Action(name: "list", summary: "who is attached, or known", run: list)]
            + PluginAction.allCases.map { action in
                Action(
                    name: action.rawValue, arguments: "NAME", argumentCount: 1...1, summary: summary(action)
                ) { try act(action, $0) }
            } + [
                Action(
                    name: "check", arguments: "-- COMMAND…", argumentCount: 0...512,
                    summary: "whether a plugin keeps the contract", run: PluginCheckCommand.run)
            ],
        defaultAction: "list",
        examples: [
            "holdgate plugins", "holdgate plugins restart file-collector",
            "holdgate plugins --json | jq '.plugins[].lagEvents'",
            "holdgate plugins check -- file-collector --dir /tmp/check",
        ],
        exitStatus: "1 as well when check finds a promise broken.")

    private static func summary(_ action: PluginAction) -> String {
        switch action {
        case .start: "start one that was stopped"
        case .stop: "stop one, until it is started again"
        case .restart: "stop one, and start it again"
        }
    }

    private static func act(_ action: PluginAction, _ invocation: Invocation) throws -> Int32 {
        let name = invocation.arguments[0]
        let answer = try invocation.ask(.plugin(name: name, action))
        guard !invocation.printed(answer) else { return 0 }
        let done =
            switch action {
            case .start: "runs"
            case .stop: "is stopped"
            case .restart: "runs again"
            }
        invocation.console.out("\(name) \(done)\n")
        return 0
    }

    private static func list(_ invocation: Invocation) throws -> Int32 {
        let answer = try invocation.ask(.plugins)
        if invocation.printed(answer) { return 0 }
        let rows = (answer.value["plugins"]?.asArray ?? []).map { plugin in
            [
                plugin["name"]?.asString ?? "", plugin["state"]?.asString ?? "", process(plugin),
                plugin["version"]?.asString ?? "-", plugin["durable"]?.asBool == true ? "durable" : "-",
                plugin["cursor"]?.asUInt64.map { String($0) } ?? "-",
                plugin["lagEvents"]?.asUInt64.map { Report.events($0) } ?? "-",
            ]
        }
        let head = ["NAME", "STATE", "PROCESS", "VERSION", "KEPT FOR", "CURSOR", "BEHIND"]
        invocation.console.out(rows.isEmpty ? "none is attached or known\n" : Table.columns(head, rows))
        return 0
    }

    /// Of one that the host started; others are their own business.
    private static func process(_ plugin: JSONValue) -> String {
        guard let process = plugin["process"]?.asString else { return "-" }
        var text = process
        if let pid = plugin["pid"]?.asInt64 { text += " \(pid)" }
        if let restarts = plugin["restarts"]?.asUInt64, restarts > 0 {
            text += restarts == 1 ? ", restarted once" : ", restarted \(restarts) times"
        }
        return text
    }
}
