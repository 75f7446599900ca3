import Lifecycle

/// What a request expects of the host before anything happens; every member that is given must hold.
public struct Expectation: Hashable, Sendable {
    public var launch: String?
    public var state: LifecycleState?
    public var seq: UInt64?
    public init(launch: String? = nil, state: LifecycleState? = nil, seq: UInt64? = nil) {
        self.launch = launch
        self.state = state
        self.seq = seq
    }
}

/// One request on `control`.
public struct ControlRequest: Hashable, Sendable {
    public var command: ControlCommand
    /// The `id` as JSON text (any scalar), echoed as it came; at most 128 bytes.
    public var id: String?
    /// The gate's path; empty is the host's own.
    public var gate: [String]
    public var source: String?
    public var reason: String?
    /// Idempotency key; lifecycle commands only.
    public var key: String?
    public var expect: Expectation?

    public init(
        _ command: ControlCommand, id: String? = nil, gate: [String] = [], source: String? = nil,
        reason: String? = nil, key: String? = nil, expect: Expectation? = nil
    ) {
        self.command = command
        self.id = id
        self.gate = gate
        self.source = source
        self.reason = reason
        self.key = key
        self.expect = expect
    }
}

/// The commands of `control`, with their arguments.
public enum ControlCommand: Hashable, Sendable {
    // Lifecycle commands: recorded, and remembered under a key.
    case startOperation(leaseMs: Int64?)
    case holdOperation(waitMs: Int64?, gatedEvents: GatedPolicy?)
    case kill
    case initialize
    case initializeWithHoldingOperations
    case endLaunch(restart: Bool)
    // Queries and the rest.
    case state
    case isOperating
    case ping
    case commands
    case configuration
    /// `patch`: an RFC 7396 merge patch, as JSON text of an object.
    case configure(patch: String)
    case history(after: UInt64, limit: Int)
    case plugins
    case forget(name: String)
    case deadLetters(after: UInt64, limit: Int)
    case requeue(seqs: [UInt64])
    case stats
    /// Ask the provider of a service. `arguments` is an object.
    case request(service: String, arguments: JSONValue, timeoutMs: Int64)
    /// Start, stop or restart a plugin that the host started.
    case plugin(name: String, PluginAction)
    /// An app came to the foreground, or left it.
    case appLifecycle(app: String, AppPhase)
    /// Read the authorised keys and the folder of plugins again.
    case reload

    /// The name on the wire (never an alias).
    public var name: String {
        switch self {
        case .startOperation: "startOperation"
        case .holdOperation: "holdOperation"
        case .kill: "kill"
        case .initialize: "initialize"
        case .initializeWithHoldingOperations: "initializeWithHoldingOperations"
        case .endLaunch: "endLaunch"
        case .state: "state"
        case .isOperating: "isOperating"
        case .ping: "ping"
        case .commands: "commands"
        case .configuration: "configuration"
        case .configure: "configure"
        case .history: "history"
        case .plugins: "plugins"
        case .forget: "forget"
        case .deadLetters: "deadLetters"
        case .requeue: "requeue"
        case .stats: "stats"
        case .request: "request"
        case .plugin: "plugin"
        case .appLifecycle: "appLifecycle"
        case .reload: "reload"
        }
    }

    /// Whether the command may change the lifecycle: such take `key` and `expect`, and go into the history.
    public var isLifecycle: Bool {
        switch self {
        case .startOperation, .holdOperation, .kill, .initialize, .initializeWithHoldingOperations,
            .endLaunch:
            true
        case .state, .isOperating, .ping, .commands, .configuration, .configure, .history, .plugins, .forget,
            .deadLetters, .requeue, .stats, .request, .plugin, .appLifecycle, .reload:
            false
        }
    }

    /// Every name that `commands` lists, aliases left out.
    public static let names = [
        "startOperation", "holdOperation", "kill", "initialize", "initializeWithHoldingOperations",
        "endLaunch",
        "state", "isOperating", "ping", "commands", "configuration", "configure", "history", "plugins",
        "forget",
        "deadLetters", "requeue", "stats", "request", "plugin", "appLifecycle", "reload",
    ]
}

/// What `plugin` does to a plugin that the host started. The raw value is the name on the wire.
public enum PluginAction: String, Hashable, Sendable, CaseIterable {
    case start
    case stop
    case restart
}

/// Where an app is. The raw value is the name on the wire.
public enum AppPhase: String, Hashable, Sendable, CaseIterable {
    case foreground
    case background
}
