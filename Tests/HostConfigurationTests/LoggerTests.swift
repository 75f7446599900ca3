import Engine
import HoldgateHost
import Platform
import Testing
import Wire

/// Takes a logger's lines, at a time that the test sets.
private final class Lines: Sendable {
    private let lines = Locked<[String]>([])
    private let monotonicMs = Locked<Int64>(0)

    func logger(_ format: LogFormat = .text, from level: LogLevel = .info, perSecond: Int = 10) -> Logger {
        Logger(
            format: format, minimumLevel: level, perSecond: perSecond,
            now: { (self.monotonicMs.withLock { $0 }, 1_767_323_045_678) },
            write: { bytes in
                let line = String(decoding: bytes, as: UTF8.self)
                self.lines.withLock { $0.append(line) }
            })
    }

    func advance(ms: Int64) { monotonicMs.withLock { $0 += ms } }

    /// The lines since the last call.
    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }
}

private let time = "2026-01-02T03:04:05.678Z"

@Suite struct LoggerTests {
    @Test func aLineHasTimeLevelMessageAndFields() {
        let lines = Lines()
        lines.logger().log(
            .warning, "a peer was refused",
            [
                .init("peer", .string("tcp://127.0.0.1:5")), .init("count", .int(-3)),
                .init("ok", .bool(false)),
                .init("why", .string("no hello")), .init("empty", .string("")), .init("none", .null),
                .init("names", .array([.string("a b"), .uint(.max)])),
                .init("at", .object([.init("x", .double(0.5))])),
                .init("rate", .double(.infinity)),
            ])
        #expect(
            lines.take() == [
                "\(time) warning a peer was refused peer=tcp://127.0.0.1:5 count=-3 ok=false "
                    + "why=\"no hello\" "
                    + "empty=\"\" none=null names=[\"a b\",18446744073709551615] "
                    + "at={\"x\":0.5} rate=\"inf\"\n"
            ])
    }

    @Test func jsonLinesHoldTheSame() {
        let lines = Lines()
        lines.logger(.json).log(
            .error, "disk full", [.init("free", .uint(0)), .init("level", .string("x\ny"))])
        #expect(
            lines.take() == [
                "{\"time\":\"\(time)\",\"level\":\"error\",\"message\":\"disk full\","
                    + "\"free\":0,\"level_\":\"x\\ny\"}\n"
            ])
    }

    @Test(arguments: [
        ("a\n\(time) error forged", "\"a\\n\(time) error forged\""),
        ("a\r\tb", "\"a\\r\\tb\""),
        ("\u{1b}[2J", "\"\\u001b[2J\""),
        ("\u{7f}\u{85}\u{9b}", "\"\\u007f\\u0085\\u009b\""),
        ("\u{2028}\u{202e}\u{feff}", "\"\\u2028\\u202e\\ufeff\""),
        ("\u{e0041}", "\"\\udb40\\udc41\""),
        ("say \"hi\" \\", "\"say \\\"hi\\\" \\\\\""),
        ("a=b", "\"a=b\""), ("[1]", "\"[1]\""), ("{}", "\"{}\""),
        ("Müller😀", "\"Müller😀\""), ("plain-1.0_/:@,", "plain-1.0_/:@,"),
    ])
    func noValueLeavesItsPlace(_ value: String, _ shown: String) {
        let lines = Lines()
        lines.logger().log(.info, "m", [.init("v", .string(value)), .init("after", .bool(true))])
        lines.logger().log(.info, "m", [.init("v", .raw(value))])
        #expect(lines.take() == ["\(time) info m v=\(shown) after=true\n", "\(time) info m v=\(shown)\n"])
        let quoted = shown.hasPrefix("\"") ? shown : "\"\(shown)\""
        lines.logger(.json).log(.info, "m", [.init("v", .string(value))])
        #expect(
            lines.take() == [
                "{\"time\":\"\(time)\",\"level\":\"info\",\"message\":\"m\",\"v\":\(quoted)}\n"
            ])
    }

    @Test func messagesAndNamesAreKeptInTheirPlaceToo() {
        let lines = Lines()
        lines.logger().log(.info, "a\nb", [.init("c\nd", .int(1)), .init("e", .array([.string("\n")]))])
        lines.logger().log(.info, "m", [.init("o", .object([.init("\u{1b}", .raw("{\n}"))]))])
        #expect(
            lines.take() == [
                "\(time) info a\\nb \"c\\nd\"=1 e=[\"\\n\"]\n",
                "\(time) info m o={\"\\u001b\":\"{\\n}\"}\n",
            ])
    }

    @Test func longValuesAndManyFieldsAreCut() {
        let lines = Lines()
        let long = String(repeating: "x", count: 1025)
        lines.logger().log(.info, "m", [.init("v", .string(long))])
        #expect(lines.take() == ["\(time) info m v=\"\(long.dropLast())…\"\n"])
        let value = String(repeating: "y", count: 1000)
        lines.logger().log(.info, "m", (1...20).map { _ in .init("v", .string(value)) })
        let sixteen = String(repeating: " v=\(value)", count: 16)
        #expect(lines.take() == ["\(time) info m\(sixteen) fieldsLeftOut=4\n"])
    }

    @Test func aPluginsOutputHasItsNameAhead() {
        let lines = Lines()
        lines.logger(from: .error).relay("hello \"you\"\u{1b}[2J \u{fffd}", from: "a")
        lines.logger(.json).relay("hello \"you\"\u{1b}[2J \u{fffd}\nx", from: "a")
        #expect(
            lines.take() == [
                "\(time) info [a] hello \"you\"\\u001b[2J \u{fffd}\n",
                "{\"time\":\"\(time)\",\"level\":\"info\","
                    + "\"message\":\"[a] hello \\\"you\\\"\\u001b[2J \u{fffd}\\nx\",\"plugin\":\"a\"}\n",
            ])
    }

    @Test func linesBelowTheLevelAreNotWritten() {
        let lines = Lines()
        for level in LogLevel.allCases { lines.logger(from: .warning).log(level, "m") }
        #expect(lines.take() == ["\(time) warning m\n", "\(time) error m\n"])
    }

    @Test func theOperatorsWishesReachTheLogger() throws {
        for configuration in [
            try parse(file: "{logFormat: 'json', logLevel: 'error'}"),
            try parse(["--log-format", "json", "--log-level=error"]),
            try parse([], ["HOLDGATE_LOG_FORMAT": "json", "HOLDGATE_LOG_LEVEL": "error"]),
        ] {
            let logger = Logger(configuration)
            #expect(logger.format == .json)
            #expect(logger.minimumLevel == .error)
        }
    }
}

