import HoldgateClient

/// The screen as a value: what `top` knows, on a terminal of some size.
struct TopScreen {
    let model: TopModel
    let width: Int
    let height: Int

    /// At most `height` lines of at most `width` cells.
    var lines: [ScreenLine] {
        guard width > 0, height > 0 else { return [] }
        // In the order of the screen, with what goes first where it is low.
        var head: [(rank: Int, line: ScreenLine)] = [(6, title)]
        if let complaint = model.complaint { head.append((0, ScreenLine(complaint, .bad).cut(to: width))) }
        head.append((1, state))
        if let drain { head.append((2, drain)) }
        head += [(3, events), (5, commits), (4, queue)]
        while head.count > height, let last = head.map(\.rank).max() { head.removeAll { $0.rank == last } }
        var lines = head.map(\.line)
        let tables = [collectors, plugins].filter { $0.height > 0 }
        var left = height - lines.count
        // Empty lines set the parts apart where there is room for all.
        let needed = tables.reduce(0) { $0 + $1.height }
        let isSpaced = left >= needed + tables.count + 1
        if isSpaced, let place = head.firstIndex(where: { $0.rank == 3 }) {
            lines.insert(ScreenLine(), at: place)
        }
        for (index, table) in tables.enumerated() {
            if isSpaced { lines.append(ScreenLine()) }
            let later = tables[(index + 1)...].reduce(0) { $0 + min($1.height, 4) }
            let shown = table.lines(width: width, maxLines: isSpaced ? table.height : max(left - later, 0))
            lines += shown
            left -= shown.count
        }
        return lines
    }

    // MARK: The head

    private var title: ScreenLine {
        let left = ScreenLine.fitting(
            [ScreenLine("holdgate top", .strong), ScreenLine(model.endpoint)], gap: 2, width: width)
        let time = Timestamp.text(ms: model.wallMs).dropFirst(11).prefix(8)
        let every = "every \(Durations.text(ms: model.interval.wholeMs))"
        let right = ScreenLine("\(time)Z, \(every), q ends", .faint)
        let gap = width - left.width - right.width
        return gap < 3 ? left : left + ScreenLine(String(repeating: " ", count: gap)) + right
    }

    private var stateStyle: ScreenLine.Style {
        switch model.sample.status.state {
        case .operating: .good
        case .holdRequested, .onHold: .warning
        case .killed: .bad
        }
    }

    private var state: ScreenLine {
        let sample = model.sample
        let since = TopText.duration(ms: sample["stateSinceMs"])
        var parts = [
            ScreenLine([
                .init(model.trouble == nil ? "" : "was "), .init(sample.status.state.rawValue, stateStyle),
                .init(" for \(since)"),
            ])
        ]
        if sample["leaseRemainingMs"] > 0 {
            let left = TopText.duration(ms: sample["leaseRemainingMs"])
            let isShort = sample["leaseRemainingMs"] < 10_000
            parts.append(ScreenLine("lease \(left) left", isShort ? .warning : .plain))
        }
        if sample["insecure"] > 0 { parts.append(ScreenLine("insecure", .bad)) }
        parts.append(ScreenLine("transition \(sample.status.seq)"))
        parts.append(ScreenLine("launch \(sample.status.launch.raw.prefix(8))…"))
        parts.append(ScreenLine("up \(TopText.duration(ms: sample["uptimeMs"]))"))
        return .fitting(parts, width: width)
    }

    private var drain: ScreenLine? {
        let (total, left) = (model.sample["drainTotal"], model.sample["drainRemaining"])
        guard model.sample.status.state == .holdRequested else { return nil }
        let done = total == 0 ? 1 : Double(total - min(left, total)) / Double(total)
        let text = "\(left) of \(Report.events(total)) left"
        let room = min(40, width - Cells.width(text) - 13)
        guard room >= 5 else { return ScreenLine("drain  \(text)").cut(to: width) }
        let filled = Int((done * Double(room)).rounded(.down))
        return ScreenLine([
            .init("drain     "), .init("["), .init(String(repeating: "#", count: filled), .good),
            .init(String(repeating: ".", count: room - filled), .faint), .init("] "), .init(text),
        ])
    }

    private var events: ScreenLine {
        let rates = model.rates
        func part(_ name: String, _ rate: Double, _ style: ScreenLine.Style = .plain) -> ScreenLine {
            ScreenLine([.init("\(name) "), .init(TopText.rate(rate), rate > 0 ? style : .plain)])
        }
        return row(
            "events/s",
            [
                part("accepted", rates.accepted, .good), part("delivered", rates.delivered, .good),
                part("refused", rates.refused, .bad), part("discarded", rates.discarded, .warning),
            ])
    }

