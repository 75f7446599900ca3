import HoldgateClient

/// Decisions, and what stands: through the consent-manager plugin.
enum ConsentCommand {
    static let all = [consent]

    static let consent = CommandSpec(
        name: "consent", summary: "decide whether the gate is open, through consent-manager",
        detail: """
            A decision is on disk when the command returns, and the gate has followed; if it says that the
            gate has not followed yet, it does as soon as the host is there.

            consent-manager asks nobody for a key: whoever reaches its address decides. It knows the host by a
            key of its own.
            """,
        flags: [
            Flag(
                "--consent", "ADDRESS",
                "where consent-manager listens (or HOLDGATE_CONSENT; default: tcp://127.0.0.1:5574)")
        ],
        actions: [
            decision(
                "give", "open the gate", [Flag("--valid-for", "DURATION", "consent expires after so long")]),
            decision("deny", "hold it, and drop what comes"),
            decision("pause", "hold it, and queue what comes"),
            decision("withdraw", "kill it: what was queued is gone, and only a new consent begins anew"),
            Action(name: "show", summary: "what stands, purpose by purpose", run: perform),
            Action(
                name: "receipt", arguments: "[NUMBER]", argumentCount: 0...1,
                summary: "a decision's receipt, the last one's without a NUMBER", run: perform),
        ],
        commonFlags: [
            Flag("--timeout", "DURATION", "give up when nothing answers for so long (default: 5s)"), .json,
            .help,
        ],
        examples: [
            "holdgate consent give --method web-form --valid-for 365d", "holdgate consent show",
            "holdgate consent receipt 3 --json | jq .receipt",
        ])

    private static func decision(_ verb: String, _ summary: String, _ more: [Flag] = []) -> Action {
        Action(
            name: verb, summary: summary,
            flags: [
                Flag("--purpose", "NAME", "decide on one purpose only (default: on all)"),
                Flag("--method", "TEXT", "how it was expressed: a form, a call, a setting"),
                Flag("--notice-version", "TEXT", "of the notice that the subject was shown"),
            ] + more, run: perform)
    }

    private static func perform(_ invocation: Invocation) throws -> Int32 {
        let verb = invocation.action?.name ?? ""
        let reply = try JSONExchange.ask(
            .object(try members(verb, invocation)), at: address(invocation), timeout: invocation.timeout())
        let isOK = reply.value["ok"]?.asBool ?? false
        if invocation.isJSON {
            Report.json(reply.text, invocation.console)
        } else if isOK {
            invocation.console.out(text(verb, reply.value, invocation.console))
        } else {
            let message = reply.value["error"]?["message"]?.asString ?? reply.text
            invocation.console.err("holdgate consent: \(message)\n")
        }
        return isOK ? 0 : 1
    }

    private static func address(_ invocation: Invocation) -> String {
        if let address = invocation.values["--consent"] { return address }
        let address = invocation.console.environment("HOLDGATE_CONSENT") ?? ""
        return address.isEmpty ? "tcp://127.0.0.1:5574" : address
    }

    private static func members(_ verb: String, _ invocation: Invocation) throws -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [.init("command", .string(verb))]
        if let text = invocation.arguments.first {
            guard let number = UInt64(text) else {
                throw UsageError(
                    "consent receipt \(text): the number of a decision, as `consent show` has it")
            }
            members.append(.init("decision", .uint(number)))
        }
        for (flag, name) in [
            ("--purpose", "purpose"), ("--method", "method"), ("--notice-version", "noticeVersion"),
        ] {
            if let value = invocation.values[flag] { members.append(.init(name, .string(value))) }
        }
        if let duration = try invocation.duration("--valid-for") {
            members.append(.init("validForMs", .int(ms(duration))))
        }
        // It is decided at once, and told once the gate has followed: before nobody waits for that any more.
        if verb != "show", verb != "receipt" {
            let waitMs = min(ms(try invocation.timeout()) / 5 * 3, longestWaitMs)
            members.append(.init("waitMs", .int(waitMs)))
        }
        return members
    }

    /// What consent-manager allows.
    private static let longestWaitMs: Int64 = 60_000

    private static func ms(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }

    private static func text(_ verb: String, _ reply: JSONValue, _ console: Console) -> String {
        if verb == "receipt" { return (reply["receipt"]?.text ?? "") + "\n" }
        let consent = reply["consent"]?.asString ?? "unknown"
        let host = reply["host"]
        let state = host?["state"]?.asString.flatMap(LifecycleState.init(rawValue:))
        let gate = state.map { Report.state($0, console) } ?? "not seen yet"
        guard reply["applied"]?.asBool == true else {
            let problem = reply["problem"]?.asString ?? "unknown"
            return "consent \(consent); the gate (\(gate)) has not followed yet: \(problem)\n"
        }
        let closed = reply["closedBy"]?.asString.map { ", closed by \($0) since" } ?? ""
        let decisions = (reply["receipts"]?.asArray ?? []).compactMap { $0["decision"]?.asUInt64 }
        let numbers =
            decisions.isEmpty ? "" : " (decision \(decisions.map(String.init).joined(separator: ", ")))"
        var text = "consent \(consent)\(numbers), the gate is \(gate)\(closed)\n"
        guard verb == "show" else { return text }
        let count = reply["verified"]?.asUInt64 ?? 0
        text += count == 1 ? "1 decision, all linked\n" : "\(count) decisions, all linked\n"
        let rows = (reply["purposes"]?.asArray ?? []).map { row in
            ["purpose", "state", "decision", "time", "expires"].map { name in
                row[name]?.asString ?? row[name]?.asUInt64.map(String.init) ?? "-"
            }
        }
        return text + Table.columns(["PURPOSE", "STATE", "DECISION", "SINCE", "EXPIRES"], rows)
    }
}
