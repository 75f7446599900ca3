// A host within a program of one's own.
extension Host {
    /// Starts a host in this process, on threads of its own; its first launch begins with the gate open.
    ///
    /// ```swift
    /// var configuration = Configuration(stateDir: "/var/lib/app/holdgate")
    /// configuration.control = ["tcp://127.0.0.1:0"]
    /// let host = try Host.initialize(configuration)
    /// let holdgate = Holdgate(endpoint: host.endpoints.control[0])
    /// …
    /// host.requestStop()
    /// if host.wait() == .restart { … }    // `endLaunch` with `restart`: initialize again
    /// ```
    ///
    /// **A launch that goes on is as it was**: a host that was held or killed in this state directory comes back held
    /// or killed. It handles no signals: those are the program's.
    ///
    /// **A copied or mended state** (`restored`) begins a launch on hold, whatever the one before was: this method
    /// refuses it, and `initializeWithHoldingOperations` takes it. Set it for that one start, or each begins a launch.
    ///
    /// Throws `ConfigurationError` for a value out of its bounds, and what `start` throws: a state directory that
    /// another host has, that is damaged or was copied, and an address that can't be bound.
    public static func initialize(_ configuration: Configuration, log: Logger? = nil) throws -> Host {
        try initialize(configuration, isOperating: true, log)
    }

    /// Like `initialize`, but a first launch begins on hold: nothing leaves before a `startOperation`.
    public static func initializeWithHoldingOperations(
        _ configuration: Configuration, log: Logger? = nil
    ) throws -> Host {
        try initialize(configuration, isOperating: false, log)
    }

    private static func initialize(
        _ configuration: Configuration, isOperating: Bool, _ log: Logger?
    ) throws -> Host {
        var configuration = configuration
        configuration.startsOperating = isOperating
        try configuration.validate()
        return try start(configuration, log: log ?? Logger(configuration))
    }
}
