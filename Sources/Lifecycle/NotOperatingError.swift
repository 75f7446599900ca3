/// Something was asked for that only an operating gate does.
public struct NotOperatingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The state that the host was in.
    public let state: LifecycleState
    /// The gate closed while the provider had the request: whether it was carried out is not known. Ask before
    /// sending again what must not happen twice.
    public let isOutcomeUnknown: Bool

    public init(state: LifecycleState, isOutcomeUnknown: Bool = false) {
        self.state = state
        self.isOutcomeUnknown = isOutcomeUnknown
    }

    /// Whether the same request may succeed later in this launch, and may be sent again as it is: false once killed,
    /// and where the outcome is unknown.
    public var isRetryable: Bool { state != .killed && !isOutcomeUnknown }

    public var description: String {
        if isOutcomeUnknown {
            return
                "the host's gate closed (\(state.rawValue)) while the provider had the request: whether it was "
                + "carried out is not known"
        }
        return switch state {
        case .operating: "the host is operating again: send the request again"
        case .holdRequested, .onHold: "the host is \(state.rawValue): call startOperation() to resume"
        case .killed: "the host is killed: nothing resumes this launch; only a new launch does"
        }
    }
}
