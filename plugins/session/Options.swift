import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    var endpoints: Endpoints
    var name = "session"

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    static let help = """
        session: turns reports of apps' phases into events, while a Holdgate host's gate is open.

        usage: session [--name NAME] [--plugin ADDRESS] [--ingest ADDRESS]

          --name NAME        its name at the host, as plugin and producer (default: session)
          --plugin ADDRESS   the host's plugin endpoint (default: $HOLDGATE_PLUGIN, or tcp://127.0.0.1:5573)
          --ingest ADDRESS   where its events go (default: $HOLDGATE_INGEST, or tcp://127.0.0.1:5572)
          --control, --stream   taken and not used, so that all plugins can be started alike
          --help

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options(endpoints: Endpoints(environment: environment))
        var rest = arguments[...]
        while let flag = rest.popFirst() {
            if flag == "--help" || flag == "-h" { return .help }
            guard ["--name", "--plugin", "--ingest", "--control", "--stream"].contains(flag) else {
                return .usage("unknown argument \(flag)")
            }
            guard let value = rest.popFirst() else { return .usage("\(flag) needs a value") }
            switch flag {
            case "--name": options.name = value
            case "--plugin": options.endpoints.plugin = value
            case "--ingest": options.endpoints.ingest = value
            default: break
            }
        }
        return .run(options)
    }
}
