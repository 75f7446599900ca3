/// What `plugins/NAME/plugin.json` says of a plugin that the host starts itself.
public struct PluginManifest: Hashable, Sendable {
    /// What a plugin says that it does at the host.
    public enum Capability: String, Hashable, Sendable, CaseIterable {
        /// Lifecycle commands on `control`.
        case command
        /// Events on `ingest`.
        case publish
        /// Events from `plugin`.
        case collect
        /// Callback services.
        case serve
    }

    /// Also the folder's name.
    public var name: String
    public var version: String
    /// The folder, absolute: where the plugin starts.
    public var directory: String
    /// As it is written; `PluginCommand` finds the file.
    public var command: String
    public var arguments: [String] = []
    /// Added to the host's own environment.
    public var environment: [String: String] = [:]
    /// In the order of `Capability.allCases`.
    public var may: [Capability] = []
    public var restart = RestartPolicy()

    public init(name: String, version: String, directory: String, command: String) {
        self.name = name
        self.version = version
        self.directory = directory
        self.command = command
    }
}

/// What happens when a plugin ends by itself.
public struct RestartPolicy: Hashable, Sendable {
    public enum When: String, Hashable, Sendable, CaseIterable {
        case always
        /// Exit status 0 is meant: a plugin whose name a newer process has taken ends so.
        case onFailure = "on-failure"
        case never
    }

    public var when = When.onFailure
    /// Before the first restart; doubles with each, and is cut by up to a half at random.
    public var backoffMs: Int64 = 200
    public var maxBackoffMs: Int64 = 30_000
    /// So many restarts `withinMs` are a crash loop: the plugin is given up until somebody starts it.
    public var crashLoopRestarts = 5
    public var crashLoopWithinMs: Int64 = 60_000

    public init() {}
}
