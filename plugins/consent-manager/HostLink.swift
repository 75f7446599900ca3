import HoldgateClient
import Platform

/// What the host did, or answered.
enum HostNews: Sendable {
    case saw(GateView)
    case attached
    case detached
    /// Another consent manager has taken over the name.
    case superseded
    case answered(GateOutcome)
    case failed(String)
}

/// Three threads between the service and the host: one follows the gate's state, one is attached as a plugin (so
/// that both sides notice when the other is gone), one carries commands, one at a time. They share nothing but
/// `news`.
final class HostLink: Sendable {
    struct Configuration: Hashable, Sendable {
        var endpoints = Endpoints()
        /// Nil: the host asks for none.
        var credentials: Credentials?
        var name = "consent-manager"
        var lease: Duration = .seconds(30)

        /// Whether a command of this `source` in the history was this process's: where the host asks for keys, the source
        /// is the name that was proved, which `name` is or begins with.
        func isOwn(_ source: String?) -> Bool {
            guard let source, !source.isEmpty else { return false }
            return name == source || name.hasPrefix(source + "/")
        }
    }

    let news: Inbox<HostNews>
    private let configuration: Configuration
    private let subscription: StateSubscription
    private let plugin: Plugin
    private let calls = BlockingQueue<GateCall>(limit: 8)
    private let holdgate: Holdgate

    init(_ configuration: Configuration) throws {
        self.configuration = configuration
        news = try Inbox()
        subscription = try StateSubscription(
            endpoints: configuration.endpoints, credentials: configuration.credentials)
        var attachment = Plugin.Configuration(name: configuration.name, version: "1")
        attachment.endpoint = configuration.endpoints.plugin
        attachment.credentials = configuration.credentials
        plugin = try Plugin(attachment)
        holdgate = Holdgate(
            endpoints: configuration.endpoints, timeout: .seconds(2), source: configuration.name,
            credentials: configuration.credentials)
    }

    func start() throws {
        _ = try Thread.spawn(name: "host-state") { [self] in
            var last: GateView?
            reportFailure {
                try subscription.run { change in
                    let view = self.view(of: change, after: last)
                    last = view
                    _ = news.offer(.saw(view))
                }
            }
        }
        _ = try Thread.spawn(name: "host-plugin") { [self] in
            reportFailure {
                let ending = try plugin.run { notice in
                    switch notice {
                    case .attached: _ = news.offer(.attached)
                    case .detached: _ = news.offer(.detached)
                    case .state, .app, .problem: break
                    }
                }
                if ending == .superseded { _ = news.offer(.superseded) }
            }
        }
        _ = try Thread.spawn(name: "host-calls") { [self] in
            var waiting: [GateCall] = []
            while calls.takeAll(into: &waiting) {
                for call in waiting { _ = news.offer(.answered(perform(call))) }
            }
        }
    }

    /// The answer comes as news.
    func ask(_ call: GateCall) { _ = calls.push(call) }

    /// Lets the host know. The threads end with the process.
    func stop() {
        plugin.stop()
        subscription.stop()
        calls.close()
    }

    private func reportFailure(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            _ = news.offer(.failed("\(error)"))
        }
    }

    private func perform(_ call: GateCall) -> GateOutcome {
        do throws(HoldgateError) {
            switch call.action {
            case .start: return .done(try lifecycle(.startOperation(lease: configuration.lease), call))
            case .hold(let policy): return .done(try lifecycle(.holdOperation(gatedEvents: policy), call))
            case .kill: return .done(try lifecycle(.kill, call))
            case .newLaunch:
                let command = Command.endLaunch(restart: true)
                    .with(reason: call.standing.reason, expect: call.expectation)
                return .done(try holdgate.performBlocking(command).status)
            }
        } catch {
            if error.code == .conflict { return .stale }
            if error.code == .noAnswer || error.code == .unavailable { return .lost }
            return .refused(error.message)
        }
    }

    private func lifecycle(
        _ command: Command<LifecycleAnswer>, _ call: GateCall
    ) throws(HoldgateError) -> HostStatus {
        try holdgate.performBlocking(
            command.with(reason: call.standing.reason, expect: call.expectation)
        ).status
    }

    private func view(of change: StateChange, after last: GateView?) -> GateView {
        var view = GateView(
            launch: change.place.launch, seq: change.place.seq, state: change.state, closer: .launch,
            closedMs: change.wallMs)
        switch change.state {
        case .operating: break
        case .holdRequested, .killed: view.closer = closer(change.command, change.source)
        case .onHold:
            if change.command == LifecycleCause.initializeWithHoldingOperations.rawValue { break }
            if let last, last.launch == view.launch, last.state == .holdRequested {
                (view.closer, view.closedMs) = (last.closer, last.closedMs)
            } else {
                (view.closer, view.closedMs) = lookUp(change)
            }
        }
        return view
    }

    private func closer(_ command: String, _ source: String?) -> GateView.Closer {
        if command == LifecycleCause.leaseExpired.rawValue || configuration.isOwn(source) {
            return .consent
        }
        return .other(source ?? "somebody")
    }

    /// The end of a drain was found, and not how it began: the history has that. Where it can't be read, somebody
    /// may have closed the gate, just now.
    private func lookUp(_ change: StateChange) -> (GateView.Closer, Int64) {
        let records = (try? holdgate.latestHistoryBlocking()) ?? []
        let hold = records.last { record in
            record.value["launch"]?.asString == change.place.launch.raw
                && (record.value["seq"]?.asUInt64).map { $0 < change.place.seq.raw } ?? false
                && record.value["changed"]?.asBool != false
        }
        guard let value = hold?.value, let command = value["command"]?.asString else {
            return (.other("somebody"), change.wallMs)
        }
        let wallMs = value["time"]?.asString.flatMap { Timestamp.parse($0) } ?? change.wallMs
        return (closer(command, value["source"]?.asString), wallMs)
    }
}
