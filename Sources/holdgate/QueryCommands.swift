import HoldgateClient

/// The commands that ask, and those that change something beside the gate.
enum QueryCommands {
    static let forget = CommandSpec(
        name: "forget", arguments: "NAME", argumentCount: 1...1,
        summary: "stop keeping events for a durable collector",
        detail: "What was kept for it alone is let go, and a drain no longer waits for it.",
        flags: [.control, .source],
        examples: ["holdgate forget old-collector"]
    ) { invocation in
        let answer = try invocation.ask(.forget(name: invocation.arguments[0]))
        if !invocation.printed(answer) { invocation.console.out("\(invocation.arguments[0]) is forgotten\n") }
        return 0
    }

    static let configuration = CommandSpec(
        name: "configuration", summary: "the configuration kept inside the host", flags: [.control],
        examples: ["holdgate configuration | jq ."]
    ) { invocation in
        let answer = try invocation.ask(.configuration)
        if !invocation.printed(answer) {
            invocation.console.out((answer.value["configuration"] ?? .object([])).text + "\n")
        }
        return 0
    }

    static let configure = CommandSpec(
        name: "configure", arguments: "[PATCH]", argumentCount: 0...1,
        summary: "change the configuration kept inside the host",
        detail:
            "PATCH is a JSON object, an RFC 7396 merge patch: what it names is set, and null takes a member away.",
        flags: [
            Flag("--file", "FILE", "read the patch from there (- is standard input)"), .control, .source,
        ],
        examples: [
            #"holdgate configure '{"geofences":[{"name":"home","radius":50}]}'"#,
            "holdgate configure --file patch.json",
        ]
    ) { invocation in
        let patch: String
        switch (invocation.arguments.first, invocation.values["--file"]) {
        case (let text?, nil): patch = text
        case (nil, let path?):
            patch = try InputFile.contents(of: path, limit: WireLimits().maxConfigurationBytes)
        case (nil, nil), (_?, _?): throw UsageError("configure needs either a PATCH or --file")
        }
        let value: JSONValue
        do throws(WireError) {
            value = try JSONValue.parse(patch)
        } catch {
            throw UsageError("the patch is \(error.message)")
        }
        guard value.asMembers != nil else { throw UsageError("the patch is no JSON object") }
        let answer = try invocation.ask(.configure(patch: value.text))
        if !invocation.printed(answer) {
            invocation.console.out((answer.value["configuration"] ?? .object([])).text + "\n")
        }
        return 0
    }

    static let ping = CommandSpec(
        name: "ping", summary: "whether a host answers", flags: [.control],
        examples: ["holdgate ping --timeout 1s"]
    ) { invocation in
        let answer = try invocation.ask(.ping)
        if !invocation.printed(answer) {
            invocation.console.out(
                "\(invocation.endpoints.control) answers, \(answer.status.state.rawValue)\n")
        }
        return 0
    }
}

extension Invocation {
    /// Sends a command as it is.
    func ask(_ command: ControlCommand) throws -> Answer {
        try holdgate().performBlocking(.raw(ControlRequest(command)))
    }

    /// Prints the reply for programs, if that was asked for.
    func printed(_ answer: Answer) -> Bool {
        if isJSON { Report.json(answer.text, console) }
        return isJSON
    }
}
