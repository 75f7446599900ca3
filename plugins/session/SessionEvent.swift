import HoldgateClient

/// What is told of an app.
struct SessionEvent: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case foreground
        case background
        case start(session: String)
        case stop(session: String, durationMs: Int64, EndedBy)
    }
    enum EndedBy: String, Hashable, Sendable {
        /// The app left the foreground.
        case background
        /// The gate closed: what came after is nobody's business.
        case hold
        /// The plugin ended, or did not hear the host for a while.
        case lost
    }
    let kind: Kind
    let app: String
    /// Milliseconds since 1970.
    let wallMs: Int64
    /// Different for each event.
    let id: String

    /// A CloudEvent in JSON.
    var text: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("specversion", "1.0")
        writer.member("id", id)
        writer.member("source", "/session")
        writer.member("type", type)
        writer.member("subject", app)
        writer.member("time", Timestamp.text(ms: wallMs))
        switch kind {
        case .foreground, .background: break
        case .start(let session):
            writer.member("data", .object([.init("session", .string(session))]))
        case .stop(let session, let durationMs, let endedBy):
            writer.member(
                "data",
                .object([
                    .init("session", .string(session)), .init("durationMs", .int(durationMs)),
                    .init("endedBy", .string(endedBy.rawValue)),
                ]))
        }
        writer.endObject()
        return writer.text
    }

    private var type: String {
        switch kind {
        case .foreground: "app.foreground"
        case .background: "app.background"
        case .start: "session.start"
        case .stop: "session.stop"
        }
    }
}
