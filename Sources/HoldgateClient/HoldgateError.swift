import Lifecycle
import Wire

/// What went wrong with a call of this library, or why the host refused it.
///
/// ```swift
/// do {
///     try await holdgate.holdOperation(wait: .seconds(30))
/// } catch where error.code == .timeout {
///     // the hold stands, the drain goes on
/// } catch where error.code == .noAnswer {
///     // no host
/// }
/// ```
public struct HoldgateError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The host's codes, and this library's own: `noAnswer`, `invalidReply`, `cancelled`, `closed`,
    /// `unavailable`. More may be added.
    public let code: ErrorCode
    /// For people: what was wrong and what to do.
    public let message: String
    /// Whether the same call may succeed later.
    public let retryable: Bool
    /// The host's last answered state; nil where no host answered.
    public let state: LifecycleState?
    /// The bad event's place, from 0; producers only.
    public let index: Int?
    /// A callback request had reached its provider: whether it was carried out is not known.
    public let isOutcomeUnknown: Bool
    /// The host's whole reply as JSON text, where there was one.
    public let reply: String?

    public init(
        _ code: ErrorCode, _ message: String, retryable: Bool = false, state: LifecycleState? = nil,
        index: Int? = nil, isOutcomeUnknown: Bool = false, reply: String? = nil
    ) {
        self.code = code
        self.message = message
        self.retryable = retryable
        self.state = state
        self.index = index
        self.isOutcomeUnknown = isOutcomeUnknown
        self.reply = reply
    }

    /// An error that the host answered.
    public init(_ error: WireError, state: LifecycleState?, reply: String? = nil) {
        self.init(
            error.code, error.message, retryable: error.retryable, state: state, index: error.index,
            isOutcomeUnknown: error.isOutcomeUnknown, reply: reply)
    }

    /// Set when the gate was closed to this call; says what to do about it.
    public var notOperating: NotOperatingError? {
        guard code == .notOperating, let state else { return nil }
        return NotOperatingError(state: state, isOutcomeUnknown: isOutcomeUnknown)
    }

    public var description: String { "\(code): \(message)" }
}

extension ErrorCode {
    /// No host answered in time. Whether the request had an effect is unknown; commands that carry a key may
    /// be sent again with it.
    public static let noAnswer = ErrorCode("noAnswer")
    /// The peer answered something that is no reply of this protocol.
    public static let invalidReply = ErrorCode("invalidReply")
    /// The calling task was cancelled.
    public static let cancelled = ErrorCode("cancelled")
    /// The producer or collector was closed.
    public static let closed = ErrorCode("closed")
    /// This process is out of something: memory, descriptors, threads.
    public static let unavailable = ErrorCode("unavailable")
}
