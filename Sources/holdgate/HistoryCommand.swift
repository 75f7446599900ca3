import HoldgateClient

/// `history`: what was done to the gate, by whom and why.
enum HistoryCommand {
    static let all = [history]

    static let history = CommandSpec(
        name: "history", summary: "every change of the gate, by whom and why",
        detail: """
            With --verify all records are read, and each one's hash and its link to the one before are
            checked; the last hash, noted elsewhere, shows later that nothing was taken away.
            """,
        flags: [
            Flag("--after", "N", "records after this number"),
            Flag("--limit", "COUNT", "at most so many (default: 100)"),
            Flag("--verify", nil, "check the chain of hashes"), .control,
        ],
        examples: ["holdgate history --after 100 --limit 20", "holdgate history --verify"]
    ) { invocation in
        invocation.has("--verify") ? try verify(invocation) : try list(invocation)
    }

    private static func list(_ invocation: Invocation) throws -> Int32 {
        let holdgate = try invocation.holdgate()
        let after = try invocation.count("--after") ?? 0
        let limit = try invocation.count("--limit", atLeast: 1) ?? 100
        var records: [HistoryRecord] = []
        try pages(holdgate, after: after, limit: limit) { records += $0 }
        if invocation.isJSON {
            let texts = records.map(\.text).joined(separator: ",")
            Report.json(#"{"ok":true,"records":[\#(texts)]}"#, invocation.console)
        } else {
            let rows = records.map { row($0.value) }
            let head = ["N", "TIME", "SEQ", "STATE", "COMMAND", "SOURCE", "REASON"]
            invocation.console.out(records.isEmpty ? "no records\n" : Table.columns(head, rows))
        }
        return 0
    }

    private static func row(_ record: JSONValue) -> [String] {
        let changed = record["changed"]?.asBool != false
        return [
            record["n"]?.text ?? "", record["time"]?.asString ?? "", record["seq"]?.text ?? "",
            record["state"]?.asString ?? "",
            (record["command"]?.asString ?? "") + (changed ? "" : " (no change)"),
            record["source"]?.asString ?? "-", record["reason"]?.asString ?? "",
        ]
    }

    private static func verify(_ invocation: Invocation) throws -> Int32 {
        var chain = HistoryChain()
        var problem: String?
        let after = try invocation.count("--after") ?? 0
        try pages(invocation.holdgate(), after: after, limit: .max) { records in
            for record in records where problem == nil {
                if chain.head == nil, record.n != after + 1 {
                    problem = "the history begins with record \(record.n): earlier ones are missing"
                } else {
                    problem = chain.append(record)
                }
            }
        }
        if invocation.isJSON {
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("ok", problem == nil)
            writer.member("records", chain.count)
            if let head = chain.head {
                writer.member("n", head.n)
                writer.member("hash", head.hash)
            }
            if let problem { writer.member("problem", problem) }
            writer.endObject()
            Report.json(writer.text, invocation.console)
        } else if let problem {
            invocation.console.err("holdgate history: \(problem)\n")
        } else {
            let head = chain.head.map { ", the last is \($0.n) with hash \($0.hash)" } ?? ""
            invocation.console.out("\(chain.count) records, all linked\(head)\n")
        }
        return problem == nil ? 0 : 1
    }

    private static func pages(
        _ holdgate: Holdgate, after: UInt64, limit: UInt64, _ take: ([HistoryRecord]) -> Void
    ) throws {
        var (after, left) = (after, limit)
        while left > 0 {
            let size = Int(min(left, UInt64(WireBounds.pageLimit)))
            let records = try holdgate.performBlocking(.history(after: after, limit: size))
            guard let last = records.last, last.n > after else { return }
            take(records)
            after = last.n
            left -= min(left, UInt64(records.count))
        }
    }
}
