import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    var endpoints: Endpoints
    /// Nil: the host asks for none.
    var credentials: Credentials?
    var name = "session"

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    static let help = """
        session: turns reports of apps' phases into events, while a Holdgate host's gate is open.

        usage: session [--name NAME] [--plugin ADDRESS] [--ingest ADDRESS] [--key FILE] [--host-key KEY]

          --name NAME        its name at the host, as plugin and producer, which begins with its key's name
                             (default: session, or KEY/session)
          --plugin ADDRESS   the host's plugin endpoint (default: $HOLDGATE_PLUGIN, or tcp://127.0.0.1:5573)
          --ingest ADDRESS   where its events go (default: $HOLDGATE_INGEST, or tcp://127.0.0.1:5572)
            --key FILE         the key that the host knows it by (default: $HOLDGATE_KEY_FILE, or none)
          --host-key KEY     the host's public key, if it is not in that file (default: $HOLDGATE_HOST_KEY)
          --control, --stream   taken and not used, so that all plugins can be started alike
          --help

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options(endpoints: Endpoints(environment: environment))
        var name: String?
        var (keyFile, hostKey): (String?, String?)
        var rest = arguments[...]
        while let flag = rest.popFirst() {
            if flag == "--help" || flag == "-h" { return .help }
            guard flags.contains(flag) else {
                return .usage("unknown argument \(flag)")
            }
            guard let value = rest.popFirst() else { return .usage("\(flag) needs a value") }
            switch flag {
            case "--name": name = value
            case "--plugin": options.endpoints.plugin = value
            case "--ingest": options.endpoints.ingest = value
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
        options.name = name ?? options.credentials?.named(options.name) ?? options.name
        return .run(options)
    }

    private static let flags: Set = [
        "--name", "--plugin", "--ingest", "--control", "--stream", "--key", "--host-key",
    ]
}
