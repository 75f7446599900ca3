import HoldgateClient

/// Text in columns.
enum Table {
    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// `name   value`, a row each.
    static func pairs(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "\(padded($0.0, width))  \($0.1)\n" }.joined()
    }

    /// A head and rows; columns as wide as their widest.
    static func columns(_ head: [String], _ rows: [[String]]) -> String {
        let all = [head] + rows
        let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = row.indices.map { $0 == row.count - 1 ? row[$0] : padded(row[$0], widths[$0]) }
            return cells.joined(separator: "  ").trimmedEnd + "\n"
        }.joined()
    }

    /// Text that somebody else wrote, in one line, with nothing in it that moves a terminal's cursor; cut.
    static func cell(_ text: String, limit: Int = 60) -> String {
        var result = ""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < limit else { return result + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
                result += "·"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func bytes(_ count: UInt64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var value = Double(count)
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\(Double(Int(value * 10)) / 10) \(units[unit])"
    }
}

extension String {
    var trimmedEnd: String {
        var copy = self
        while copy.last == " " { copy.removeLast() }
        return copy
    }
}

/// What commands print.
enum Report {
    /// A state's name, coloured where that is wanted.
    static func state(_ state: LifecycleState, _ console: Console) -> String {
        guard console.isColoured else { return state.rawValue }
        let colour =
            switch state {
            case .operating: 32
            case .holdRequested, .onHold: 33
            case .killed: 31
            }
        return "\u{1b}[\(colour)m\(state.rawValue)\u{1b}[0m"
    }

    /// A reply as it came, one line.
    static func json(_ text: String, _ console: Console) { console.out(text.trimmedEnd + "\n") }

    /// Prints what went wrong, and returns the exit status.
    static func failure(
        _ error: HoldgateError, of spec: CommandSpec, isJSON: Bool, _ console: Console
    ) -> Int32 {
        if isJSON {
            json(error.reply ?? failureText(error), console)
        } else {
            console.err("holdgate \(spec.name): \(error.message)\n")
            if error.code == .noAnswer {
                console.err(spec.name == "consent" ? absentManagerHint : absentHint("--control"))
            }
            if error.code == .forbidden {
                console.err(
                    "--key FILE names another key; `holdgate keys new`, where the host runs, makes one with the role.\n"
                )
            }
            if error.code == .notOperating, error.retryable {
                console.err(
                    "The host is \(error.state?.rawValue ?? "not operating"); `holdgate start` opens the gate.\n"
                )
            }
        }
        if error.code == .noAnswer { return 3 }
        // An address that libzmq doesn't take; a host's refusal has a reply.
        return error.code == .invalidArgument && error.reply == nil ? 2 : 1
    }

    private static let absentManagerHint =
        "`consent-manager` takes decisions; --consent names the address of one that is elsewhere. Whether this one was "
        + "taken is unknown: `holdgate consent show` tells.\n"

    /// What to do when nobody answers.
    static func absentHint(_ flag: String) -> String {
        "`holdgate serve` starts a host; \(flag) names the address of one that is elsewhere.\n"
    }

    private static func failureText(_ error: HoldgateError) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("ok", false)
        if let state = error.state { writer.member("state", state.rawValue) }
        writer.name("error")
        WireError(error.code, error.message, retryable: error.retryable, index: error.index).write(
            into: &writer)
        writer.endObject()
        return writer.text
    }

    /// A count of events, in words.
    static func events(_ count: UInt64) -> String { count == 1 ? "1 event" : "\(count) events" }

    static func host(_ report: HostReport, _ console: Console) -> String {
        var rows = [
            ("state", state(report.status.state, console)),
            ("since", report.since),
            ("launch", "\(report.status.launch), transition \(report.status.seq)"),
            ("pending", events(report.pending)),
            ("gated", events(report.gated)),
            ("queued", Table.bytes(report.queuedBytes)),
        ]
        if let drain = report.drain {
            let deadline = drain.deadline.map { ", at most until \($0)" } ?? ""
            rows.append(("drain", "\(drain.remaining) of \(events(drain.total)) left\(deadline)"))
        }
        if let lease = report.lease {
            let left = Durations.text(ms: lease.remainingMs)
            rows.append(("lease", "\(Durations.text(ms: lease.leaseMs)), \(left) left"))
        }
        return Table.pairs(rows)
    }

    static func lifecycle(_ answer: LifecycleAnswer, _ console: Console) -> String {
        let now = state(answer.status.state, console)
        var text: String
        if answer.changed, let previous = answer.previous {
            text = "\(now), was \(previous.rawValue) (transition \(answer.status.seq))\n"
        } else if answer.status.state == .killed {
            text = "\(now): nothing was changed. Only a new launch starts over (holdgate end-launch)\n"
        } else {
            text = "\(now) already (transition \(answer.status.seq))\n"
        }
        if answer.replayed { text += "this was done before under the same key\n" }
        if answer.pending > 0 { text += "\(events(answer.pending)) still to be delivered\n" }
        if let discarded = answer.discarded { text += "\(events(discarded)) discarded\n" }
        for (name, ranges) in answer.inFlight.sorted(by: { $0.key < $1.key }) {
            let count = ranges.reduce(0) { $0 + $1.count }
            text += "\(events(count)) had been sent to \(name) and not acknowledged\n"
        }
        return text
    }
}
