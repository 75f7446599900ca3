import Lifecycle
import Wire

/// Why a permission could not be read or set.
public enum PermissionError: ServiceError, Hashable, Sendable {
    /// The gate is closed.
    case notOperating(NotOperatingError)
    case failed(HoldgateError)

    public init(_ error: HoldgateError) {
        self = error.notOperating.map { .notOperating($0) } ?? .failed(error)
    }
}

// Whether the subject may be written to, by channel: each method once `async`, once with a completion handler,
// which is called on a thread of its own. A setter answers once the change is durable, with what stands then.
extension Holdgate {
    public func getEmailPermission() async throws(PermissionError) -> Bool {
        try await ask(Self.get("email"))
    }

    public func getEmailPermission(_ completion: @escaping PermissionHandler) {
        ask(Self.get("email"), completion)
    }

    @discardableResult
    public func setEmailPermission(_ granted: Bool) async throws(PermissionError) -> Bool {
        try await ask(Self.set("email", granted))
    }

    public func setEmailPermission(_ granted: Bool, _ completion: @escaping PermissionHandler) {
        ask(Self.set("email", granted), completion)
    }

    public func getSMSPermission() async throws(PermissionError) -> Bool { try await ask(Self.get("sms")) }

    public func getSMSPermission(_ completion: @escaping PermissionHandler) {
        ask(Self.get("sms"), completion)
    }

    @discardableResult
    public func setSMSPermission(_ granted: Bool) async throws(PermissionError) -> Bool {
        try await ask(Self.set("sms", granted))
    }

    public func setSMSPermission(_ granted: Bool, _ completion: @escaping PermissionHandler) {
        ask(Self.set("sms", granted), completion)
    }

    public func getWhatsAppPermission() async throws(PermissionError) -> Bool {
        try await ask(Self.get("whatsApp"))
    }

    public func getWhatsAppPermission(_ completion: @escaping PermissionHandler) {
        ask(Self.get("whatsApp"), completion)
    }

    @discardableResult
    public func setWhatsAppPermission(_ granted: Bool) async throws(PermissionError) -> Bool {
        try await ask(Self.set("whatsApp", granted))
    }

    public func setWhatsAppPermission(_ granted: Bool, _ completion: @escaping PermissionHandler) {
        ask(Self.set("whatsApp", granted), completion)
    }

    public typealias PermissionHandler = @Sendable (Result<Bool, PermissionError>) -> Void

    private static func get(_ channel: String) -> ServiceCall<Bool, PermissionError> {
        ServiceCall(service: "\(channel)Permission.get") { value throws(HoldgateError) in
            try value.flag("granted")
        }
    }

    private static func set(_ channel: String, _ granted: Bool) -> ServiceCall<Bool, PermissionError> {
        ServiceCall(service: "\(channel)Permission.set", arguments: [.init("granted", .bool(granted))]) {
            value throws(HoldgateError) in try value.flag("granted")
        }
    }
}
