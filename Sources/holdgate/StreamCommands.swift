import HoldgateClient
import Platform

/// `watch`: what happens, as it happens.
enum StreamCommands {
    static let all = [watch]

    static let watch = CommandSpec(
        name: "watch", summary: "each change of the gate, as it happens",
        detail: """
            Changes that the stream had lost are read from the history, and marked. --events shows live events
            too, those that the gate lets out; they may be lost where this is slow.
            """,
        flags: [
            Flag("--events", nil, "show events too"), Flag("--count", "COUNT", "end after so many lines"),
            .stream, .control,
        ],
        examples: ["holdgate watch", "holdgate watch --events --json | jq ."]
    ) { invocation in
        let count = try invocation.count("--count", atLeast: 1)
        // Says at once, and with its exit status, when nobody is there.
        _ = try invocation.holdgate().performBlocking(.ping)
        let subscription = try StateSubscription(
            endpoints: invocation.endpoints, credentials: try invocation.credentials())
        let events =
            invocation.has("--events")
            ? try EventSubscription(
                invocation.endpoints.stream, credentials: try invocation.credentials()) : nil
        let watch = Watch(invocation, left: count) {
            subscription.stop()
            events?.stop()
        }
        if let events {
            _ = try Thread.spawn(name: "events") { try? events.run { watch.show($0) } }
        }
        try subscription.run { watch.show($0) }
        return 0
    }
}

/// Prints lines of two threads, and knows when it is enough.
private final class Watch: Sendable {
    private let console: Console
    private let isJSON: Bool
    private let left: Locked<UInt64?>
    private let stop: @Sendable () -> Void

    init(_ invocation: Invocation, left: UInt64?, stop: @escaping @Sendable () -> Void) {
        console = invocation.console
        isJSON = invocation.isJSON
        self.left = Locked(left)
        self.stop = stop
    }

    func show(_ change: StateChange) {
        if isJSON { return show(json(change)) }
        var text = change.missed ? "(some changes were missed" : ""
        if change.missed { text += change.origin == .history ? ", they follow)\n" : ")\n" }
        let width = change.state.rawValue.count
        let gap = String(repeating: " ", count: LifecycleState.holdRequested.rawValue.count - width)
        text += "\(Timestamp.text(ms: change.wallMs))  \(Report.state(change.state, console))\(gap)"
        text += "  \(change.command), transition \(change.place.seq)"
        if let source = change.source { text += ", by \(source)" }
        if let reason = change.reason { text += ": \(reason)" }
        show(text + "\n")
    }

    func show(_ event: LiveEvent) {
        let held =
            event.heldMs.map { isJSON ? #","heldMs":\#($0)"# : "  held \(Durations.text(ms: $0))" } ?? ""
        if isJSON {
            show(#"{"seq":\#(event.seq)\#(held),"event":\#(event.text)}"# + "\n")
        } else {
            show("\(event.seq)\(held)  \(event.text)\n")
        }
    }

    private func show(_ text: String) {
        let isDone = left.withLock { left in
            guard left != 0 else { return false }
            console.out(text)
            guard let count = left else { return false }
            left = count - 1
            return count == 1
        }
        if isDone { stop() }
    }

    private func json(_ change: StateChange) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("state", change.state.rawValue)
        if let previous = change.previous { writer.member("previous", previous.rawValue) }
        writer.member("command", change.command)
        if let source = change.source { writer.member("source", source) }
        if let reason = change.reason { writer.member("reason", reason) }
        writer.member("time", Timestamp.text(ms: change.wallMs))
        writer.member("launch", change.place.launch.raw)
        writer.member("seq", change.place.seq.raw)
        if let pending = change.pending { writer.member("pending", pending) }
        if let undelivered = change.undelivered { writer.member("undelivered", undelivered) }
        writer.member("from", change.origin.rawValue)
        if change.missed { writer.member("missed", true) }
        writer.endObject()
        writer.newline()
        return writer.text
    }
}
