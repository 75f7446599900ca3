import Wire

/// Receives events from a host's `plugin` endpoint: at least once, in order, from its cursor on.
///
/// ```swift
/// let collector = try Collector(.init(name: "warehouse"))
/// let ending = try collector.run { deliveries in
///     for delivery in deliveries { try store(delivery) }     // durably: the host forgets it afterwards
///     return []
/// }
/// ```
///
/// A `Plugin` that takes events and does nothing else.
///
/// It attaches again by itself whenever the host was away. A second collector of the same name takes its
/// place, and then this one ends with `superseded`.
public final class Collector: Sendable {
    public struct Options: Sendable {
        /// The host's `plugin`.
        public var endpoint = Endpoints().plugin
        /// Nil: those of the environment, if there are any.
        public var credentials: Credentials?
        /// The cursor belongs to this name.
        public var name: String
        public var version = "0"
        /// What it takes, and how many bytes may be unacknowledged.
        public var collect = CollectRequest()
        /// At most so many bytes of waiting deliveries are handed over at once (at least one delivery).
        public var gatherBytes = 8 << 20

        public init(name: String) { self.name = name }
    }

    public typealias Ending = Plugin.Ending
    public typealias Notice = Plugin.Notice

    /// Takes deliveries in order, and returns those of their events that it will never take, for the dead
    /// letters. When it returns, all of them are acknowledged; when it throws, none, and `run` throws the
    /// same.
    public typealias Handler = ([Delivery]) throws -> [Reject]

    private let plugin: Plugin

    /// - Throws: `invalidArgument`, `unavailable`.
    public init(_ options: Options) throws(HoldgateError) {
        var configuration = Plugin.Configuration(
            name: options.name, version: options.version, collect: options.collect)
        configuration.endpoint = options.endpoint
        configuration.credentials = options.credentials
        configuration.gatherBytes = options.gatherBytes
        plugin = try Plugin(configuration)
    }

    /// Makes `run` return once the handler has. Any thread.
    public func stop() { plugin.stop() }

    /// Attaches, and hands over deliveries until stopped; blocks the calling thread, on which `handler` runs.
    ///
    /// - Parameter notice: told of attachments, state changes and problems, as they happen.
    /// - Throws: the handler's error; a `HoldgateError` where the host refuses for good or libzmq fails.
    public func run(
        notice: (Notice) -> Void = { _ in }, handler: Handler
    ) throws -> Ending {
        try plugin.run(notice: notice, handler: handler)
    }

    /// As `run`, on a thread of its own. Cancelling the task stops it.
    public func run(
        notice: @escaping @Sendable (Notice) -> Void = { _ in },
        handler: @escaping @Sendable ([Delivery]) throws -> [Reject]
    ) async throws -> Ending {
        try await plugin.run(notice: notice, handler: handler)
    }
}
