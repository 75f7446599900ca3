import HoldgateHost
import Testing

@Suite struct FileTests {
    @Test func commentsCommasAndBothQuotationMarksAreTaken() throws {
        let parsed = try parse(
            file: """
                \u{feff}/* The gate. */ {
                  // How long // a drain may take
                  drainTimeoutMs: 60000, // a minute, } or so
                  "gatedEvents": 'discard', /* , */
                  'collectors': ["a,b", 'c}"', /* ] */ "d//e", ],
                  stateDir: "/var/\\
                lib",
                  maxFrames: 0x10, ioThreads: +2, maxNesting /* how deep */ : 1e1,
                }
                // The end.
                """)
        #expect(parsed.engine.drainTimeoutMs == 60_000)
        #expect(parsed.engine.gatedEvents == .discard)
        #expect(parsed.engine.collectors == ["a,b", "c}\"", "d//e"])
        #expect(parsed.wireLimits.maxFrames == 16)
        #expect(parsed.ioThreads == 2)
        #expect(parsed.wireLimits.maxNesting == 10)
        #expect(parsed.source(of: "maxNesting") == .file(path: "/etc/h.json", line: 8))
        #expect(try parse(file: "{}") == (try parse()))
        #expect(try parse(file: "//\r\n{ }\r\n") == (try parse()))
    }

    @Test func aRepeatedKeyIsRefused() {
        #expect(
            refusal(file: "{ioThreads: 1,\n\"ioThreads\": 1}")
                == "/etc/h.json:2: \"ioThreads\" was given in line 1 already")
    }

    @Test(arguments: [
        ("", "1: the file must hold one object: { … }"),
        ("// {", "1: the file must hold one object: { … }"),
        ("[]", "1: the file must hold one object: { … }"),
        ("{", "1: the object is not closed: } is missing"),
        ("{ioThreads: 1", "1: the file ends within a value"),
        ("{ioThreads: 1,", "1: the object is not closed: } is missing"),
        ("{ioThreads\n 1}", "2: expected a colon after \"ioThreads\""),
        ("{\nioThreads: }", "2: the value of \"ioThreads\" is not JSON"),
        ("{\nioThreads: 1 // one\nmaxFrames: 5}", "2: the value of \"ioThreads\" is not JSON"),
        ("{ioThreads: 01}", "1: the value of \"ioThreads\" is not JSON"),
        ("{ioThreads: one}", "1: the value of \"ioThreads\" is not JSON"),
        ("{collectors: ['a' 'b']}", "1: the value of \"collectors\" is not JSON"),
        ("{collectors: ['a'}}", "1: the value of \"collectors\" is not JSON"),
        ("{ioThreads: 1,, maxFrames: 5}", "1: expected a key"),
        ("{: 1}", "1: expected a key"),
        ("{ioThreads: 1}\n{}", "2: there is more after the object's end"),
        ("{\nstateDir: '/a\n'}", "2: a quotation mark is not closed"),
        ("{stateDir: \"/a'}", "1: a quotation mark is not closed"),
        ("{'stateDir: 1}", "1: a quotation mark is not closed"),
        ("\n/* {\n}", "2: a comment is not closed"),
        ("{ioThreads: /* 1\n}", "1: a comment is not closed"),
        ("{ / ioThreads: 1}", "1: expected a comment after /"),
        ("{ioThreads: 1 / 2}", "1: the value of \"ioThreads\" is not JSON"),
    ])
    func aMistakeIsToldWithItsLine(_ file: String, _ expected: String) {
        #expect(refusal(file: file) == "/etc/h.json:\(expected)")
    }

    @Test func bytesThatAreNoTextAreRefused() {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse(
                arguments: ["--config", "f"], environment: ["HOME": "/h"],
                readFile: { _ in [0x7b, 0xff, 0x7d] })
        }
        #expect(error?.description == "f: is not UTF-8")
    }

    /// Every prefix and every change of one byte is taken or refused, and nothing else.
    @Test func noFileTraps() throws {
        let file = Array("{a:/*c*/'x\\'y',\"collectors\":[1,\"é\",{b:.5e3}],//z\nioThreads:+0x1,}".utf8)
        var refused = 0
        for length in 0...file.count {
            for byte: UInt8 in [
                0, 0x0a, 0x22, 0x27, 0x2a, 0x2c, 0x2f, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0xff,
            ] {
                var changed = Array(file[..<length])
                changed.append(byte)
                var whole = file
                if length < file.count { whole[length] = byte }
                for bytes in [changed, whole] {
                    do {
                        _ = try Configuration.parse(
                            arguments: ["--config", "f"], environment: ["HOME": "/h"],
                            readFile: { _ in bytes })
                    } catch { refused += 1 }
                }
            }
        }
        // One is {}.
        #expect(refused == 2 * 14 * (file.count + 1) - 1)
    }
}
