import HoldgateHost

// Commands that work on the host's files, where they are.

extension Flag {
    static let stateDirectory = Flag(
        "--state-dir", "DIR", "the host's (or HOLDGATE_STATE_DIR; default as serve has it)")
    static let hostConfiguration = Flag("--config", "FILE", "the host's configuration")
}

extension Invocation {
    /// The host's, as `serve` would have it with the same flags, but that no endpoint matters here.
    func hostConfiguration() throws -> Configuration {
        var arguments: [String] = []
        for flag in ["--state-dir", "--config"] {
            if let value = values[flag] { arguments += [flag, value] }
        }
        var environment: [String: String] = [:]
        for name in [
            "HOME", "XDG_STATE_HOME", "HOLDGATE_STATE_DIR", "HOLDGATE_AUTHORIZED_KEYS",
            "HOLDGATE_HOST_KEY_FILE",
        ] {
            environment[name] = console.environment(name)
        }
        do {
            guard let configuration = try Configuration.parse(arguments: arguments, environment: environment)
            else {
                throw UsageError("\(title) needs a state directory")
            }
            return configuration
        } catch let error as ConfigurationError {
            throw UsageError("\(error)")
        }
    }
}
