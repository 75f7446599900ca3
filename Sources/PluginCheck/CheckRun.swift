import Glibc
import Lifecycle
import Platform
import Wire
import ZeroMQ

/// Starts a plugin against a scripted host and tries each promise in turn.
///
/// ```swift
/// let card = try CheckRun(["./my-collector", "--dir", "/tmp/x"], executable: "./my-collector",
/// environment: [:]).run()
/// print(card.text)
/// ```
public final class CheckRun {
    let host: ScriptedHost
    private let order: ChildProcess.Order
    private let patienceMs: Int64
    private let progress: (Finding) -> Void
    private(set) var child: ChildProcess?
    private var output: [UInt8] = []
    var card: Scorecard
    /// As the first hello says.
    var hello: PluginMessage.Hello?
    var subscribes = false

    private static let outputBytes = 4096

    /// - Parameters:
    ///   - command: the program and its arguments, for the scorecard.
    ///   - executable: the program's path.
    ///   - environment: to which the addresses are added.
    ///   - patienceMs: how long each answer may take.
    public init(
        _ command: [String], executable: String, environment: [String: String], patienceMs: Int64 = 5000,
        progress: @escaping (Finding) -> Void = { _ in }
    ) throws {
        host = try ScriptedHost()
        var variables = environment
        for (name, address) in zip(["CONTROL", "STREAM", "INGEST", "PLUGIN"], host.addresses) {
            variables["HOLDGATE_" + name] = address
        }
        order = ChildProcess.Order(
            executable: executable, arguments: Array(command.dropFirst()), environment: variables)
        self.patienceMs = patienceMs
        self.progress = progress
        card = Scorecard(command: command)
    }

    /// Tries everything; takes some seconds. Throws what is wrong with this side: no such program, no ports.
    public func run() throws -> Scorecard {
        try start()
        try greet()
        if hello != nil || subscribes {
            try tryAttached()
            try tryCollector()
            try tryProvider()
            try tryChanges()
            try tryEnds()
        }
        child = nil
        for promise in Promise.allCases where !card.findings.contains(where: { $0.promise == promise }) {
            note(promise, .notAsked, nil)
        }
        card.findings.sort {
            Promise.allCases.firstIndex(of: $0.promise)! < Promise.allCases.firstIndex(of: $1.promise)!
        }
        card.output = String(decoding: output, as: UTF8.self).split(separator: "\n").suffix(20).map(
            String.init)
        return card
    }

    // MARK: The process

    func start() throws { child = try ChildProcess.spawn(order) }

    var exit: ChildProcess.Exit? { child?.reap() }

    /// Serves, and reads the plugin's output, until the condition holds, the plugin has ended, or the
    /// time is over.
    @discardableResult
    func serve(ms: Int64? = nil, until condition: () -> Bool = { false }) throws -> Bool {
        var holds = false
        _ = try host.serve(ms: ms ?? patienceMs) {
            readOutput()
            holds = condition()
            return holds || exit != nil
        }
        return holds || condition()
    }

    private func readOutput() {
        guard let child else { return }
        _ = child.read(into: &output, limit: 64 << 10)
        if output.count > Self.outputBytes { output.removeFirst(output.count - Self.outputBytes) }
    }

    func signal(_ number: Int32) { child?.signalGroup(number) }

    /// Waits for its end; nil if it goes on.
    func awaitExit() throws -> ChildProcess.Exit? {
        try serve { exit != nil }
        return exit
    }

    // MARK: Findings

    func note(_ promise: Promise, _ verdict: Finding.Verdict, _ detail: String?) {
        let finding = Finding(promise: promise, verdict: verdict, detail: detail)
        card.findings.append(finding)
        progress(finding)
    }

    /// Tries one promise. `body` says what was wrong; a plugin that has ended is started again for the next.
    func attempt(_ promise: Promise, if applies: Bool = true, _ body: () throws -> String?) throws {
        guard applies else { return note(promise, .notAsked, nil) }
        if exit != nil { try comeUp() }
        let invalidBefore = host.seen.invalidCount
        var problem = try body()
        if problem == nil, host.seen.invalidCount > invalidBefore, let last = host.seen.lastInvalid {
            problem = "it sent what is no message: \(last)"
        }
        if let exit { problem = "\(problem.map { "\($0); " } ?? "")it ended with \(exit)" }
        note(promise, problem == nil ? .kept : .broken, problem)
    }

    /// Starts it once more, and waits until it is there.
    func comeUp() throws {
        let before = (hellos, subscriptions)
        try start()
        try serve { isBack(since: before.0, before.1) }
    }

    // MARK: Where it stands

    var hellos: Int { host.seen.hellos.count }
    var subscriptions: Int { host.seen.subscriptions }

    /// It has said hello, or subscribed, since then.
    func isBack(since hellosBefore: Int, _ subscriptionsBefore: Int) -> Bool {
        if hello != nil { return host.peer != nil && hellos > hellosBefore }
        return subscriptions > subscriptionsBefore
    }

    /// What its collector takes.
    var eventType: String {
        guard let types = hello?.collect?.types, !types.contains("*"), let first = types.first else {
            return "holdgate.check"
        }
        return first.hasSuffix("*") ? first.dropLast() + "check" : first
    }

    var collects: Bool { hello?.collect != nil }

    /// Delivers the next `count` events, and waits for their ack.
    func deliverNext(_ count: UInt64 = 3, extra: String = "") throws -> String? {
        let first = host.deliveredThrough + 1
        let last = host.deliveredThrough + count
        try host.deliver(first...last, type: eventType, extra: extra)
        return try awaitAck(last)
    }

    func awaitAck(_ last: UInt64) throws -> String? {
        guard try serve(until: { host.seen.acknowledged >= last }) else {
            let through = host.seen.acknowledged
            return "\(last) was delivered, and \(through == 0 ? "nothing" : "\(through)") acknowledged "
                + "within \(patienceMs) ms"
        }
        return nil
    }
}