    private var commits: ScreenLine {
        var parts = [ScreenLine(TopText.rate(model.rates.commits))]
        if let p99 = TopText.p99(model.rates) { parts.append(ScreenLine(p99)) }
        if model.sample["storageFull"] > 0 {
            parts.append(ScreenLine("disk full \(model.sample["storageFull"]) times", .bad))
        }
        return row("commits/s", parts)
    }

    private var queue: ScreenLine {
        let sample = model.sample
        var parts = [
            ScreenLine(Report.events(sample["queuedEvents"])), ScreenLine(Table.bytes(sample["queuedBytes"])),
            ScreenLine("oldest \(TopText.duration(ms: sample["queueAgeMs"]))"),
            ScreenLine("gated \(sample["gatedEvents"])"),
        ]
        if sample["deadLetters"] > 0 {
            parts.append(ScreenLine("dead letters \(sample["deadLetters"])", .warning))
        }
        return row("queue", parts)
    }

    private func row(_ name: String, _ parts: [ScreenLine]) -> ScreenLine {
        guard width >= 40 else { return .fitting([ScreenLine(name)] + parts, gap: 1, width: width) }
        let label = ScreenLine(Cells.padded(name, 10))
        return label + .fitting(parts, width: width - label.width)
    }

    // MARK: The tables

    private var collectors: ScreenTable {
        ScreenTable(
            columns: [
                .init(title: "COLLECTOR", rank: 0), .init(title: "STATE", rank: 1),
                .init(title: "BEHIND", isRight: true, rank: 2), .init(title: "BYTES", isRight: true, rank: 4),
                .init(title: "OLDEST", isRight: true, rank: 3), .init(title: "IN FLIGHT", rank: 5),
            ],
            rows: model.collectors.map { plugin in
                let lag = plugin["lagEvents"]?.asUInt64 ?? 0
                return [
                    .init(plugin["name"]?.asString ?? "?"), attachment(plugin),
                    .init("\(lag)"), .init(Table.bytes(plugin["lagBytes"]?.asUInt64 ?? 0)),
                    .init(TopText.duration(ms: plugin["lagMs"]?.asUInt64 ?? 0)), .init(window(plugin)),
                ]
            })
    }

    private func attachment(_ plugin: JSONValue) -> ScreenLine.Piece {
        let state = plugin["state"]?.asString ?? "?"
        guard state == "attached" else { return .init(state, state == "silent" ? .bad : .warning) }
        return plugin["durable"]?.asBool == false ? .init("passing") : .init(state, .good)
    }

    private func window(_ plugin: JSONValue) -> String {
        guard let window = plugin["window"] else { return "-" }
        let bytes = Table.bytes(window["inFlightBytes"]?.asUInt64 ?? 0)
        var text = "\(bytes) of \(Table.bytes(window["bytes"]?.asUInt64 ?? 0))"
        if let skipped = window["skipped"]?.asUInt64, skipped > 0 { text += ", \(skipped) skipped" }
        return text
    }

    private var plugins: ScreenTable {
        ScreenTable(
            columns: [
                .init(title: "PLUGIN", rank: 0), .init(title: "STATE", rank: 1),
                .init(title: "PROCESS", rank: 2), .init(title: "PID", isRight: true, rank: 6),
                .init(title: "RESTARTS", isRight: true, rank: 4),
                .init(title: "REQUESTS", isRight: true, rank: 3), .init(title: "SERVES", rank: 5),
            ],
            rows: model.others.map { plugin in
                let services = (plugin["services"]?.asArray ?? []).compactMap(\.asString)
                return [
                    .init(plugin["name"]?.asString ?? "?"), attachment(plugin), process(plugin),
                    .init(number(plugin["pid"])), .init(number(plugin["restarts"])),
                    .init(number(plugin["requests"])),
                    .init(services.isEmpty ? "-" : services.joined(separator: ", ")),
                ]
            })
    }

    private func number(_ value: JSONValue?) -> String { value?.asUInt64.map { String($0) } ?? "-" }

    private func process(_ plugin: JSONValue) -> ScreenLine.Piece {
        switch plugin["process"]?.asString {
        case "running"?: .init("running", .good)
        case let other? where other == "crashLooping": .init(other, .bad)
        case let other?: .init(other, .warning)
        case nil: .init("-")
        }
    }
}
