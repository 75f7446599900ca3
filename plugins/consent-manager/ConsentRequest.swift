import HoldgateClient

/// One request on the consent socket.
struct ConsentRequest: Hashable, Sendable {
    enum Command: Hashable, Sendable {
        case decide(ConsentVerb, Decision)
        case show
        /// Of one decision; nil: the newest.
        case receipt(decision: UInt64?)
    }
    struct Decision: Hashable, Sendable {
        /// Nil: all of the policy's.
        var purpose: String?
        var method: String?
        var noticeVersion: String?
        var validForMs: Int64?
        var waitMs: Int64
    }

    /// How long a decision's reply waits for the host.
    static let defaultWaitMs: Int64 = 3000
    static let validForLimitMs: Int64 = 100 * 366 * 86_400_000

    var command: Command
    /// As JSON text.
    var id: String?

    /// Reads a request; a member that its command doesn't have is `invalidArgument`: a misspelt limit must not
    /// become none.
    static func parse(_ bytes: [UInt8]) throws(WireError) -> ConsentRequest {
        let value = try JSONValue.parse(bytes)
        guard let members = value.asMembers else { throw WireError(.invalidMessage, "not a JSON object") }
        guard let name = value["command"]?.asString else {
            throw WireError(.invalidMessage, "\"command\" is missing, or not a string")
        }
        let allowed: [String]
        let command: Command
        switch name {
        case "show":
            allowed = []
            command = .show
        case "receipt":
            allowed = ["decision"]
            command = .receipt(
                decision: try read(value, "decision", "a number") { $0.asUInt64 })
        default:
            guard let verb = ConsentVerb(rawValue: name) else {
                throw WireError(
                    .unknownCommand, "no command \(name): give, deny, pause, withdraw, show, receipt")
            }
            allowed =
                ["purpose", "method", "noticeVersion", "waitMs"] + (verb == .give ? ["validForMs"] : [])
            command = .decide(verb, try decision(value))
        }
        for member in members where !(["v", "id", "command"] + allowed).contains(member.name) {
            throw WireError(.invalidArgument, "\"\(member.name)\" is no member of \(name)")
        }
        if let version = value["v"], version.asInt != 1 {
            throw WireError(.unsupportedVersion, "this service speaks version 1")
        }
        return ConsentRequest(command: command, id: value["id"]?.text)
    }

    private static func decision(_ value: JSONValue) throws(WireError) -> Decision {
        Decision(
            purpose: try text(value, "purpose"), method: try text(value, "method"),
            noticeVersion: try text(value, "noticeVersion"),
            validForMs: try read(value, "validForMs", "a duration in milliseconds") { value in
                value.asInt64.flatMap { (1...validForLimitMs).contains($0) ? $0 : nil }
            },
            waitMs: try read(value, "waitMs", "a duration of up to a minute") { value in
                value.asInt64.flatMap { (0...60_000).contains($0) ? $0 : nil }
            } ?? defaultWaitMs)
    }

    private static func text(_ value: JSONValue, _ name: String) throws(WireError) -> String? {
        try read(value, name, "a text of 1 to \(WireBounds.nameBytes) bytes") { value in
            value.asString.flatMap { (1...WireBounds.nameBytes).contains($0.utf8.count) ? $0 : nil }
        }
    }

    private static func read<Value>(
        _ value: JSONValue, _ name: String, _ kind: String, _ read: (JSONValue) -> Value?
    ) throws(WireError) -> Value? {
        guard let member = value[name] else { return nil }
        guard let value = read(member) else {
            throw WireError(.invalidArgument, "\"\(name)\" is not \(kind)")
        }
        return value
    }
}
