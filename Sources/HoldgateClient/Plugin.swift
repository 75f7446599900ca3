import Platform
import Wire
import ZeroMQ

/// Attaches to a host's `plugin` endpoint: takes events, offers services, and hears of the gate's state and of
/// apps. Any of them, or none.
///
/// ```swift
/// let plugin = try Plugin(
///     .init(name: "greeter", services: ["greeting.get": .blocking { _ in .success(.string("hello")) }]))
/// let ending = try plugin.run()
/// ```
///
/// It attaches again by itself whenever the host was away. A second plugin of the same name takes its place,
/// and then this one ends with `superseded`.
public final class Plugin: Sendable {
    public struct Configuration: Sendable {
        /// The host's `plugin`.
        public var endpoint = Endpoints().plugin
        /// Nil: those of the environment, if there are any.
        public var credentials: Credentials?
        /// 1 to 128 bytes. A collector's cursor belongs to it.
        public var name: String
        public var version: String
        /// The events that it takes, and how many bytes may be unacknowledged; nil: none.
        public var collect: CollectRequest?
        /// By name, as clients ask for them.
        public var services: [String: Service]
        /// At most so many bytes of waiting deliveries are handed over at once (at least one delivery).
        public var gatherBytes = 8 << 20

        public init(
            name: String, version: String = "0", collect: CollectRequest? = nil,
            services: [String: Service] = [:]
        ) {
            self.name = name
            self.version = version
            self.collect = collect
            self.services = services
        }
    }

    /// Why `run` returned.
    public enum Ending: Hashable, Sendable {
        /// `stop` was called; the host knows.
        case stopped
        /// A newer holder of the name took over. Don't come back by yourself: exit 0.
        case superseded
    }

    /// What the host tells beside deliveries and requests, on the plugin's thread.
    public enum Notice: Hashable, Sendable {
        /// The host knows the plugin. `cursor`: the last event that it has acknowledged; nil where it takes
        /// none, or is not durable.
        case attached(cursor: JournalSeq?, HostStatus)
        /// The connection is made anew.
        case detached
        case state(StateBody, seq: TransitionSeq, launch: LaunchID)
        /// An app came to the foreground, or left it.
        case app(AppBody)
        /// The host did not like something; the attachment goes on.
        case problem(HoldgateError)
    }

    /// Takes deliveries in order, and returns those of their events that it will never take, for the dead
    /// letters. When it returns, all of them are acknowledged; when it throws, none, and `run` throws the
    /// same.
    public typealias Handler = ([Delivery]) throws -> [Reject]

    /// Takes deliveries in order, and returns at once; `acknowledge` says later what is done with them.
    public typealias Taker = ([Delivery]) throws -> Void

    /// For plugins that take no events.
    public static let noHandler: @Sendable ([Delivery]) throws -> [Reject] = { _ in
        throw HoldgateError(.invalidArgument, "events came to a plugin without a handler for them")
    }

    private let configuration: Configuration
    private let context: Context
    private let wake: EventFD
    private let isStopped = Locked(false)
    private let acknowledgements: Inbox<Acknowledgement>

    /// - Throws: `invalidArgument`, `unavailable`.
    public init(_ configuration: Configuration) throws(HoldgateError) {
        guard (1...WireBounds.nameBytes).contains(configuration.name.utf8.count) else {
            throw HoldgateError(.invalidArgument, "a plugin's name has 1 to \(WireBounds.nameBytes) bytes")
        }
        let bounds = 1...WireBounds.serviceBytes
        if let bad = configuration.services.keys.first(where: { !bounds.contains($0.utf8.count) }) {
            throw HoldgateError(
                .invalidArgument, "a service's name has 1 to \(WireBounds.serviceBytes) bytes: \(bad)")
        }
        var configuration = configuration
        configuration.credentials = try configuration.credentials.orOfProcess()
        self.configuration = configuration
        context = try ClientContext.get()
        do {
            wake = try EventFD()
            acknowledgements = try Inbox()
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    /// Makes `run` return once handlers at work on its thread have. Any thread.
    public func stop() {
        isStopped.withLock { $0 = true }
        wake.signal()
    }

    /// Attaches, and serves until stopped; blocks the calling thread, on which the handlers run.
    ///
    /// - Parameters:
    ///   - notice: told of attachments, state changes, apps and problems, as they happen.
    ///   - handler: takes the deliveries, where the configuration has `collect`.
    /// - Throws: the handler's error; a `HoldgateError` where the host refuses for good or libzmq fails.
    public func run(
        notice: (Notice) -> Void = { _ in }, handler: Handler = Plugin.noHandler
    ) throws -> Ending {
        try serve(notice: notice) { deliveries in .acknowledge(try handler(deliveries)) }
    }

    /// As `run`, for events that take their time: the attachment goes on meanwhile, with its heartbeats, and a kill is
    /// heard at once. `windowBytes` bounds what is under way.
    ///
    /// ```swift
    /// let ending = try plugin.runDeferred { deliveries in
    ///     queue.push(deliveries)      // another thread calls plugin.acknowledge(through:of:) once they are stored
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - notice: as above. `.attached` means that what is not acknowledged comes again.
    ///   - taker: takes the deliveries, and returns without waiting.
    public func runDeferred(notice: (Notice) -> Void = { _ in }, taker: Taker) throws -> Ending {
        try serve(notice: notice) { deliveries in
            try taker(deliveries)
            return .later
        }
    }

    /// What was handed over is done with, up to this seq; `rejects` among it go to the dead letters. Any thread.
    ///
    /// It has no effect where a new attachment has begun that was not handed so much yet: then it comes again, and is to
    /// be acknowledged again, rejects included.
    ///
    /// - Parameter launch: as the deliveries say.
    public func acknowledge(through: JournalSeq, of launch: LaunchID, rejects: [Reject] = []) {
        acknowledgements.post(Acknowledgement(through: through, launch: launch, rejects: rejects))
    }

    private func serve(notice: (Notice) -> Void, take: PluginLine.Take) throws -> Ending {
        var line = try PluginLine(configuration, acknowledgements, context: context)
        while !isStopped.withLock({ $0 }) {
            if let ending = try line.turn(wake, notice: notice, take: take) { return ending }
        }
        line.leave()
        return .stopped
    }

    /// As `run`, on a thread of its own. Cancelling the task stops it.
    public func run(
        notice: @escaping @Sendable (Notice) -> Void = { _ in },
        handler: @escaping @Sendable ([Delivery]) throws -> [Reject] = Plugin.noHandler
    ) async throws -> Ending {
        let outcome = try await withTaskCancellationHandler {
            try await onThread("holdgate-plugin") { () throws(HoldgateError) in
                Result<Ending, any Error> { try self.run(notice: notice, handler: handler) }
            }
        } onCancel: {
            self.stop()
        }
        return try outcome.get()
    }
}

/// What a program says of deliveries after the handler has returned.
struct Acknowledgement: Sendable {
    let through: JournalSeq
    let launch: LaunchID
    let rejects: [Reject]
}
