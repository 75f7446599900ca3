import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    var endpoints: Endpoints
    /// Nil: the host asks for none.
    var credentials: Credentials?
    var name = "geofence"
    var directory = "geofence"

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    static let help = """
        geofence: tells when somebody enters or leaves a region of the Holdgate host's configuration.

        usage: geofence [--dir DIR] [--name NAME] [--control ADDRESS] [--ingest ADDRESS] [--plugin ADDRESS]
                        [--key FILE] [--host-key KEY]

          --dir DIR          where it keeps who is inside (default: $GEOFENCE_DIR, or geofence)
          --name NAME        its name at the host, as collector and producer, which begins with its key's name
                             (default: geofence, or KEY/geofence)
          --control ADDRESS  the host's addresses (default: $HOLDGATE_CONTROL, $HOLDGATE_INGEST,
          --ingest ADDRESS   $HOLDGATE_PLUGIN, or tcp://127.0.0.1:5570, :5572 and :5573)
          --plugin ADDRESS
            --key FILE         the key that the host knows it by (default: $HOLDGATE_KEY_FILE, or none)
          --host-key KEY     the host's public key, if it is not in that file (default: $HOLDGATE_HOST_KEY)
          --stream           taken and not used, so that all plugins can be started alike
          --help

        For example:
          holdgate configure '{"geofences":{"regions":{"home":{"latitude":52.52,"longitude":13.405,"radiusM":150}}}}'
          geofence --dir /var/lib/geofence

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options(endpoints: Endpoints(environment: environment))
        if let directory = environment("GEOFENCE_DIR"), !directory.isEmpty { options.directory = directory }
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
            case "--dir": options.directory = value
            case "--name": name = value
            case "--control": options.endpoints.control = value
            case "--ingest": options.endpoints.ingest = value
            case "--plugin": options.endpoints.plugin = value
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
        "--dir", "--name", "--control", "--ingest", "--plugin", "--stream", "--key", "--host-key",
    ]
}
