import HoldgateClient

/// `dead-letters`: the events that a collector has rejected, for a person, for a file, or back into the queue.
enum DeadLettersCommand {
    static let spec = CommandSpec(
        name: "dead-letters",
        summary: "events that a collector has rejected, and why; export or requeue them",
        detail: """
            list shows the first \(listLimit) unless --limit says otherwise, and says how to go on if there are more. All
            letters of one seq come together, so that there may be a few more than --limit.

            export writes a line of JSON each: seq, collector, reason, time, and the event as it was sent. A
            file is there whole under its name, or not at all; it can be read by you alone, since events may
            be about people.

            requeue sends them to the queue's end again, as new events for all collectors; they are no dead
            letters then.
            """,
        flags: [.control],
        actions: [
            Action(
                name: "list", summary: "what was rejected, when, by whom and why",
                flags: [after, Flag("--limit", "COUNT", "at most so many (default: \(listLimit))")], run: list
            ),
            Action(
                name: "export", summary: "all of them, events included",
                flags: [after, Flag("--output", "FILE", "where to (default: standard output)")], run: export),
            Action(
                name: "requeue", arguments: "SEQ… | --all", argumentCount: 0...RequeueCommand.argumentLimit,
                summary: "send them again",
                flags: [
                    Flag("--all", nil, "all that there are now; asks first"),
                    Flag("--yes", nil, "don't ask"),
                ], run: requeue),
        ],
        defaultAction: "list",
        examples: [
            "holdgate dead-letters", "holdgate dead-letters list --after 1000 --limit 10",
            "holdgate dead-letters export --output letters.ndjson", "holdgate dead-letters requeue 17 18",
            "holdgate dead-letters requeue --all",
        ],
        exitStatus: "1 as well when not all that was asked for could be queued again.")

    private static let after = Flag("--after", "SEQ", "those after this one")
    private static let listLimit: UInt64 = 10_000

    /// One letter as the host has sent it.
    private struct Letter {
        let text: String
        let value: JSONValue
        var seq: UInt64 { value["seq"]?.asUInt64 ?? 0 }

        var row: [String] {
            let event = value["event"]
            return [
                "\(seq)", value["time"]?.asString ?? "-", value["collector"]?.asString ?? "-",
                value["reason"]?.asString ?? "-", event?["type"]?.asString ?? "-",
                event?["id"]?.asString ?? "-",
            ].map { Table.cell($0) }
        }
    }

    private static func list(_ invocation: Invocation) throws -> Int32 {
        let limit = try invocation.count("--limit", atLeast: 1) ?? listLimit
        var letters: [Letter] = []
        var isMore = false
        try pages(invocation, limit: { limit - min(limit, UInt64(letters.count)) }) { page in
            letters += page
            isMore = letters.count >= limit
        }
        if isMore, let last = letters.last {
            isMore = try !page(invocation, after: last.seq, limit: 1).isEmpty
        }
        if invocation.isJSON {
            let texts = letters.map(\.text).joined(separator: ",")
            Report.json(#"{"ok":true,"deadLetters":[\#(texts)],"more":\#(isMore)}"#, invocation.console)
            return 0
        }
        let head = ["SEQ", "TIME", "COLLECTOR", "REASON", "TYPE", "ID"]
        invocation.console.out(
            letters.isEmpty ? "no dead letters\n" : Table.columns(head, letters.map(\.row)))
        if isMore, let last = letters.last {
            invocation.console.err(
                "There are more than these \(letters.count): `holdgate dead-letters --after \(last.seq)` goes on, "
                    + "and export has all.\n")
        }
        return 0
    }

    private static func export(_ invocation: Invocation) throws -> Int32 {
        let console = invocation.console
        let path = invocation.values["--output"] ?? "-"
        let file = path == "-" ? nil : try OutputFile(path)
        var count: UInt64 = 0
        try pages(invocation) { page in
            let text = page.map { $0.text + "\n" }.joined()
            if let file { try file.write(text) } else { try console.write(text) }
            count += UInt64(page.count)
        }
        try file?.finish()
        guard file != nil else { return 0 }
        if invocation.isJSON {
            Report.json(
                JSONValue.object([
                    .init("ok", .bool(true)), .init("exported", .uint(count)), .init("file", .string(path)),
                ]).text, console)
        } else {
            console.out("\(Report.letters(count)) in \(path)\n")
        }
        return 0
    }

    private static func requeue(_ invocation: Invocation) throws -> Int32 {
        let given = try RequeueCommand.seqs(invocation.arguments)
        guard invocation.has("--all") != !given.isEmpty else {
            throw UsageError("dead-letters requeue needs either SEQs or --all")
        }
        guard invocation.has("--all") else { return try RequeueCommand.run(given, invocation) }
        guard invocation.has("--yes") || invocation.console.isAnybodyThere else {
            throw UsageError("dead-letters requeue --all needs --yes where nobody can be asked")
        }
        var seqs: [UInt64] = []
        var count: UInt64 = 0
        try pages(invocation) { page in
            count += UInt64(page.count)
            for letter in page where letter.seq != seqs.last { seqs.append(letter.seq) }
        }
        guard !seqs.isEmpty else {
            if invocation.isJSON {
                Report.json(#"{"ok":true,"requeued":0,"missing":0,"left":0}"#, invocation.console)
            } else {
                invocation.console.out("no dead letters\n")
            }
            return 0
        }
        if !invocation.has("--yes") {
            let question =
                "This sends \(Report.events(UInt64(seqs.count))) of \(Report.letters(count)) again, to all collectors.\n"
                + "Type requeue to go on: "
            guard let answer = invocation.console.ask(question), answer == "requeue" else {
                invocation.console.err("Nothing was done.\n")
                return 1
            }
        }
        return try RequeueCommand.run(seqs, invocation)
    }

    // MARK: Pages

    /// All letters after `--after`, some at a time, until `limit` says 0.
    private static func pages(
        _ invocation: Invocation, limit: () -> UInt64 = { .max }, _ take: ([Letter]) throws -> Void
    ) throws {
        var after = try invocation.count("--after") ?? 0
        while limit() > 0 {
            let letters = try page(invocation, after: after, limit: limit())
            guard let last = letters.last, last.seq > after else { return }
            try take(letters)
            after = last.seq
        }
    }

    private static func page(_ invocation: Invocation, after: UInt64, limit: UInt64) throws -> [Letter] {
        let size = Int(min(limit, UInt64(WireBounds.pageLimit)))
        let answer = try invocation.ask(.deadLetters(after: after, limit: size))
        let texts = RawElements.of(member: "deadLetters", in: answer.text)
        return zip(texts, answer.value["deadLetters"]?.asArray ?? []).map { Letter(text: $0, value: $1) }
    }
}

extension Report {
    /// A count of dead letters, in words.
    static func letters(_ count: UInt64) -> String { count == 1 ? "1 dead letter" : "\(count) dead letters" }
}
