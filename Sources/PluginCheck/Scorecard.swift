// What a plugin keeps of its contract: started against a scripted host, promise by promise. Read
// `CheckRun` for the
// script, `ScriptedHost` for the host's half of the conversation.
import Wire

/// One promise of the plugin contract, in the order in which they are tried. The raw value is its name in
/// JSON.
public enum Promise: String, Hashable, Sendable, CaseIterable {
    case hello
    case heartbeats
    case unknownMembers
    case unknownTypes
    case acknowledges
    case window
    case redelivery
    case requests
    case helloAgain
    case hold
    case hostRestart
    case goodbye
    case kill
    case cumulativeAcks
    case superseded
    case stop

    /// One line for people.
    public var text: String {
        switch self {
        case .hello: "says a hello that can be read"
        case .heartbeats: "is heard from within three heartbeats"
        case .unknownMembers: "ignores members that it doesn't know"
        case .unknownTypes: "ignores messages of a type that it doesn't know"
        case .acknowledges: "acknowledges what was delivered"
        case .window: "works through a full window of deliveries"
        case .redelivery: "acknowledges events that come again"
        case .requests: "answers each callback request, once"
        case .helloAgain: "says hello again when the host asks"
        case .hold: "stays through a hold, and goes on after it"
        case .hostRestart: "comes back after the host's crash, and goes on"
        case .goodbye: "comes back after a goodbye, or ends with 0"
        case .kill: "comes back after a kill, or ends with 0"
        case .cumulativeAcks: "never acknowledges backwards, or what it did not get"
        case .superseded: "ends with 0 when a newer process takes its name"
        case .stop: "ends with 0 within five seconds of SIGTERM"
        }
    }
}

/// What came of one promise.
public struct Finding: Hashable, Sendable {
    public enum Verdict: String, Hashable, Sendable {
        case kept
        case broken
        /// The plugin's roles don't include it.
        case notAsked
    }

    public let promise: Promise
    public let verdict: Verdict
    /// What was wrong.
    public let detail: String?
}

/// All findings about one plugin.
public struct Scorecard: Hashable, Sendable {
    public let command: [String]
    /// As its hello says; nil without one.
    public internal(set) var name: String?
    /// `attach`, `collect`, `serve`, `subscribe`, `command`, `publish`: what it was seen to do.
    public internal(set) var roles: [String] = []
    public internal(set) var findings: [Finding] = []
    /// The last lines of its output.
    public internal(set) var output: [String] = []

    init(command: [String]) { self.command = command }

    public var isPassed: Bool { !findings.contains { $0.verdict == .broken } }

    public var text: String {
        var text =
            "\(name ?? command.first ?? ""): \(roles.isEmpty ? "nothing" : roles.joined(separator: ", "))\n"
        for finding in findings {
            let mark =
                switch finding.verdict {
                case .kept: "kept    "
                case .broken: "BROKEN  "
                case .notAsked: "-       "
                }
            text += "\(mark)\(finding.promise.text)\(finding.detail.map { ": \($0)" } ?? "")\n"
        }
        let kept = findings.filter { $0.verdict == .kept }.count
        let broken = findings.filter { $0.verdict == .broken }.count
        text += "\(kept) kept, \(broken) broken, \(findings.count - kept - broken) not asked of it\n"
        return text
    }

    public var json: JSONValue {
        .object([
            .init("ok", .bool(isPassed)), .init("command", .array(command.map { .string($0) })),
            .init("name", name.map { .string($0) } ?? .null),
            .init("roles", .array(roles.map { .string($0) })),
            .init("promises", .array(findings.map { Self.json($0) })),
        ])
    }

    private static func json(_ finding: Finding) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("promise", .string(finding.promise.rawValue)),
            .init("verdict", .string(finding.verdict.rawValue)), .init("text", .string(finding.promise.text)),
        ]
        if let detail = finding.detail { members.append(.init("detail", .string(detail))) }
        return .object(members)
    }
}
