import Wire

/// A plugin that the host started itself, as `plugins` shows it. What decides about it is the host's
/// supervisor.
public struct SupervisedPlugin: Hashable, Sendable {
    /// The raw value is the name on the wire.
    public enum Process: String, Hashable, Sendable, CaseIterable {
        case stopped
        case starting
        case running
        case backingOff
        case stopping
        case crashLooping
    }

    public let name: String
    /// As its manifest says.
    public let version: String
    public let process: Process
    /// While it runs.
    public let pid: Int32?
    /// Since the host came up.
    public let restarts: UInt64
    /// What its manifest says that it does: `command`, `publish`, `collect`, `serve`.
    public let may: [String]

    public init(
        name: String, version: String, process: Process, pid: Int32?, restarts: UInt64, may: [String]
    ) {
        self.name = name
        self.version = version
        self.process = process
        self.pid = pid
        self.restarts = restarts
        self.may = may
    }
}

extension Engine {
    /// All that the host started, as they are now.
    public mutating func supervise(_ plugins: [SupervisedPlugin]) {
        supervised = Dictionary(plugins.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Something became of one of them that the bus is told of.
    public mutating func reportSupervised(
        _ name: String, _ change: PluginBody.Change, reason: String?, into effects: inout [Effect]
    ) {
        report(name, change, reason, into: &effects)
    }
}

extension SupervisedPlugin {
    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("process", .string(process.rawValue)), .init("restarts", .uint(restarts)),
            .init("may", .array(may.map { .string($0) })),
        ]
        if let pid { members.append(.init("pid", .int(Int64(pid)))) }
        return members
    }
}
