import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    var endpoint: String
    /// Nil: the host asks for none.
    var credentials: Credentials?
    var name = "engagement"
    var store = "engagement.sqlite"
    /// Nil: the store stays as it is.
    var seed: String?

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    static let help = """
        engagement: provides permissions, coupons, an inbox and category preferences to a Holdgate host's clients.

        usage: engagement [--store FILE] [--seed FILE] [--name NAME] [--plugin ADDRESS]
                          [--key FILE] [--host-key KEY]

          --store FILE       the SQLite database (default: $ENGAGEMENT_STORE, or engagement.sqlite)
          --seed FILE        JSON with what to add to it at the start; what it has stays as it is
                             (default: $ENGAGEMENT_SEED, or none)
          --name NAME        its name at the host, which begins with its key's name
                             (default: engagement, or KEY/engagement)
          --plugin ADDRESS   the host's plugin endpoint (default: $HOLDGATE_PLUGIN, or tcp://127.0.0.1:5573)
            --key FILE         the key that the host knows it by (default: $HOLDGATE_KEY_FILE, or none)
          --host-key KEY     the host's public key, if it is not in that file (default: $HOLDGATE_HOST_KEY)
          --control, --stream   taken and not used, so that all plugins can be started alike
          --help

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options(endpoint: Endpoints(environment: environment).plugin)
        if let store = environment("ENGAGEMENT_STORE"), !store.isEmpty { options.store = store }
        if let seed = environment("ENGAGEMENT_SEED"), !seed.isEmpty { options.seed = seed }
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
            case "--store": options.store = value
            case "--seed": options.seed = value
            case "--name": name = value
            case "--plugin": options.endpoint = value
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
        "--store", "--seed", "--name", "--plugin", "--control", "--stream", "--key", "--host-key",
    ]
}
