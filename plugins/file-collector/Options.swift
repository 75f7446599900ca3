import Glibc
import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    var endpoint: String
    /// Nil: the host asks for none.
    var credentials: Credentials?
    var name = "file-collector"
    var directory = "events"
    var types = ["*"]
    var rotateBytes: UInt64 = 256 << 20
    var windowBytes = 8 << 20

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    static let help = """
        file-collector: appends a Holdgate host's events to NDJSON files, each event once.

        usage: file-collector [--dir DIR] [--name NAME] [--types TYPES] [--plugin ADDRESS]
                              [--rotate-bytes BYTES] [--window-bytes BYTES] [--key FILE] [--host-key KEY]

          --dir DIR             where the files lie (default: $FILE_COLLECTOR_DIR, or events)
          --name NAME           the collector's name at the host, which begins with its key's name
                                (default: file-collector, or KEY/file-collector)
          --types TYPES         event types or prefixes ending in *, parted by commas (default: *)
          --plugin ADDRESS      the host's plugin endpoint
                                (default: $HOLDGATE_PLUGIN, or tcp://127.0.0.1:5573)
          --rotate-bytes BYTES  begin the next file after so many (default: 268435456)
          --window-bytes BYTES  how much may be on its way unacknowledged (default: 8388608)
            --key FILE            the key that the host knows it by (default: $HOLDGATE_KEY_FILE, or none)
          --host-key KEY        the host's public key, if it is not in that file (default: $HOLDGATE_HOST_KEY)
          --control, --stream   taken and not used, so that all plugins can be started alike
          --help                this text

        For example:
          file-collector --dir /var/lib/events
          file-collector --name clicks --types 'demo.clicked,demo.hover*' --dir clicks

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options(endpoint: Endpoints(environment: environment).plugin)
        if let directory = environment("FILE_COLLECTOR_DIR"), !directory.isEmpty {
            options.directory = directory
        }
        var name: String?
        var (keyFile, hostKey): (String?, String?)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" { return .help }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let flag = String(parts[0])
            guard known.contains(flag) else { return .usage("unknown argument \(argument)") }
            let attached = parts.count == 2 ? String(parts[1]) : nil
            guard let value = attached ?? rest.popFirst() else { return .usage("\(flag) needs a value") }
            switch flag {
            case "--plugin": options.endpoint = value
            case "--name": name = value
            case "--dir": options.directory = value
            case "--types": options.types = value.split(separator: ",").map(String.init)
            case "--rotate-bytes":
                guard let bytes = UInt64(value), bytes > 0 else {
                    return .usage("\(flag) \(value): not a number of bytes")
                }
                options.rotateBytes = bytes
            case "--window-bytes":
                guard let bytes = Int(value), bytes > 0 else {
                    return .usage("\(flag) \(value): not a number of bytes")
                }
                options.windowBytes = bytes
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
        return options.types.isEmpty ? .usage("--types names no type") : .run(options)
    }

    private static let known: Set<String> = [
        "--plugin", "--name", "--dir", "--types", "--rotate-bytes", "--window-bytes", "--control", "--stream",
        "--key", "--host-key",
    ]
}
