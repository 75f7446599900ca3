import HoldgateClient
import Platform

/// The commands that move the gate.
enum LifecycleCommands {
    static let all = [state, start, hold, kill, endLaunch]

    static let state = CommandSpec(
        name: "state", summary: "the gate's state, and what waits", flags: [.control],
        examples: ["holdgate state", "holdgate state --json | jq -r .state"]
    ) { invocation in
        let report = try invocation.holdgate().performBlocking(.state)
        if invocation.isJSON {
            Report.json(report.answer.text, invocation.console)
        } else {
            invocation.console.out(Report.host(report, invocation.console))
        }
        return 0
    }

    static let start = CommandSpec(
        name: "start", summary: "open the gate (startOperation)",
        detail: """
            From onHold, what was queued flows first, in order. With --lease the host closes the gate itself
            unless another start comes in time: a consent service that dies closes it. A launch that was
            killed stays closed, and the exit status is 1.
            """,
        flags: [Flag("--lease", "DURATION", "close again after so long, unless renewed")] + Flag.lifecycle,
        examples: ["holdgate start", "holdgate start --lease 60s --reason TICKET-123"]
    ) { invocation in
        let command = Command.startOperation(lease: try invocation.duration("--lease", isPositive: true))
        return try perform(command, invocation, opens: true)
    }

    static let hold = CommandSpec(
        name: "hold", summary: "close the gate (holdOperation)",
        detail: """
            What was accepted before is still delivered; with --wait the command ends once that is done. If it
            takes longer, the hold stands, and the exit status is 1.
            """,
        flags: [
            Flag("--wait", "DURATION", "wait until everything accepted before is delivered"),
            Flag(
                "--gated", "POLICY", "events during this hold: queue, discard or refuse",
                values: .one(of: GatedPolicy.allCases.map(\.rawValue))),
        ] + Flag.lifecycle,
        examples: ["holdgate hold --wait 30s", "holdgate hold --gated discard --reason 'consent denied'"]
    ) { invocation in
        var policy: GatedPolicy?
        if let text = invocation.values["--gated"] {
            policy = GatedPolicy(rawValue: text)
            guard policy != nil else { throw UsageError("--gated \(text): one of queue, discard, refuse") }
        }
        let wait = try invocation.duration("--wait")
        let command = Command.holdOperation(wait: wait, gatedEvents: policy)
        guard wait != nil, invocation.console.isErrTerminal, !invocation.isJSON else {
            return try perform(command, invocation)
        }
        let progress = try DrainProgress(invocation)
        defer { progress.end() }
        return try perform(command, invocation) { progress.end() }
    }

    static let kill = CommandSpec(
        name: "kill", summary: "close the gate for good, and discard everything",
        detail: """
            Discards queued events, dead letters, cursors and the configuration; the history stays. It can't
            be undone: only a new launch (end-launch, or serve --new-launch) starts over.
            """,
        flags: [Flag("--yes", nil, "don't ask")] + Flag.lifecycle,
        examples: ["holdgate kill --reason ERASURE-9", "holdgate kill --yes --json"]
    ) { invocation in
        let holdgate = try invocation.holdgate()
        if !invocation.has("--yes") {
            guard invocation.console.isAnybodyThere else {
                throw UsageError("kill needs --yes where nobody can be asked")
            }
            let report = try holdgate.performBlocking(.state)
            let question =
                "This discards \(Report.events(report.pending + report.gated)) and the configuration of launch "
                + "\(report.status.launch), and can't be undone.\nType kill to go on: "
            guard let answer = invocation.console.ask(question), answer == "kill" else {
                invocation.console.err("Nothing was done.\n")
                return 1
            }
        }
        return try perform(.kill, invocation)
    }

    static let endLaunch = CommandSpec(
        name: "end-launch", summary: "end the launch, and stop the host",
        detail: """
            The next start of the host begins a new launch. With --restart the host begins it at once, in its
            place.
            """,
        flags: [Flag("--restart", nil, "begin the new launch at once")] + Flag.lifecycle,
        examples: ["holdgate end-launch --restart"]
    ) { invocation in
        let holdgate = try invocation.holdgate()
        // Named, so that it can be sent again without ending the next one, too.
        let launch = try invocation.ask(.isOperating).status.launch
        let command = invocation.described(Command.endLaunch(restart: invocation.has("--restart")))
            .with(expect: Expectation(launch: launch.raw))
        let answer = try holdgate.performBlocking(command)
        if invocation.isJSON {
            Report.json(answer.text, invocation.console)
        } else {
            let next = invocation.has("--restart") ? "the host begins the next" : "the host stops"
            invocation.console.out("launch \(answer.status.launch) has ended, and \(next)\n")
        }
        return 0
    }

    private static func perform(
        _ command: Command<LifecycleAnswer>, _ invocation: Invocation, opens: Bool = false,
        then: () -> Void = {}
    ) throws -> Int32 {
        let answer = try invocation.holdgate().performBlocking(invocation.described(command))
        then()
        if invocation.isJSON {
            Report.json(answer.answer.text, invocation.console)
        } else {
            invocation.console.out(Report.lifecycle(answer, invocation.console))
        }
        return opens && answer.status.state == .killed ? 1 : 0
    }
}

/// A line on the terminal that says how far a drain is, until it is ended.
private final class DrainProgress: Sendable {
    private let isEnded = Locked(false)
    private let console: Console
    private let finished = Locked(false)
    private let changed = Condition()

    init(_ invocation: Invocation) throws {
        console = invocation.console
        let holdgate = Holdgate(
            endpoint: invocation.endpoints.control, timeout: .milliseconds(500),
            credentials: try invocation.credentials())
        _ = try Thread.spawn(name: "progress") { [self] in
            let cancel = try? EventFD()
            while !isEnded.withLock({ $0 }) {
                if let report = try? holdgate.performBlocking(.state, cancel: cancel),
                    let drain = report.drain,
                    !isEnded.withLock({ $0 })
                {
                    console.err("\r\(drain.remaining) of \(Report.events(drain.total)) left \u{1b}[K")
                }
                pause(ms: 200)
            }
            finished.withLock { $0 = true }
            changed.broadcast()
        }
    }

    /// Ends the line; may be called again.
    func end() {
        let wasEnded = isEnded.withLock { ended in
            defer { ended = true }
            return ended
        }
        if wasEnded { return }
        _ = finished.withLock(waitingOn: changed) { $0 ? true : nil }
        console.err("\r\u{1b}[K")
    }
}
