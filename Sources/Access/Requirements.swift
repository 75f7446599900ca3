import Wire

// Which role a message needs: the table that `docs/security.md` shows.

/// One or another of these; empty: everybody who is let in.
public struct Requirement: Hashable, Sendable {
    public let anyOf: [Role]
    public init(_ roles: Role...) { anyOf = roles }

    public func isMet(by permissions: Permissions) -> Bool {
        anyOf.isEmpty || anyOf.contains { permissions.has($0) }
    }
}

extension ControlCommand {
    /// What its sender must have.
    public var requirement: Requirement {
        switch self {
        case .startOperation: Requirement(.start)
        case .holdOperation: Requirement(.hold)
        case .kill, .endLaunch: Requirement(.revoke)
        // No-ops within a launch: whoever may see the state may hear that.
        case .initialize, .initializeWithHoldingOperations: Requirement(.start)
        case .ping, .commands: Requirement()
        // Whoever changes the state must be able to see it.
        case .state, .isOperating:
            Requirement(.observe, .produce, .collect, .serve, .hold, .start, .revoke, .admin)
        case .history: Requirement(.observe, .admin)
        case .plugins, .stats: Requirement(.observe, .admin)
        case .request, .appLifecycle: Requirement(.produce)
        // A plugin finds its settings there.
        case .configuration: Requirement(.collect, .serve, .admin)
        case .configure, .forget, .deadLetters, .requeue, .plugin, .reload: Requirement(.admin)
        }
    }
}

extension PluginMessage.Hello {
    /// With `collect`.
    public static let collectRequirement = Requirement(.collect)
    /// With `services`.
    public static let serveRequirement = Requirement(.serve)
    /// With neither: it hears the state.
    public static let listenRequirement = Requirement(.observe, .collect, .serve)
}

extension IngestHeader {
    /// The events' types count, too.
    public static let requirement = Requirement(.produce)
}
