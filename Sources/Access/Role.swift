// Who may do what: roles, the names that have them, and the file that says whose keys stand for which name. Values
// alone: what performs the handshakes is `ZeroMQ`, and who asks is the host.

/// What a name may do. The raw value is the name in files and on the wire.
public enum Role: String, Hashable, Sendable, CaseIterable {
    /// Hear `stream`, by topic; ask for the state and the history.
    case observe
    /// Send events, by type; report app phases; ask providers.
    case produce
    /// Attach as a collector.
    case collect
    /// Attach as a provider.
    case serve
    /// Close the gate.
    case hold
    /// Open it.
    case start
    /// End the launch: kill it, or begin another.
    case revoke
    /// Configure the host, its plugins and its keys, and bring back or forget what collectors left.
    case admin
}

/// Which of its topics or types a role reaches.
public enum Reach: Hashable, Sendable {
    case all
    /// What begins with one of these.
    case prefixes(Set<String>)

    /// Whether it reaches everything that begins with `text`, that itself included.
    public func covers(_ text: String) -> Bool {
        switch self {
        case .all: true
        case .prefixes(let prefixes): prefixes.contains { text.utf8.starts(with: $0.utf8) }
        }
    }

    mutating func widen(to prefix: String?) {
        guard let prefix, case .prefixes(var prefixes) = self else {
            self = .all
            return
        }
        prefixes.insert(prefix)
        self = .prefixes(prefixes)
    }
}

/// The roles of one name.
public struct Permissions: Hashable, Sendable {
    public private(set) var roles: [Role: Reach]

    public static let all = Permissions(
        roles: Dictionary(uniqueKeysWithValues: Role.allCases.map { ($0, .all) }))
    public static let none = Permissions(roles: [:])

    public init(roles: [Role: Reach]) { self.roles = roles }

    public init(_ roles: Role...) {
        self.init(roles: Dictionary(roles.map { ($0, .all) }) { first, _ in first })
    }

    public func has(_ role: Role) -> Bool { roles[role] != nil }

    /// Whether `role` reaches this topic or type.
    public func reaches(_ role: Role, _ text: String) -> Bool { roles[role]?.covers(text) ?? false }

    /// As in the file of authorised keys: `observe:state,hold,start`.
    public var text: String {
        Role.allCases.flatMap { role -> [String] in
            switch roles[role] {
            case nil: []
            case .all?: [role.rawValue]
            case .prefixes(let prefixes)?: prefixes.sorted().map { "\(role.rawValue):\($0)" }
            }
        }.joined(separator: ",")
    }

    /// Roles by commas; `observe` and `produce` may be given less than all: `observe:event.cart.`.
    public init(text: String) throws(AccessError) {
        roles = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pieces = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let role = Role(rawValue: String(pieces[0])) else {
                let all = Role.allCases.map(\.rawValue).joined(separator: ", ")
                throw AccessError(
                    "there is no role \(pieces[0].isEmpty ? "without a name" : String(pieces[0])); the roles are \(all)"
                )
            }
            guard pieces.count == 2 else {
                roles[role] = .all
                continue
            }
            guard role == .observe || role == .produce else {
                throw AccessError(
                    "\(role.rawValue) takes no prefix; observe (of topics) and produce (of types) do")
            }
            guard !pieces[1].isEmpty else {
                throw AccessError("the prefix after \(role.rawValue): is empty; leave the colon out for all")
            }
            roles[role, default: .prefixes([])].widen(to: String(pieces[1]))
        }
    }
}

/// Why a line, a name or a key is not taken.
public struct AccessError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
