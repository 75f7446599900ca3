// `holdgate top`: a host, looked at again and again.
//
// `TopPoll` asks, `TopModel` keeps what was heard last and what it comes to a second, `TopScreen` makes lines of that
// for a terminal of some size, `TopLine` one line. All that touches the terminal is in `Terminal` and `TopLoop`.
import Glibc
import HoldgateClient
import Platform

enum TopCommand {
    static let spec = CommandSpec(
        name: "top", summary: "a live screen: state, rates, queue, how far collectors are",
        detail: """
            Rates are those of the last interval, and the first ones since the host came up. q, Ctrl-C or Ctrl-D ends it.
            Where standard output is no terminal, each look is a line; with --json one of JSON. A host that goes away is
            waited for.
            """,
        flags: [
            Flag("--interval", "DURATION", "how often to look (default: 1s)"),
            Flag("--count", "COUNT", "end after so many looks"), .control,
        ],
        examples: ["holdgate top", "holdgate top --interval 5s --count 12 | tee top.log"]
    ) { invocation in
        let interval = try invocation.duration("--interval", isPositive: true) ?? .seconds(1)
        guard interval >= .milliseconds(shortestMs) else {
            throw UsageError("--interval: at least \(shortestMs)ms")
        }
        let count = try invocation.count("--count")
        guard count != 0 else { throw UsageError("--count 0: at least one look") }
        let holdgate = try invocation.holdgate()
        // Says at once, and with its exit status, when nobody is there.
        let first = try TopPoll(holdgate).sample()
        let poll = TopPoll(holdgate, timeout: min(holdgate.timeout, max(interval, .seconds(1))))
        var model = TopModel(
            endpoint: holdgate.connection.endpoint, interval: interval, first,
            wallMs: invocation.console.wallMs())
        if invocation.isJSON || !invocation.console.isScreen {
            lines(&model, poll, count, invocation)
        } else {
            var loop = try TopLoop(model, poll, count, invocation.console)
            try loop.run()
        }
        return 0
    }

    private static let shortestMs = 100

    private static func lines(
        _ model: inout TopModel, _ poll: TopPoll, _ count: UInt64?, _ invocation: Invocation
    ) {
        let console = invocation.console
        var due = Clock.monotonicMs()
        var left = count
        while true {
            console.out(invocation.isJSON ? TopLine.json(model) : TopLine.text(model))
            left = left.map { $0 - 1 }
            if left == 0 { return }
            due = max(due + model.interval.wholeMs, Clock.monotonicMs())
            pause(ms: Int(max(0, due - Clock.monotonicMs())))
            model.take(poll.outcome(), nowMs: Clock.monotonicMs(), wallMs: console.wallMs())
        }
    }
}

extension Console {
    /// Whether a screen can be drawn: on a terminal that has more than lines.
    fileprivate var isScreen: Bool { isOutTerminal && environment("TERM") ?? "dumb" != "dumb" }
}

extension Duration {
    var wholeMs: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
