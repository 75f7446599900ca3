import HoldgateClient

/// `holdgate stats`: what the host counts, by what it is about.
enum StatsCommand {
    static let spec = CommandSpec(
        name: "stats", summary: "what the host counts",
        detail: """
            Counters begin at 0 with the process; docs/protocol.md says what each is. Of times and sizes it is said what half
            of them (p50) and nearly all (p99) are at most.
            """,
        flags: [.control],
        examples: ["holdgate stats", "holdgate stats --json | jq .stats.queuedBytes"]
    ) { invocation in
        let answer = try invocation.ask(.stats)
        if !invocation.printed(answer) { invocation.console.out(text(answer.value)) }
        return 0
    }

    /// The groups in the order in which they are shown, each with how its members' names begin.
    private static let groups: [(title: String, prefixes: [String])] = [
        ("gate", ["state", "lease", "drain", "transitions", "uptime"]),
        ("events", ["events", "bytes", "blocks", "deliveries", "acks"]),
        ("queue", ["queue", "gated", "dead", "lastSeq", "publishedSeq"]),
        ("collectors and plugins", ["plugin", "durable", "collectors"]),
        ("requests", ["request", "callback", "results"]),
        ("peers", ["connection", "invalid", "forbidden", "insecure"]),
        ("disk", ["commit", "sync", "storage"]),
    ]

    static func text(_ reply: JSONValue) -> String {
        let members = (reply["stats"]?.asMembers ?? []).map { member in
            let number = member.value.asUInt64
            return Row(
                name: member.name, value: number.map { String($0) } ?? member.value.text,
                remark: number.flatMap { Quantity.text($0, of: member.name) })
        }
        let histograms = (reply["histograms"]?.asMembers ?? []).compactMap { member in
            HistogramReport(member.value).map { (name: member.name, histogram: $0) }
        }
        let titles = groups.map(\.title) + ["the rest"]
        let nameWidth = (members.map(\.name.count) + histograms.map(\.name.count)).max() ?? 0
        let valueWidth = members.map(\.value.count).max() ?? 0
        return titles.compactMap { title in
            var lines = members.filter { group(of: $0.name) == title }
                .map { $0.line(nameWidth, valueWidth) }
            lines += histograms.filter { group(of: $0.name) == title }
                .map { "  \(Table.padded($0.name, nameWidth))  \(summary($0.histogram, of: $0.name))\n" }
            return lines.isEmpty ? nil : "\(title)\n" + lines.joined()
        }.joined(separator: "\n")
    }

    private struct Row {
        let name: String
        let value: String
        let remark: String?

        func line(_ nameWidth: Int, _ valueWidth: Int) -> String {
            let gap = String(repeating: " ", count: valueWidth - value.count)
            let start = "  \(Table.padded(name, nameWidth))  \(gap)\(value)"
            return start + (remark.map { "  \($0)" } ?? "") + "\n"
        }
    }

    private static func group(of name: String) -> String {
        groups.first { $0.prefixes.contains { name.hasPrefix($0) } }?.title ?? "the rest"
    }

    private static func summary(_ histogram: HistogramReport, of name: String) -> String {
        func value(_ count: UInt64) -> String { Quantity.text(count, of: name) ?? unit(count, name) }
        guard let half = histogram.quantile(50), let most = histogram.quantile(99) else { return "none yet" }
        return "p50 \(half.text(value)), p99 \(most.text(value)), of \(histogram.count)"
    }

    private static func unit(_ count: UInt64, _ name: String) -> String {
        if name.hasSuffix("Ms") { return "\(count) ms" }
        return name.hasSuffix("Bytes") ? "\(count) B" : "\(count)"
    }
}
