import Platform
import Wire

/// What a plugin is asked.
public struct ServiceRequest: Hashable, Sendable {
    /// One of the names that the plugin offers.
    public let service: String
    /// An object.
    public let arguments: JSONValue
    /// On `Clock.monotonicMs`: nobody waits for the result any more.
    let deadlineMs: Int64

    public init(service: String, arguments: JSONValue = .object([]), within time: Duration) {
        self.init(
            service: service, arguments: arguments, deadlineMs: Clock.monotonicMs() + time.milliseconds)
    }

    init(service: String, arguments: JSONValue, deadlineMs: Int64) {
        self.service = service
        self.arguments = arguments
        self.deadlineMs = deadlineMs
    }

    /// How long there still is for an answer; never negative.
    public var remaining: Duration { .milliseconds(max(0, deadlineMs - Clock.monotonicMs())) }
}

/// One service that a plugin offers: takes a request, and answers with a value or an error.
///
/// A result that comes after the request's deadline, or after the connection that asked is gone, is dropped.
/// An error's code is the service's own, or one of the protocol's (`invalidArgument`, `internal`). What the host says
/// of a request (`notOperating`, `timeout`, `overloaded`, …) reaches the caller as `internal`.
public struct Service: Sendable {
    public typealias Outcome = Result<JSONValue, WireError>

    enum Body: Sendable {
        case blocking(@Sendable (ServiceRequest) -> Outcome)
        case asynchronous(@Sendable (ServiceRequest) async -> Outcome)
    }

    let body: Body

    private init(_ body: Body) { self.body = body }

    /// Answers on the plugin's thread, one request at a time and between deliveries: for what is quick, and for
    /// state that one thread owns.
    public static func blocking(_ body: @escaping @Sendable (ServiceRequest) -> Outcome) -> Service {
        Service(.blocking(body))
    }

    /// Answers in a task of its own: many may be at work, and their results may overtake each other.
    public static func asynchronous(
        _ body: @escaping @Sendable (ServiceRequest) async -> Outcome
    ) -> Service {
        Service(.asynchronous(body))
    }
}