@Suite struct LogRateTests {
    @Test func repeatsWithinASecondAreCountedAndToldOf() {
        let lines = Lines()
        let logger = lines.logger(perSecond: 2)
        for _ in 1...5 { logger.log(.warning, "bad request", [.init("n", .int(1))]) }
        #expect(lines.take() == Array(repeating: "\(time) warning bad request n=1\n", count: 2))
        logger.log(.warning, "another")
        #expect(lines.take() == ["\(time) warning another\n"])
        lines.advance(ms: 999)
        logger.log(.warning, "bad request")
        #expect(lines.take() == [])
        lines.advance(ms: 1)
        logger.log(.warning, "bad request")
        #expect(
            lines.take() == [
                "\(time) warning repeated lines were suppressed line=\"bad request\" suppressed=4\n",
                "\(time) warning bad request\n",
            ])
    }

    @Test func flushTellsWhenNothingElseIsLogged() {
        let lines = Lines()
        let logger = lines.logger(perSecond: 1)
        for _ in 1...3 {
            logger.log(.info, "b")
            logger.log(.error, "a")
        }
        _ = lines.take()
        logger.flush()
        #expect(lines.take() == [])
        lines.advance(ms: 1000)
        logger.flush()
        #expect(
            lines.take() == [
                "\(time) error repeated lines were suppressed line=a suppressed=2\n",
                "\(time) info repeated lines were suppressed line=b suppressed=2\n",
            ])
        logger.flush()
        #expect(lines.take() == [])
    }

    @Test func theEndTellsOfAll() {
        let lines = Lines()
        let logger = lines.logger(perSecond: 1)
        for _ in 1...2 { logger.log(.info, "a") }
        _ = lines.take()
        logger.flush(all: true)
        #expect(lines.take() == ["\(time) info repeated lines were suppressed line=a suppressed=1\n"])
    }

    @Test func aSecondLaterAMessagePassesAgain() {
        let lines = Lines()
        let logger = lines.logger(perSecond: 1)
        for _ in 1...3 {
            logger.log(.info, "a")
            lines.advance(ms: 1000)
        }
        #expect(lines.take() == Array(repeating: "\(time) info a\n", count: 3))
    }

    @Test func messagesThatVaryShareOneCountInTheEnd() {
        let lines = Lines()
        let logger = lines.logger(perSecond: 2)
        for number in 1...300 { logger.log(.info, "message \(number)") }
        #expect(lines.take().count == 258)
        lines.advance(ms: 1000)
        logger.log(.info, "message 300")
        #expect(
            lines.take() == [
                "\(time) warning repeated lines were suppressed line=\"other messages\" suppressed=42\n",
                "\(time) info message 300\n",
            ])
    }
}
