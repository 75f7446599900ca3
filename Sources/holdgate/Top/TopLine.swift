import HoldgateClient

/// A look in one line: for files, pipes, and terminals that have no more.
enum TopLine {
    static func text(_ model: TopModel) -> String {
        let (sample, rates) = (model.sample, model.rates)
        let time = Timestamp.text(ms: model.wallMs)
        if let trouble = model.trouble {
            let silent = TopText.duration(ms: model.silentMs)
            let why = trouble.code == .noAnswer ? "no host answers" : trouble.message
            return Cells.printable("\(time)  away for \(silent): \(why)") + "\n"
        }
        var parts = [
            "\(sample.status.state.rawValue) for \(TopText.duration(ms: sample["stateSinceMs"]))",
            "accepted \(TopText.rate(rates.accepted))/s", "delivered \(TopText.rate(rates.delivered))/s",
            "refused \(TopText.rate(rates.refused))/s", "discarded \(TopText.rate(rates.discarded))/s",
            "commits \(TopText.rate(rates.commits))/s" + (TopText.p99(rates).map { " \($0)" } ?? ""),
            "queue \(Report.events(sample["queuedEvents"])) \(Table.bytes(sample["queuedBytes"]))"
                + " \(TopText.duration(ms: sample["queueAgeMs"]))",
        ]
        if sample.status.state == .holdRequested {
            parts.append("drain \(sample["drainRemaining"]) of \(sample["drainTotal"]) left")
        }
        if let worst = model.collectors.max(by: { lag($0) < lag($1) }), lag(worst) > 0 {
            parts.append("\(worst["name"]?.asString ?? "?") is \(Report.events(lag(worst))) behind")
        }
        return Cells.printable("\(time)  " + parts.joined(separator: ", ")) + "\n"
    }

    private static func lag(_ plugin: JSONValue) -> UInt64 { plugin["lagEvents"]?.asUInt64 ?? 0 }

    static func json(_ model: TopModel) -> String {
        let sample = model.sample
        var members: [JSONValue.Member] = [
            .init("time", .string(Timestamp.text(ms: model.wallMs))),
            .init("answers", .bool(model.trouble == nil)),
        ]
        if let trouble = model.trouble {
            members.append(.init("awayMs", .int(model.silentMs)))
            members.append(.init("error", .string(trouble.message)))
            return JSONValue.object(members).text + "\n"
        }
        members.append(.init("state", .string(sample.status.state.rawValue)))
        members.append(.init("seq", .uint(sample.status.seq.raw)))
        members.append(.init("launch", .string(sample.status.launch.raw)))
        for name in shown { members.append(.init(name, .uint(sample[name]))) }
        members.append(.init("perSecond", perSecond(model.rates)))
        switch model.rates.commitP99 {
        case .atMost(let bound): members.append(.init("commitP99Us", .uint(bound)))
        // Beyond the last bound nobody knows.
        case .over, nil: members.append(.init("commitP99Us", .null))
        }
        members.append(.init("plugins", .array(sample.plugins)))
        return JSONValue.object(members).text + "\n"
    }

    private static let shown = [
        "stateSinceMs", "leaseRemainingMs", "queuedEvents", "queuedBytes", "queueAgeMs", "gatedEvents",
        "drainTotal", "drainRemaining", "deadLetters",
    ]

    /// To a tenth.
    private static func perSecond(_ rates: TopRates) -> JSONValue {
        func tenths(_ rate: Double) -> JSONValue { .double((rate * 10).rounded() / 10) }
        return .object([
            .init("accepted", tenths(rates.accepted)), .init("delivered", tenths(rates.delivered)),
            .init("refused", tenths(rates.refused)), .init("discarded", tenths(rates.discarded)),
            .init("commits", tenths(rates.commits)),
        ])
    }
}
