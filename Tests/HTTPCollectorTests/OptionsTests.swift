import HTTPClient
import HoldgateClient
import Testing

@testable import http_collector

@Suite struct OptionsTests {
    private func parse(_ arguments: String..., environment: [String: String] = [:]) -> Options.Request {
        Options.parse(arguments) { environment[$0] }
    }

    private var defaults: Options {
        var options = Options(endpoint: "tcp://127.0.0.1:5573")
        options.url = "https://h/e"
        options.http.userAgent = "holdgate-http-collector/1"
        return options
    }

    @Test func theURLIsEnough() {
        #expect(parse("--url", "https://h/e") == .run(defaults))
        #expect(parse(environment: ["HTTP_COLLECTOR_URL": "https://h/e"]) == .run(defaults))
        #expect(parse("--help") == .help)
    }

    @Test func everyFlagIsRead() {
        var options = defaults
        options.endpoint = "tcp://gate:1"
        options.name = "n"
        options.types = ["a", "b.*"]
        options.windowBytes = 1
        options.limits = Sender.Limits(
            events: 2, bytes: 3, rejectsInRow: 0, firstBackoffMs: 4, maxBackoffMs: 5, maxRetryAfterMs: 6)
        options.compresses = false
        options.followsSameOrigin = true
        options.tokenFile = "t"
        options.headers = [.init(name: "X-A", value: "b: c"), .init(name: "x-d", value: "e")]
        options.http.caFile = "ca"
        options.http.clientCertificateFile = "cc"
        options.http.clientKeyFile = "ck"
        options.http.proxy = .address("http://p:1")
        options.http.connectTimeoutMs = 7
        options.http.timeoutMs = 8
        options.http.lowSpeedBytesPerSecond = 0
        options.http.lowSpeedMs = 9
        #expect(
            parse(
                "--url=https://h/e", "--plugin", "tcp://gate:1", "--name", "n", "--types", "a,b.*",
                "--window-bytes", "1", "--batch-events", "2", "--batch-bytes", "3", "--max-rejects", "0",
                "--backoff-ms", "4", "--max-backoff-ms", "5", "--max-retry-after-ms", "6", "--compress",
                "none",
                "--redirects", "same-origin", "--token-file", "t", "--header", "X-A: b: c", "--header",
                "x-d:e",
                "--ca-file", "ca", "--client-cert", "cc", "--client-key", "ck", "--proxy", "http://p:1",
                "--connect-timeout-ms", "7", "--timeout-ms", "8", "--low-speed-bytes", "0", "--low-speed-ms",
                "9", "--control", "c", "--stream", "s") == .run(options))
    }

    @Test func whatIsWrongIsNamed() {
        let url = "https://h/e"
        func problem(_ arguments: String...) -> String {
            let request = Options.parse(["--url", url] + arguments) { _ in nil }
            guard case .usage(let problem) = request else { return "none: \(request)" }
            return problem
        }
        #expect(parse() == .usage("--url is missing: say where events are posted to"))
        #expect(problem("--url") == "--url needs a value")
        #expect(problem("--verify", "no") == "unknown argument --verify")
        #expect(
            problem("--url", "file:///etc/passwd") == "--url file:///etc/passwd: only http:// and https://")
        #expect(problem("--url", "h/e?secret") == "--url h/e: no URL; write https://host/path")
        #expect(problem("--url", "http://h/#a").contains("has a #"))
        #expect(problem("--url", "http://u:secret@h/").contains("--token-file"))
        #expect(!problem("--url", "http://u:secret@h/").contains("secret"))
        #expect(problem("--proxy", "http://u:secret@h/").contains("user or a password"))
        #expect(problem("--proxy", "socks5://h:1") == "--proxy: only http:// and https://")
        #expect(problem("--types", "") == "--types names no type")
        #expect(problem("--batch-events", "0") == "--batch-events 0: not a number from 1 to 2147483648")
        #expect(problem("--timeout-ms", "0").hasPrefix("--timeout-ms 0: not a number"))
        #expect(problem("--compress", "br") == "--compress br: gzip, or none")
        #expect(problem("--redirects", "all") == "--redirects all: refuse, or same-origin")
        #expect(problem("--client-key", "k") == "--client-key needs --client-cert")
        #expect(problem("--backoff-ms", "40000") == "--backoff-ms is more than --max-backoff-ms")
    }

    @Test func aHeaderCanNotSmuggleAnother() {
        for text in [
            "X-A", ": b", "X A: b", "X-A: b\r\nX-C: d", "X-A\n: b", "X-A: é", "X-A:",
            "Authorization: Bearer x",
            "content-type: text/plain", "Content-Length: 3", "Holdgate-Under: 1", "idempotency-key: k",
            "Transfer-Encoding: chunked", "Host: h",
        ] {
            let request = Options.parse(["--url", "http://h/", "--header", text]) { _ in nil }
            guard case .usage = request else {
                Issue.record("\(text) was taken")
                continue
            }
        }
    }

    @Test func theQueryOfTheURLIsNotShown() {
        var options = defaults
        options.url = "https://h/e?key=secret"
        #expect(options.shownURL == "https://h/e")
    }
}
