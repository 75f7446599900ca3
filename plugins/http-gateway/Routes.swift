import HTTPServer

/// What is served: paths and methods. docs/openapi.json says the same, and a test compares.
enum Route: Hashable, Sendable {
    case health
    case ready
    case metrics
    case openAPI
    case state
    case history
    case stream
    case events
    case lifecycle(LifecycleAction)
    case webhook(String)

    init?(path: String) {
        switch path {
        case "/healthz": self = .health
        case "/readyz": self = .ready
        case "/metrics": self = .metrics
        case "/openapi.json": self = .openAPI
        case "/v1/state": self = .state
        case "/v1/history": self = .history
        case "/v1/stream": self = .stream
        case "/v1/events": self = .events
        default:
            if let action = Self.rest(of: path, after: "/v1/lifecycle/").flatMap(
                LifecycleAction.init(rawValue:))
            {
                self = .lifecycle(action)
            } else if let name = Self.rest(of: path, after: "/v1/webhooks/"), !name.isEmpty,
                !name.contains("/")
            {
                self = .webhook(name)
            } else {
                return nil
            }
        }
    }

    private static func rest(of path: String, after prefix: String) -> String? {
        path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
    }

    var methods: [String] {
        switch self {
        case .health, .ready, .metrics, .openAPI, .state, .history, .stream: ["GET", "HEAD"]
        case .events, .lifecycle, .webhook: ["POST"]
        }
    }

    /// For metrics and documents: the path, with what varies in braces.
    var pattern: String {
        switch self {
        case .health: "/healthz"
        case .ready: "/readyz"
        case .metrics: "/metrics"
        case .openAPI: "/openapi.json"
        case .state: "/v1/state"
        case .history: "/v1/history"
        case .stream: "/v1/stream"
        case .events: "/v1/events"
        case .lifecycle(let action): "/v1/lifecycle/\(action.rawValue)"
        case .webhook: "/v1/webhooks/{name}"
        }
    }

    static let patterns: [Route] =
        [.health, .ready, .metrics, .openAPI, .state, .history, .stream, .events]
        + LifecycleAction.allCases.map { .lifecycle($0) } + [.webhook("name")]
}
