/// Something was asked for that only an operating gate does.
public struct NotOperatingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The state that the host was in.
    public let state: LifecycleState

    public init(state: LifecycleState) { self.state = state }

    /// Whether the same request may succeed later in this launch: false once killed.
    public var isRetryable: Bool { state != .killed }

    public var description: String {
        switch state {
        case .operating: "the host is operating again: send the request again"
        case .holdRequested, .onHold: "the host is \(state.rawValue): call startOperation() to resume"
        case .killed: "the host is killed: nothing resumes this launch; only a new launch does"
        }
    }
}
