import Lifecycle
import Wire

/// A category of messages, and whether the subject wants them.
public struct UserCategoryPreference: Hashable, Sendable, Identifiable {
    public let id: String
    public let name: String
    public let isEnabled: Bool

    init(_ value: JSONValue) throws(HoldgateError) {
        id = try value.string("id")
        name = try value.string("name")
        isEnabled = try value.flag("enabled")
    }
}

/// Why category preferences could not be read or set.
public enum UserCategoryPreferenceError: ServiceError, Hashable, Sendable {
    /// The gate is closed.
    case notOperating(NotOperatingError)
    /// There is no such category; says which.
    case unknownCategory(String)
    case failed(HoldgateError)

    public init(_ error: HoldgateError) {
        if let closed = error.notOperating {
            self = .notOperating(closed)
        } else if error.code == .unknownCategory {
            self = .unknownCategory(error.message)
        } else {
            self = .failed(error)
        }
    }
}

// Each method once `async`, once with a completion handler, which is called on a thread of its own.
extension Holdgate {
    public typealias UserCategoryPreferenceHandler =
        @Sendable (Result<[UserCategoryPreference], UserCategoryPreferenceError>) -> Void

    /// All categories.
    public func getUserCategoryPreferences() async throws(UserCategoryPreferenceError)
        -> [UserCategoryPreference]
    {
        try await ask(Self.preferences)
    }

    public func getUserCategoryPreferences(_ completion: @escaping UserCategoryPreferenceHandler) {
        ask(Self.preferences, completion)
    }

    /// Changes one category, and returns all as they stand afterwards.
    @discardableResult
    public func setUserCategoryPreference(
        _ category: UserCategoryPreference.ID, enabled: Bool
    ) async throws(UserCategoryPreferenceError) -> [UserCategoryPreference] {
        try await ask(Self.set(category, enabled))
    }

    public func setUserCategoryPreference(
        _ category: UserCategoryPreference.ID, enabled: Bool,
        _ completion: @escaping UserCategoryPreferenceHandler
    ) {
        ask(Self.set(category, enabled), completion)
    }

    private typealias Call = ServiceCall<[UserCategoryPreference], UserCategoryPreferenceError>

    private static var preferences: Call {
        Call(service: "categoryPreferences.get") { value throws(HoldgateError) in try read(value) }
    }

    private static func set(_ category: String, _ enabled: Bool) -> Call {
        let arguments = [JSONValue.Member("category", .string(category)), .init("enabled", .bool(enabled))]
        return Call(service: "categoryPreferences.set", arguments: arguments) { value throws(HoldgateError) in
            try read(value)
        }
    }

    private static func read(_ value: JSONValue) throws(HoldgateError) -> [UserCategoryPreference] {
        try value.list("categories") { each throws(HoldgateError) in try UserCategoryPreference(each) }
    }
}
