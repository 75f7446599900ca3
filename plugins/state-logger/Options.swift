import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    var endpoints: Endpoints
    /// Nil: the host asks for none.
    var credentials: Credentials?
    /// Nil: standard output.
    var file: String?

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    static let help = """
        state-logger: writes a line for each change of a Holdgate host's gate.

        usage: state-logger [--file FILE] [--stream ADDRESS] [--control ADDRESS]
                            [--key FILE] [--host-key KEY]

          --file FILE        append here, and go on where it ends
                             (default: $STATE_LOGGER_FILE, or standard output)
          --stream ADDRESS   the host's stream (default: $HOLDGATE_STREAM, or tcp://127.0.0.1:5571)
          --control ADDRESS  the host's control, to read what was missed
                             (default: $HOLDGATE_CONTROL, or tcp://127.0.0.1:5570)
            --key FILE         the key that the host knows it by (default: $HOLDGATE_KEY_FILE, or none)
          --host-key KEY     the host's public key, if it is not in that file (default: $HOLDGATE_HOST_KEY)
          --plugin           taken and not used, so that all plugins can be started alike
          --help             this text

        For example:
          state-logger | jq -r '.time + " " + .state'
          state-logger --file /var/log/holdgate-states.ndjson

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options(endpoints: Endpoints(environment: environment))
        if let file = environment("STATE_LOGGER_FILE"), !file.isEmpty { options.file = file }
        var (keyFile, hostKey): (String?, String?)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" { return .help }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let flag = String(parts[0])
            guard flags.contains(flag) else {
                return .usage("unknown argument \(argument)")
            }
            let attached = parts.count == 2 ? String(parts[1]) : nil
            guard let value = attached ?? rest.popFirst() else { return .usage("\(flag) needs a value") }
            switch flag {
            case "--stream": options.endpoints.stream = value
            case "--control": options.endpoints.control = value
            case "--file": options.file = value
            case "--key": keyFile = value
            case "--host-key": hostKey = value
            default: break
            }
        }
        do throws(HoldgateError) {
            options.credentials = try Credentials(
                keyFile: keyFile, hostKey: hostKey, environment: environment)
        } catch {
            return .usage(error.message)
        }
        return .run(options)
    }

    private static let flags: Set = [
        "--stream", "--control", "--plugin", "--file", "--key", "--host-key",
    ]
}
