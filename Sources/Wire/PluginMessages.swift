import Lifecycle

/// What a collector asks for in its `hello`.
public struct CollectRequest: Hashable, Sendable {
    /// Exact event types, or prefixes ending in `*`.
    public var types: [String]
    public var windowBytes: Int
    public var durable: Bool
    public init(types: [String] = ["*"], windowBytes: Int = 1 << 20, durable: Bool = true) {
        self.types = types
        self.windowBytes = windowBytes
        self.durable = durable
    }

    /// Whether every event matches.
    public var takesAll: Bool { types.contains("*") }
}

/// One event that a collector will never take.
public struct Reject: Hashable, Sendable {
    public let seq: JournalSeq
    public let reason: String
    public init(seq: JournalSeq, reason: String) {
        self.seq = seq
        self.reason = reason
    }
}

/// The first frame of a message from a plugin.
public enum PluginMessage: Hashable, Sendable {
    case hello(Hello)
    case ack(through: JournalSeq, rejects: [Reject])
    /// The answer to the request of this number: a value, or the provider's error.
    case result(id: UInt64, Result<JSONValue, WireError>)
    case heartbeat
    case bye

    public struct Hello: Hashable, Sendable {
        public var name: String
        public var version: String
        /// Nil: it takes no events.
        public var collect: CollectRequest?
        public var services: [String]
        public init(name: String, version: String, collect: CollectRequest? = nil, services: [String] = []) {
            self.name = name
            self.version = version
            self.collect = collect
            self.services = services
        }
    }
}

/// The first frame of a `deliver`; the events frames follow it.
public struct DeliverHeader: Hashable, Sendable {
    public struct Under: Hashable, Sendable {
        public let range: SeqRange
        public let transition: TransitionSeq
        public init(range: SeqRange, transition: TransitionSeq) {
            self.range = range
            self.transition = transition
        }
    }
    public struct Held: Hashable, Sendable {
        public let range: SeqRange
        /// The shortest time that one of them was held, in milliseconds.
        public let ms: Int64
        public init(range: SeqRange, ms: Int64) {
            self.range = range
            self.ms = ms
        }
    }
    public var launch: LaunchID
    /// In the order of the lines that follow.
    public var ranges: [SeqRange]
    public var under: [Under]
    public var held: [Held]
    public var redelivered: Bool
    public init(
        launch: LaunchID, ranges: [SeqRange], under: [Under], held: [Held] = [], redelivered: Bool = false
    ) {
        self.launch = launch
        self.ranges = ranges
        self.under = under
        self.held = held
        self.redelivered = redelivered
    }
}

/// A message from the host to a plugin.
public enum HostMessage: Hashable, Sendable {
    case welcome(status: HostStatus, run: String, cursor: JournalSeq?, heartbeatMs: Int)
    case refused(WireError)
    case error(WireError)
    case deliver(DeliverHeader)
    case state(StateBody, seq: TransitionSeq, launch: LaunchID)
    /// A callback request for one of the plugin's services; answer with `result` and the same number.
    case request(id: UInt64, service: String, arguments: JSONValue, timeoutMs: Int64)
    case app(AppBody)
    case heartbeat
    case goodbye
    /// The host does not know the sender: say hello again.
    case helloWanted
}

/// The body of a `state` message, on the stream and to plugins.
public struct StateBody: Hashable, Sendable {
    public var state: LifecycleState
    public var previous: LifecycleState?
    /// The cause's name.
    public var command: String
    public var source: String?
    public var reason: String?
    public var wallMs: Int64
    /// Events accepted before the hold that somebody still waits for.
    public var pending: UInt64
    /// Set when a drain ended by its timeout.
    public var undelivered: UInt64?
    public var snapshot: Bool
    public init(
        state: LifecycleState, previous: LifecycleState?, command: String, source: String? = nil,
        reason: String? = nil, wallMs: Int64, pending: UInt64, undelivered: UInt64? = nil,
        snapshot: Bool = false
    ) {
        self.state = state
        self.previous = previous
        self.command = command
        self.source = source
        self.reason = reason
        self.wallMs = wallMs
        self.pending = pending
        self.undelivered = undelivered
        self.snapshot = snapshot
    }
}

/// The header frame of a stream message: `{"launch":…,"run":…,"seq":…,"prev":…}`.
public struct StreamHeader: Hashable, Sendable {
    public var launch: LaunchID
    /// The host process within the launch, random.
    public var run: String
    public var seq: UInt64
    /// Nil on `event.` topics.
    public var prev: UInt64?
    /// Only on gated events.
    public var heldMs: Int64?
    public init(launch: LaunchID, run: String, seq: UInt64, prev: UInt64?, heldMs: Int64? = nil) {
        self.launch = launch
        self.run = run
        self.seq = seq
        self.prev = prev
        self.heldMs = heldMs
    }
}
