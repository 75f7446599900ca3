/// Who sent a message: the name that the handshake proved, or anybody, where the host asks nobody.
public struct Caller: Hashable, Sendable {
    /// Nil: nobody was asked.
    public let name: String?
    public let permissions: Permissions

    /// Who may do everything, under any name.
    public static let anybody = Caller(name: nil, permissions: .all)

    public init(name: String?, permissions: Permissions) {
        self.name = name
        self.permissions = permissions
    }

    /// Whether this caller may give that name to a producer, a plugin or the source of a command: its own, or one that
    /// goes on after it with `/`.
    public func owns(_ other: String) -> Bool {
        guard let name else { return true }
        guard other.utf8.starts(with: name.utf8) else { return false }
        let rest = other.utf8.dropFirst(name.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
    }

    /// What is missing for `requirement`, for people; nil: nothing.
    public func missing(for requirement: Requirement, to what: String) -> String? {
        guard !requirement.isMet(by: permissions) else { return nil }
        let roles = requirement.anyOf.map(\.rawValue)
        let needed =
            roles.count == 1 ? "the role \(roles[0])" : "one of the roles \(roles.joined(separator: ", "))"
        let has = permissions.roles.isEmpty ? "has none" : "has \(permissions.text)"
        return "\(what) needs \(needed), and \(name ?? "this caller") \(has)"
    }
}
