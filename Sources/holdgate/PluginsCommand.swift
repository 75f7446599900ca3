import HoldgateClient

/// `holdgate plugins`: who is attached; and the plugins that the host starts itself.
enum PluginsCommand {
    static let spec = CommandSpec(
        name: "plugins", arguments: "[start|stop|restart NAME | check -- COMMAND…]",
        argumentCount: 0...512,
        summary: "who is attached, and how far each is; start, stop, restart or check one",
        detail: """
            start, stop and restart are for plugins that the host starts itself (serve --plugins DIR), and end once it is
            done. A plugin that was stopped stays so until it is started, or the host is.
            check needs no host: it starts COMMAND, any plugin in any language, against a scripted one, and says promise by
            promise what it keeps of the contract. Exit status 1 if one is broken. --timeout is for each answer.
            """,
        flags: [.control],
        examples: [
            "holdgate plugins", "holdgate plugins restart file-collector",
            "holdgate plugins --json | jq '.plugins[].lagEvents'",
            "holdgate plugins check -- file-collector --dir /tmp/check",
        ]
    ) { invocation in
        if invocation.arguments.first == "check" { return try PluginCheckCommand.run(invocation) }
        switch invocation.arguments.count {
        case 0: return try list(invocation)
        case 1:
            throw UsageError("plugins \(invocation.arguments[0]) needs a name: start|stop|restart NAME")
        case 2: return try act(invocation)
        default: throw UsageError("plugins does not take \"\(invocation.arguments[2])\"")
        }
    }

    private static func act(_ invocation: Invocation) throws -> Int32 {
        let (word, name) = (invocation.arguments[0], invocation.arguments[1])
        guard let action = PluginAction(rawValue: word) else {
            throw UsageError(
                "plugins \(word): one of \(PluginAction.allCases.map(\.rawValue).joined(separator: ", "))")
        }
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
