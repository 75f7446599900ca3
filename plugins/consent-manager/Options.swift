import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    static let defaultAddress = "tcp://127.0.0.1:5574"

    var link = HostLink.Configuration()
    var store = ConsentStore.Configuration()
    var file = "consent.sqlite"
    var bind = Options.defaultAddress
    /// Nobody has said where decisions lie, and that is to mean that nobody decides.
    var isIdle = false

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    static let help = """
        consent-manager: decides whether a Holdgate host's gate is open, by one subject's consent.

        usage: consent-manager [FLAGS]

          --store FILE           the decisions (default: $CONSENT_STORE, or consent.sqlite)
          --bind ADDRESS         where decisions are taken (default: $HOLDGATE_CONSENT, or tcp://127.0.0.1:5574)
          --purposes A,B         consent to all of them opens the gate (default: events)
          --subject TEXT         whose consent it is (default: this deployment)
          --controller TEXT      who asks for it (default: unnamed)
          --notice-version TEXT  of the notice that the subject was shown (default: 1)
          --jurisdiction TEXT    (default: unspecified)
          --lease SECONDS        the gate closes so long after this process has died (default: 30)
          --name NAME            among the host's plugins, and in its history where that asks for no keys; it begins with
                                 its key's name (default: consent-manager, or KEY/consent-manager)
          --control, --stream, --plugin ADDRESS   the host (or HOLDGATE_CONTROL, _STREAM, _PLUGIN)
          --key FILE             the key that the host knows it by (or HOLDGATE_KEY_FILE)
          --host-key KEY         the host's public key, if it is not in that file (or HOLDGATE_HOST_KEY)
          --when-configured      without $CONSENT_STORE and --store, end at once with status 0
          --help

        Decisions: `holdgate consent give|deny|pause|withdraw|show|receipt`.

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options()
        options.link.endpoints = Endpoints(environment: environment)
        if let address = environment("HOLDGATE_CONSENT"), !address.isEmpty { options.bind = address }
        var whenConfigured = false
        var isStoreGiven = false
        var given: [String: String] = [:]
        if let file = environment("CONSENT_STORE"), !file.isEmpty {
            options.file = file
            isStoreGiven = true
        }
        var rest = arguments[...]
        while let flag = rest.popFirst() {
            if flag == "--help" || flag == "-h" { return .help }
            if flag == "--when-configured" {
                whenConfigured = true
                continue
            }
            if flag == "--store" { isStoreGiven = true }
            guard flags.contains(flag) else { return .usage("unknown argument \(flag)") }
            guard let value = rest.popFirst(), !value.isEmpty else { return .usage("\(flag) needs a value") }
            given[flag] = value
            if let problem = options.take(flag, value) { return .usage(problem) }
        }
        do throws(HoldgateError) {
            options.link.credentials = try Credentials(
                keyFile: given["--key"], hostKey: given["--host-key"], environment: environment)
        } catch {
            return .usage(error.message)
        }
        let name = options.link.name
        options.link.name = given["--name"] ?? options.link.credentials?.named(name) ?? name
        options.isIdle = whenConfigured && !isStoreGiven
        return .run(options)
    }

    private static let flags: Set = [
        "--store", "--bind", "--purposes", "--subject", "--controller", "--notice-version", "--jurisdiction",
        "--lease", "--name", "--control", "--stream", "--plugin", "--key", "--host-key",
    ]

    /// What is wrong with it.
    private mutating func take(_ flag: String, _ value: String) -> String? {
        switch flag {
        case "--store": file = value
        case "--bind": bind = value
        case "--purposes":
            let purposes = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard Set(purposes).count == purposes.count,
                purposes.allSatisfy({ (1...WireBounds.nameBytes).contains($0.utf8.count) })
            else { return "--purposes \(value): different names, parted by commas" }
            store.purposes = purposes
        case "--subject": store.subject = value
        case "--controller": store.controller = value
        case "--notice-version": store.noticeVersion = value
        case "--jurisdiction": store.jurisdiction = value
        case "--lease":
            guard let seconds = Int64(value), (1...86_400).contains(seconds) else {
                return "--lease \(value): whole seconds, 1 to 86400"
            }
            link.lease = .seconds(seconds)
        // Of these what was given last counts.
        case "--name", "--key", "--host-key": break
        case "--control": link.endpoints.control = value
        case "--stream": link.endpoints.stream = value
        case "--plugin": link.endpoints.plugin = value
        default: preconditionFailure("no flag \(flag)")
        }
        return nil
    }
}
