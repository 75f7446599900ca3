import Access
import HoldgateClient

/// What a decision over HTTP does. The raw value is the last part of its path.
enum LifecycleAction: String, Hashable, Sendable, CaseIterable {
    case start
    case hold
    case kill

    var role: Role {
        switch self {
        case .start: .start
        case .hold: .hold
        case .kill: .revoke
        }
    }
}
