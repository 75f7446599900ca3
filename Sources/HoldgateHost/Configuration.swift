// What an operator may set. `Configuration.keys` is the one table behind the file, the environment and the help.
import Engine
import Wire

/// Everything that an operator may set, validated once.
///
/// `parse` is how the executable gets one. A program that embeds a host writes its own and checks it:
///
/// ```swift
/// var configuration = Configuration(stateDir: "/var/lib/app/holdgate")
/// configuration.control = ["ipc:///run/app/control"]
/// configuration.engine.heartbeatMs = 500
/// try configuration.validate()
/// ```
public struct Configuration: Hashable, Sendable {
    /// Where the four endpoints are bound, as libzmq writes addresses; port 0 takes a free one.
    public var control = ["tcp://127.0.0.1:5570"]
    public var stream = ["tcp://127.0.0.1:5571"]
    public var ingest = ["tcp://127.0.0.1:5572"]
    public var plugin = ["tcp://127.0.0.1:5573"]

    /// The directory of the journal, the history and the internal configuration.
    public var stateDir: String
    /// The folder of the plugins that the host starts itself; empty: none.
    public var plugins = ""
    /// Whether a launch that begins now begins with the gate open. It means nothing to a launch that goes on.
    public var startsOperating = false
    /// Begin a new launch instead of going on with the last.
    public var newLaunch = false
    /// Accept a copied or mended state, and begin a new launch with it, on hold.
    public var restored = false

    /// The file of authorised keys; empty: `authorized_keys` in the state directory, if it is there.
    public var authorizedKeys = ""
    /// The file of the host's own key; empty: `host.key` in the state directory.
    public var hostKeyFile = ""
    /// Bind anywhere without keys: whoever reaches an address may do everything there.
    public var isInsecure = false

    public var engine = EngineConfiguration()
    public var wireLimits = WireLimits()

    /// When the bytes of delivered events are overwritten at the latest.
    public var eraseAfterMs: Int64 = 86_400_000
    /// Bytes of one segment file of the journal.
    public var segmentBytes = 64 << 20
    public var maxDeadLetters = 10_000
    /// Connections of one endpoint, fewer where the system lets the process have few descriptors.
    public var maxConnections = 4096
    /// Those of an endpoint from one address, or of one user on a path.
    public var maxConnectionsPerPeer = 1024
    /// Threads of libzmq's own.
    public var ioThreads = 1

    /// Lines below this level aren't written.
    public var logLevel: LogLevel = .info
    public var logFormat: LogFormat = .text

    /// Where each key's value came from. One that isn't in here has its default, or the program set it.
    public internal(set) var sources: [String: Source] = [:]

    /// Of all four endpoints.
    var addresses: [String] { control + stream + ingest + plugin }

    /// All defaults.
    public init(stateDir: String) {
        self.stateDir = stateDir
    }

    /// The internal configuration's size as JSON: one key for the bound that `Engine` and `Wire` both keep.
    public var maxConfigurationBytes: Int {
        get { engine.maxConfigurationBytes }
        set {
            engine.maxConfigurationBytes = newValue
            wireLimits.maxConfigurationBytes = newValue
        }
    }
}
