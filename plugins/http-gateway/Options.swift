import Access
import HTTPServer
import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable, Sendable {
    struct Listen: Hashable, Sendable {
        let host: String
        let port: UInt16
    }

    var endpoints: Endpoints
    /// Nil: the host asks for none.
    var credentials: Credentials?
    var name = "http-gateway"
    var listen = [Listen(host: "127.0.0.1", port: 8080)]
    /// The file of tokens and webhooks.
    var access: String?
    /// What needs no token; nil: depends on where it listens.
    var anonymous: Permissions?
    var origins: Set<String> = []
    var hosts: Set<String> = []
    var certificate: String?
    var privateKey: String?
    var isPlainAllowed = false
    var bodyBytes = WireLimits().maxFrameBytes
    var timeoutMs: Int64 = 5000

    enum Request: Hashable {
        case run(Options)
        case help
        /// `token NAME --roles …`
        case token(NewToken)
        /// What is wrong.
        case usage(String)
    }

    struct NewToken: Hashable {
        var name: String
        var roles: Permissions
        var comment: String
        /// Nil: the line is printed.
        var file: String?
    }

    static let help = """
        http-gateway: HTTP in front of a Holdgate host: events and decisions in, state and metrics out.

        usage: http-gateway [FLAGS]
               http-gateway token NAME --roles ROLES [--access FILE] [--comment TEXT]

          --listen HOST:PORT     where it listens; may be given again
                                 (default: $HTTP_GATEWAY_LISTEN, commas between, or 127.0.0.1:8080)
          --access FILE          tokens and webhooks; read again on SIGHUP (default: $HTTP_GATEWAY_ACCESS, or none)
          --anonymous ROLES      what needs no token: produce, observe, both, or none
                                 (default: $HTTP_GATEWAY_ANONYMOUS; on loopback produce,observe; elsewhere none)
          --origin ORIGIN        pages that may ask: https://shop.example, or *; may be given again
                                 (default: $HTTP_GATEWAY_ORIGINS, commas between, or none)
          --host-name NAME       what a request's Host may say; may be given again
                                 (default: on loopback localhost, 127.0.0.1 and [::1]; elsewhere anything)
          --tls-cert FILE, --tls-key FILE   a certificate with its chain, and its key, in PEM
          --plain-http           listen beyond loopback without TLS: a proxy before it, or a private network, has it
          --max-body BYTES       of a request with events (default: 4194304, which is the most)
          --timeout MS           for the host's answers (default: 5000)
          --name NAME            in the host's history and among its producers, beginning with its key's name
                                 (default: http-gateway, or KEY/http-gateway)
          --control, --stream, --ingest, --plugin ADDRESS   the host (or HOLDGATE_CONTROL, _STREAM, _INGEST)
          --key FILE             the key that the host knows it by (or HOLDGATE_KEY_FILE)
          --host-key KEY         the host's public key, if it is not in that file (or HOLDGATE_HOST_KEY)
          --help

        `token` makes a token with a name and roles (observe, produce, hold, start, revoke), prints it once, and adds its
        hash to the file: whoever has the token may do what the roles say. docs/http.md has it all.

        """

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        if arguments.first == "token" { return parseToken(Array(arguments.dropFirst()), environment) }
        var options = Options(endpoints: Endpoints(environment: environment))
        do throws(OptionsError) {
            try options.take(environment: environment)
            var given: [String: [String]] = [:]
            var rest = arguments[...]
            while let word = rest.popFirst() {
                if word == "--help" || word == "-h" { return .help }
                if word == "--plain-http" {
                    options.isPlainAllowed = true
                    continue
                }
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let flag = String(parts[0])
                guard flags.contains(flag) else { return .usage("unknown argument \(word)") }
                guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                    return .usage("\(flag) needs a value")
                }
                given[flag, default: []].append(value)
            }
            try options.take(flags: given, environment: environment)
            try options.check()
            return .run(options)
        } catch {
            return .usage(error.message)
        }
    }

    struct OptionsError: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }

    private static let repeated: Set = ["--listen", "--origin", "--host-name"]
    private static let flags: Set = [
        "--listen", "--access", "--anonymous", "--origin", "--host-name", "--tls-cert", "--tls-key",
        "--max-body",
        "--timeout", "--name", "--control", "--stream", "--ingest", "--plugin", "--key", "--host-key",
    ]

    private mutating func take(environment: (String) -> String?) throws(OptionsError) {
        func words(_ name: String) -> [String] {
            (environment(name) ?? "").split(separator: ",").map { MediaType.trimmed($0) }
        }
        let places = words("HTTP_GATEWAY_LISTEN")
        if !places.isEmpty { listen = try Self.places(places) }
        if let file = environment("HTTP_GATEWAY_ACCESS"), !file.isEmpty { access = file }
        if let roles = environment("HTTP_GATEWAY_ANONYMOUS"), !roles.isEmpty {
            anonymous = try Self.anonymous(roles)
        }
        origins = Set(words("HTTP_GATEWAY_ORIGINS"))
    }

    private mutating func take(
        flags: [String: [String]], environment: (String) -> String?
    ) throws(OptionsError) {
        for (flag, values) in flags where values.count > 1 && !Self.repeated.contains(flag) {
            throw OptionsError("\(flag) is given twice")
        }
        func one(_ flag: String) -> String? { flags[flag]?.first }
        if let places = flags["--listen"] { listen = try Self.places(places) }
        if let file = one("--access") { access = file }
        if let roles = one("--anonymous") { anonymous = try Self.anonymous(roles) }
        if let given = flags["--origin"] { origins = Set(given) }
        hosts = Set((flags["--host-name"] ?? []).map { $0.lowercased() })
        certificate = one("--tls-cert")
        privateKey = one("--tls-key")
        if let text = one("--max-body") { bodyBytes = Int(try Self.number(text, "--max-body", 1...4 << 20)) }
        if let text = one("--timeout") { timeoutMs = try Self.number(text, "--timeout", 1...3_600_000) }
        if let address = one("--control") { endpoints.control = address }
        if let address = one("--stream") { endpoints.stream = address }
        if let address = one("--ingest") { endpoints.ingest = address }
        do throws(HoldgateError) {
            credentials = try Credentials(
                keyFile: one("--key"), hostKey: one("--host-key"), environment: environment)
        } catch {
            throw OptionsError(error.message)
        }
        name = one("--name") ?? credentials?.named(name) ?? name
        // What follows it in the names of batches.
        guard (1...WireBounds.nameBytes - 33).contains(name.utf8.count) else {
            throw OptionsError("--name \(name): it has 1 to \(WireBounds.nameBytes - 33) bytes")
        }
    }

    private func check() throws(OptionsError) {
        guard (certificate == nil) == (privateKey == nil) else {
            throw OptionsError("--tls-cert and --tls-key go together")
        }
        for origin in origins where !Self.isOrigin(origin) {
            throw OptionsError("\(origin) is no origin: https://shop.example, without a path, or *")
        }
    }

    private static func isOrigin(_ text: String) -> Bool {
        if text == "*" || text == "null" { return true }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].hasPrefix("//"), parts[1].count > 2 else { return false }
        return !parts[1].dropFirst(2).contains("/") && text == text.lowercased()
    }

    private static func number(
        _ text: String, _ flag: String, _ range: ClosedRange<Int64>
    ) throws(OptionsError) -> Int64 {
        guard let number = Int64(text), range.contains(number) else {
            throw OptionsError(
                "\(flag) \(text): not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func places(_ texts: [String]) throws(OptionsError) -> [Listen] {
        var places: [Listen] = []
        for text in texts {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
            else {
                throw OptionsError("\(text) is no HOST:PORT")
            }
            var host = String(text[..<colon])
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            guard !host.isEmpty else { throw OptionsError("\(text) has no host: 0.0.0.0 is every address") }
            places.append(Listen(host: host, port: port))
        }
        return places
    }

    private static func anonymous(_ text: String) throws(OptionsError) -> Permissions {
        if text == "none" { return .none }
        do throws(AccessError) {
            let permissions = try AccessFile.roles(text)
            for role in [Role.hold, .start, .revoke] where permissions.has(role) {
                throw AccessError("nobody may \(role.rawValue) without a token")
            }
            return permissions
        } catch {
            throw OptionsError("the anonymous roles \(text): \(error)")
        }
    }

    private static func parseToken(_ arguments: [String], _ environment: (String) -> String?) -> Request {
        var rest = arguments[...]
        var name: String?
        var given: [String: String] = [:]
        while let word = rest.popFirst() {
            if word == "--help" || word == "-h" { return .help }
            if ["--roles", "--access", "--comment"].contains(word) {
                guard let value = rest.popFirst() else { return .usage("\(word) needs a value") }
                given[word] = value
            } else if name == nil, !word.hasPrefix("-") {
                name = word
            } else {
                return .usage("unknown argument \(word)")
            }
        }
        guard let name, let roles = given["--roles"] else { return .usage("token needs a NAME and --roles") }
        let comment = given["--comment"] ?? ""
        guard !comment.utf8.contains(where: { $0 < 0x20 }) else { return .usage("--comment is one line") }
        do throws(AccessError) {
            return .token(
                NewToken(
                    name: try AuthorizedKeys.name(name), roles: try AccessFile.roles(roles), comment: comment,
                    file: given["--access"] ?? environment("HTTP_GATEWAY_ACCESS")))
        } catch {
            return .usage("\(error)")
        }
    }
}
