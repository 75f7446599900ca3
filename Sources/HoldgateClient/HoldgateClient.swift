// What a Swift program uses to speak to a host: commands (`Holdgate`), events in (`Producer`), events out
// (`Collector`), services offered (`Plugin`), and state changes as they happen (`StateSubscription`).
//
// Each has a core that is a value without clock or socket, and a thread that owns the socket and does what
// the core says. Nothing here blocks Swift's task pool. Read `Holdgate` first, then `ControlConnection`.

@_exported import Lifecycle
@_exported import Wire
import ZeroMQ

/// libzmq's context, one for the process: sockets close with linger 0, so its end waits for nothing.
enum ClientContext {
    static func get() throws(HoldgateError) -> Context {
        guard let shared else {
            throw HoldgateError(.unavailable, "libzmq could not start: out of memory or descriptors")
        }
        return shared
    }

    private static let shared = try? Context()
}

/// Where a host listens, in libzmq's form: `tcp://host:port` or `ipc:///path`.
public struct Endpoints: Hashable, Sendable {
    /// Commands and queries.
    public var control = "tcp://127.0.0.1:5570"
    /// State changes and live events.
    public var stream = "tcp://127.0.0.1:5571"
    /// Events from producers.
    public var ingest = "tcp://127.0.0.1:5572"
    /// Plugins: collectors, and providers of services.
    public var plugin = "tcp://127.0.0.1:5573"

    /// A host's defaults.
    public init() {}

    /// The defaults, replaced by `HOLDGATE_CONTROL`, `HOLDGATE_STREAM`, `HOLDGATE_INGEST` and
    /// `HOLDGATE_PLUGIN` where these are set and not empty.
    ///
    /// The host takes lists in them (`["tcp://…"]`, or parted by commas); clients use the first.
    public init(environment: (String) -> String?) {
        if let address = Self.first(environment("HOLDGATE_CONTROL")) { control = address }
        if let address = Self.first(environment("HOLDGATE_STREAM")) { stream = address }
        if let address = Self.first(environment("HOLDGATE_INGEST")) { ingest = address }
        if let address = Self.first(environment("HOLDGATE_PLUGIN")) { plugin = address }
    }

    private static func first(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        if text.hasPrefix("[") {
            return (try? JSONValue.parse(text))?.asArray?.first?.asString
        }
        return text.split(separator: ",").first.map(String.init)
    }
}
