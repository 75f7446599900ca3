import Lifecycle

/// The first frame of a stream message.
public enum StreamTopic: Hashable, Sendable {
    case state
    case drain
    /// One event, by its type.
    case event(type: String)
    /// An app's phase.
    case app(phase: String)
    case plugin
    case heartbeat

    public var text: String {
        switch self {
        case .state: "state"
        case .drain: "drain"
        case .event(let type): "event." + type
        case .app(let phase): "app." + phase
        case .plugin: "plugin"
        case .heartbeat: "heartbeat"
        }
    }

    /// Nil: a topic that this version doesn't know, to be ignored.
    public init?(_ text: String) {
        switch text {
        case "state": self = .state
        case "drain": self = .drain
        case "plugin": self = .plugin
        case "heartbeat": self = .heartbeat
        default:
            // By bytes: a type may begin with a mark that Swift would join with the dot.
            let bytes = text.utf8
            if bytes.count > 6, bytes.starts(with: "event.".utf8) {
                self = .event(type: String(decoding: bytes.dropFirst(6), as: UTF8.self))
            } else if bytes.count > 4, bytes.starts(with: "app.".utf8) {
                self = .app(phase: String(decoding: bytes.dropFirst(4), as: UTF8.self))
            } else {
                return nil
            }
        }
    }

    /// Whether a subscription, which is a prefix of topics, takes `state` messages.
    public static func takesState(subscription: UnsafeRawBufferPointer) -> Bool {
        "state".utf8.starts(with: subscription)
    }
}

/// The body of a `drain` message.
public struct DrainBody: Hashable, Sendable {
    /// Events that the drain began with.
    public var total: UInt64
    public var remaining: UInt64
    public init(total: UInt64, remaining: UInt64) {
        self.total = total
        self.remaining = remaining
    }
}

/// The body of a `heartbeat` message.
public struct HeartbeatBody: Hashable, Sendable {
    public var state: LifecycleState
    public var wallMs: Int64
    /// The last published `state` seq; 0 before the first.
    public var stateHead: UInt64
    /// The last published `event` seq; 0 before the first.
    public var eventHead: UInt64
    public init(state: LifecycleState, wallMs: Int64, stateHead: UInt64, eventHead: UInt64) {
        self.state = state
        self.wallMs = wallMs
        self.stateHead = stateHead
        self.eventHead = eventHead
    }
}

/// The body of a `plugin` message.
public struct PluginBody: Hashable, Sendable {
    public enum Change: String, Hashable, Sendable, CaseIterable {
        case attached
        case detached
        case silent
        case evicted
        case restarted
        /// The host started it, it ended again and again, and is left alone.
        case gaveUp
    }
    public var plugin: String
    public var change: Change
    public var reason: String?
    public init(plugin: String, change: Change, reason: String? = nil) {
        self.plugin = plugin
        self.change = change
        self.reason = reason
    }
}

/// The body of an `app.<phase>` message: an app came to the foreground, or left it.
public struct AppBody: Hashable, Sendable {
    public var app: String
    public var phase: AppPhase
    /// When it was reported, in milliseconds since 1970 (UTC).
    public var wallMs: Int64
    public init(app: String, phase: AppPhase, wallMs: Int64) {
        self.app = app
        self.phase = phase
        self.wallMs = wallMs
    }
}
