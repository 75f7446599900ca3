import HTTPClient
import HoldgateClient

extension Options {
    private struct Problem: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    static func parse(_ arguments: [String], environment: (String) -> String?) -> Request {
        var options = Options(endpoint: Endpoints(environment: environment).plugin)
        options.http.userAgent = "holdgate-http-collector/1"
        func given(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        options.url = given("HTTP_COLLECTOR_URL") ?? ""
        options.tokenFile = given("HTTP_COLLECTOR_TOKEN_FILE")
        var texts: [String: String] = [:]
        var rest = arguments[...]
        do {
            while let argument = rest.popFirst() {
                if argument == "--help" || argument == "-h" { return .help }
                let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let flag = String(parts[0])
                guard known.contains(flag) else { return .usage("unknown argument \(argument)") }
                let attached = parts.count == 2 ? String(parts[1]) : nil
                guard let value = attached ?? rest.popFirst() else { return .usage("\(flag) needs a value") }
                if flag == "--header" {
                    options.headers.append(try header(value))
                } else if let key = numbers[flag] {
                    options[keyPath: key] = try number(flag, value, from: zeros.contains(flag) ? 0 : 1)
                } else if let key = durations[flag] {
                    options[keyPath: key] = Int64(try number(flag, value, from: 1))
                } else {
                    texts[flag] = value
                }
            }
            try options.take(texts, environment)
            try options.check()
        } catch let problem as Problem {
            return .usage(problem.text)
        } catch let error as HoldgateError {
            return .usage(error.message)
        } catch {
            return .usage("\(error)")
        }
        return .run(options)
    }

    private mutating func take(_ texts: [String: String], _ environment: (String) -> String?) throws {
        url = texts["--url"] ?? url
        endpoint = texts["--plugin"] ?? endpoint
        types = texts["--types"]?.split(separator: ",").map(String.init) ?? types
        tokenFile = texts["--token-file"] ?? tokenFile
        http.caFile = texts["--ca-file"]
        http.clientCertificateFile = texts["--client-cert"]
        http.clientKeyFile = texts["--client-key"]
        switch texts["--proxy"] {
        case nil: break
        case "environment"?: http.proxy = .environment
        case let address?: http.proxy = .address(address)
        }
        switch texts["--compress"] ?? "gzip" {
        case "gzip": compresses = true
        case "none": compresses = false
        case let other: throw Problem("--compress \(other): gzip, or none")
        }
        switch texts["--redirects"] ?? "refuse" {
        case "refuse": followsSameOrigin = false
        case "same-origin": followsSameOrigin = true
        case let other: throw Problem("--redirects \(other): refuse, or same-origin")
        }
        credentials = try Credentials(
            keyFile: texts["--key"], hostKey: texts["--host-key"], environment: environment)
        name = texts["--name"] ?? credentials?.named(name) ?? name
    }

    private func check() throws {
        guard !url.isEmpty else { throw Problem("--url is missing: say where events are posted to") }
        guard let address = WebAddress(url) else {
            throw Problem("--url \(shownURL): no URL; write https://host/path")
        }
        // The URL is not repeated: the password is in it.
        guard !address.hasCredentials else {
            throw Problem("--url has a user or a password: everybody sees arguments; use --token-file")
        }
        guard ["http", "https"].contains(address.scheme) else {
            throw Problem("--url \(shownURL): only http:// and https://")
        }
        guard !address.hasFragment else { throw Problem("--url \(shownURL): has a #, which is never sent") }
        if case .address(let proxy) = http.proxy {
            guard let address = WebAddress(proxy) else {
                throw Problem("--proxy: no URL; write http://host:port")
            }
            guard !address.hasCredentials else {
                throw Problem("--proxy has a user or a password: everybody sees arguments")
            }
            guard ["http", "https"].contains(address.scheme) else {
                throw Problem("--proxy: only http:// and https://")
            }
        }
        guard !types.isEmpty else { throw Problem("--types names no type") }
        guard http.clientKeyFile == nil || http.clientCertificateFile != nil else {
            throw Problem("--client-key needs --client-cert")
        }
        guard limits.firstBackoffMs <= limits.maxBackoffMs else {
            throw Problem("--backoff-ms is more than --max-backoff-ms")
        }
    }

    /// No larger number means anything, and none of these overflows.
    private static let largest = 1 << 31

    private static func number(_ flag: String, _ value: String, from least: Int) throws -> Int {
        guard let number = Int(value), (least...largest).contains(number) else {
            throw Problem("\(flag) \(value): not a number from \(least) to \(largest)")
        }
        return number
    }

    private static func header(_ text: String) throws -> Header {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw Problem("--header \(text): write 'Name: value'")
        }
        let name = String(text[..<colon])
        let value = String(text[text.index(after: colon)...].drop { $0 == " " })
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        let isName = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: marks.contains(byte)
            }
        }
        guard isName, !name.isEmpty else { throw Problem("--header \(name): no name of a header") }
        guard !value.isEmpty, value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw Problem("--header \(name): its value is to be visible ASCII characters")
        }
        let lower = name.lowercased()
        guard lower != "authorization" else {
            throw Problem("--header Authorization: everybody sees arguments; use --token-file")
        }
        guard !reserved.contains(lower), !lower.hasPrefix("holdgate-") else {
            throw Problem("--header \(name): it is set by the collector itself")
        }
        return Header(name: name, value: value)
    }

    private static let reserved: Set<String> = [
        "connection", "content-encoding", "content-length", "content-type", "expect", "host",
        "idempotency-key",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    private static let zeros: Set<String> = ["--max-rejects", "--low-speed-bytes"]

    private static var numbers: [String: WritableKeyPath<Options, Int>] {
        [
            "--window-bytes": \.windowBytes, "--batch-events": \.limits.events,
            "--batch-bytes": \.limits.bytes,
            "--max-rejects": \.limits.rejectsInRow, "--connect-timeout-ms": \.http.connectTimeoutMs,
            "--timeout-ms": \.http.timeoutMs, "--low-speed-bytes": \.http.lowSpeedBytesPerSecond,
            "--low-speed-ms": \.http.lowSpeedMs,
        ]
    }

    private static var durations: [String: WritableKeyPath<Options, Int64>] {
        [
            "--backoff-ms": \.limits.firstBackoffMs, "--max-backoff-ms": \.limits.maxBackoffMs,
            "--max-retry-after-ms": \.limits.maxRetryAfterMs,
        ]
    }

    private static var known: Set<String> {
        Set([
            "--url", "--name", "--types", "--plugin", "--key", "--host-key", "--compress", "--token-file",
            "--header", "--ca-file", "--client-cert", "--client-key", "--proxy", "--redirects", "--control",
            "--stream",
        ]).union(numbers.keys).union(durations.keys)
    }
}
