import Lifecycle
import Wire

/// A request to `control`, and how its reply is read.
///
/// ```swift
/// let report = try holdgate.performBlocking(.state)
/// ```
public struct Command<Result>: Sendable {
    public var request: ControlRequest
    let read: @Sendable (Answer) throws(HoldgateError) -> Result

    init(
        _ request: ControlRequest, _ read: @escaping @Sendable (Answer) throws(HoldgateError) -> Result
    ) {
        self.request = request
        self.read = read
    }

    /// How long the host may take by request, on top of the timeout.
    var waitMs: Int64? {
        if case .holdOperation(let waitMs, _) = request.command { return waitMs }
        if case .request(_, _, let timeoutMs) = request.command { return timeoutMs }
        return nil
    }

    /// The same command with who asks and why, for the history.
    public func with(
        source: String? = nil, reason: String? = nil, key: String? = nil, expect: Expectation? = nil
    ) -> Self {
        var copy = self
        if let source { copy.request.source = source }
        if let reason { copy.request.reason = reason }
        if let key { copy.request.key = key }
        if let expect { copy.request.expect = expect }
        return copy
    }
}

extension Command where Result == LifecycleAnswer {
    private init(_ command: ControlCommand) {
        self.init(ControlRequest(command)) { answer throws(HoldgateError) in try LifecycleAnswer(answer) }
    }

    /// Opens the gate, or renews its lease; see `Holdgate.startOperation`.
    public static func startOperation(lease: Duration? = nil) -> Self {
        Self(.startOperation(leaseMs: lease?.milliseconds))
    }

    /// Closes the gate; see `Holdgate.holdOperation`.
    public static func holdOperation(wait: Duration? = nil, gatedEvents: GatedPolicy? = nil) -> Self {
        Self(.holdOperation(waitMs: wait?.milliseconds, gatedEvents: gatedEvents))
    }

    /// Closes the gate for good and discards everything; see `Holdgate.kill`.
    public static var kill: Self { Self(.kill) }
}

extension Command where Result == Answer {
    private init(_ command: ControlCommand) {
        self.init(ControlRequest(command)) { answer in answer }
    }

    /// Any request; its reply as it is.
    public static func raw(_ request: ControlRequest) -> Self { Self(request) { answer in answer } }

    public static var ping: Self { Self(.ping) }
    public static func endLaunch(restart: Bool = false) -> Self { Self(.endLaunch(restart: restart)) }
    public static func forget(_ name: String) -> Self { Self(.forget(name: name)) }
    /// An app came to the foreground, or left it; see `Holdgate.report`.
    public static func report(app: String, _ phase: AppPhase) -> Self {
        Self(.appLifecycle(app: app, phase))
    }
    public static func requeue(_ seqs: [UInt64]) -> Self { Self(.requeue(seqs: seqs)) }
}

extension Command where Result == HostReport {
    public static var state: Self {
        Self(ControlRequest(.state)) { answer throws(HoldgateError) in try HostReport(answer) }
    }
}

extension Command where Result == [HistoryRecord] {
    public static func history(after: UInt64 = 0, limit: Int = 100) -> Self {
        Self(ControlRequest(.history(after: after, limit: limit))) { answer throws(HoldgateError) in
            try HistoryRecord.records(of: answer)
        }
    }
}

extension Command where Result == JSONValue {
    public static var configuration: Self {
        Self(ControlRequest(.configuration)) { answer throws(HoldgateError) in
            try answer.object("configuration")
        }
    }

    /// - Parameter patch: an RFC 7396 merge patch, as JSON text of an object.
    public static func configure(_ patch: String) -> Self {
        Self(ControlRequest(.configure(patch: patch))) { answer throws(HoldgateError) in
            try answer.object("configuration")
        }
    }

    /// Asks the provider of a service, and reads what it answered.
    ///
    /// - Parameters:
    ///   - arguments: an object.
    ///   - timeout: how long the provider may take, up to an hour.
    public static func request(
        _ service: String, arguments: JSONValue = .object([]), timeout: Duration = .seconds(5)
    ) -> Self {
        let command = ControlCommand.request(
            service: service, arguments: arguments, timeoutMs: timeout.milliseconds)
        return Self(ControlRequest(command)) { answer throws(HoldgateError) in
            guard let value = answer.value["value"] else { throw Answer.invalid("there is no \"value\"") }
            return value
        }
    }

    public static var stats: Self {
        Self(ControlRequest(.stats)) { answer throws(HoldgateError) in
            if let stats = answer.value["stats"], stats.asMembers != nil { return stats }
            return answer.value
        }
    }
}

extension Command where Result == [JSONValue] {
    public static var plugins: Self {
        Self(ControlRequest(.plugins)) { answer throws(HoldgateError) in try answer.array("plugins") }
    }

    public static func deadLetters(after: UInt64 = 0, limit: Int = 100) -> Self {
        Self(ControlRequest(.deadLetters(after: after, limit: limit))) { answer throws(HoldgateError) in
            try answer.array("deadLetters")
        }
    }
}
