import Testing

@testable import Wire

/// What is refused, with what is said of it.
@Suite struct BadEventTests {
    private let scanner = EventScanner()

    private func without(_ name: String) -> String {
        let members = [
            "specversion": #""specversion":"1.0""#, "id": #""id":"1""#, "source": #""source":"/s""#,
            "type": #""type":"t""#,
        ]
        return "{" + members.filter { $0.key != name }.map(\.value).joined(separator: ",") + "}"
    }

    private func expect(
        _ frames: [String], _ message: String, index: Int = 0, code: ErrorCode = .invalidMessage,
        at location: SourceLocation = #_sourceLocation
    ) {
        let expected = WireError(code, "event \(index): \(message)", index: index)
        let block = LineBlock()
        let error = #expect(throws: WireError.self, "\(frames)", sourceLocation: location) {
            try scanner.scan(frames.map { Array($0.utf8) }, into: block)
        }
        #expect(error == expected, "\(frames)", sourceLocation: location)
        // The same after two good ones: the place moves along.
        let later = WireError(code, "event \(index + 2): \(message)", index: index + 2)
        let shifted = [event() + "\n", event()] + frames
        #expect(throws: later, "\(frames)", sourceLocation: location) {
            try scanner.scan(shifted.map { Array($0.utf8) }, into: block)
        }
    }

    @Test func whatIsNoObjectOnItsLine() {
        let notObject = "not a JSON object: a frame is a sequence of objects, one a line"
        for text in ["[]", "[\(event())]", "1", "\"a\"", "null", "x", ",", "}", "\u{0}", "é"] {
            expect([text], notObject)
            expect([event() + "\n" + text], notObject, index: 1)
        }
        let trailing = "something stands after the object on its line: part events by a line break"
        for text in [
            event() + event(), event() + " " + event(), event() + ",", event() + "\r" + event(),
            event() + "]", event() + "x\n",
            "{\n" + event().dropFirst() + event(), event() + "\u{0}",
        ] {
            expect([text], trailing)
        }
        expect(["\u{feff}" + event()], "the frame begins with a byte order mark: leave it out")
        expect([event() + "\n\u{feff}" + event()], notObject, index: 1)
    }

    @Test func whatIsNoJSON() {
        let syntax = "not one JSON value, or something stands after it"
        let string =
            "not JSON: a string is not closed, has a bad escape, or a control character that is not escaped"
        let number = "a number is malformed, or too large to be read"
        for text in [
            "{", "{\n\n", "{]}", "{]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "{\"a\":tru}", "{\"a\":[}]",
        ] {
            expect([text], syntax)
        }
        for text in [
            "{\"a\":\"\\x\"}", "{\"a\":\"\n\"}", "{\"a\":\"\t\"}", "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\\udc00\"}",
        ] {
            expect([text], string)
        }
        for text in [
            "01", "-", "1.", "1e", "+1", "12345678901234567890e", "1e400x", "0123456789012345678901234567",
        ] {
            let error = #expect(throws: WireError.self, "\(text)") {
                try scanner.scan(event(",\"data\":\(text)"))
            }
            #expect(error?.code == .invalidMessage)
        }
        expect([event(",\"data\":01")], number)
        let notUTF8 = "event 0: not JSON: the text is not valid UTF-8"
        for bytes in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf5, 0x80, 0x80, 0x80]]
            as [[UInt8]]
        {
            let text = Array("{\"a\":\"".utf8) + bytes + Array("\"}".utf8)
            #expect(throws: WireError(.invalidMessage, notUTF8, index: 0)) {
                try scanner.scan([text], into: LineBlock())
            }
        }
    }

    @Test func attributesThatAreMissing() {
        for name in ["specversion", "id", "source", "type"] {
            expect([without(name)], "the attribute \"\(name)\" is missing")
            expect([without(name).dropLast() + ",\"\(name)\":null}"], "the attribute \"\(name)\" is missing")
            expect([without(name).dropLast() + ",\"\(name)\":1}"], "\"\(name)\" is not a string")
            expect([without(name).dropLast() + ",\"\(name)\":\"\"}"], "\"\(name)\" is empty")
        }
        expect(["{}"], "the attribute \"specversion\" is missing")
        expect(
            [without("specversion").dropLast() + ",\"specversion\":\"0.3\"}"], "specversion is not \"1.0\"")
    }

    @Test func attributesGivenTwice() {
        for name in ["specversion", "id", "source", "type"] {
            expect([event(",\"\(name)\":\"1.0\"")], "the member \"\(name)\" is given twice")
        }
        expect([event(",\"t\\u0079pe\":\"x\"")], "the member \"type\" is given twice")
        expect([event(",\"data\":1,\"data\":1")], "the member \"data\" is given twice")
        expect([event(",\"time\":null,\"time\":null")], "the member \"time\" is given twice")
        expect([event(",\"x\":1,\"y\":2,\"x\":null")], "the member \"x\" is given twice")
        let many = (0..<200).map { ",\"x\($0)\":1" }.joined()
        expect([event(many + ",\"x77\":2")], "the member \"x77\" is given twice")
    }

    @Test func valuesThatTheStandardRefuses() {
        for name in ["time", "subject", "dataschema", "datacontenttype", "data_base64"] {
            expect([event(",\"\(name)\":{}")], "\"\(name)\" is not a string")
        }
        for name in ["time", "subject", "dataschema", "datacontenttype"] {
            expect([event(",\"\(name)\":\"\"")], "\"\(name)\" is empty")
        }
        for time in [
            "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00",
            "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+0530", "2026-01-01T00:00:00Zx", "2026-00-10T00:00:00Z", "2026-1-1T00:00:00Z",
            "x", "2026",
            "2026-01-01T00:00:00+24:00", "1900-02-29T00:00:00Z",
        ] {
            expect([event(",\"time\":\"\(time)\"")], "\"time\" is no RFC 3339 time")
        }
        for type in [
            "json", "a/", "/b", "a/b;", "a/b; c", "a/b;c=", "a b/c", #"a/b;c=\"d"#, "a/b c", #"a/b;c=\"\\"#,
        ] {
            expect([event(",\"datacontenttype\":\"\(type)\"")], "\"datacontenttype\" is no media type")
        }
        for uri in ["/a", "a", "1:b", "x:", ":", "http://a b", "http://%zz"] {
            expect([event(",\"dataschema\":\"\(uri)\"")], "\"dataschema\" is no absolute URI")
        }
        for source in ["a b", "%2", "%", "a%2g", ":a", "1a:b", "é", "<a>", "a#b#c", "\\\\"] {
            let text = event().replacing("/s", with: source)
            expect([text], "\"source\" is no URI reference")
        }
        for base64 in ["a", "YQ", "YQ=", "Y===", "YQ==YQ==", "Y Q=", "YQ=\\n", "-_-_", "===="] {
            expect([event(",\"data_base64\":\"\(base64)\"")], "\"data_base64\" is no base64")
        }
        expect([event(",\"data_base64\":\"\",\"data\":1")], "data and data_base64 are both given")
        for value in ["1.5", "2147483648", "-2147483649", "[]", "{}", "1e3", "99999999999999999999"] {
            let message = "the extension \"x\" is no string, boolean or 32-bit whole number"
            expect([event(",\"x\":\(value)")], message)
        }
        for name in ["X", "a_b", "a-b", "", "é", "aB", "data_base65"] {
            let message = "\"\(name)\" is no attribute name: lower-case letters a to z and digits only"
            expect([event(",\"\(name)\":1")], message)
        }
        for character in [
            "\\n", "\\u0000", "\\u007f", "\\u0085", "\u{9f}", "\\ufffe", "\\ufdd0", "\\ud83f\\udfff",
        ] {
            for padding in ["", "abcdefghi"] {
                let message = "\"subject\" has a control character or a noncharacter"
                expect([event(",\"subject\":\"\(padding)\(character)z\"")], message)
            }
        }
    }

    @Test func aMessageWithoutEvents() {
        let expected = WireError(.invalidMessage, "the message has no event: send at least one JSON object")
        for frames in [[], [""], ["", "\n\r\n  \t"]] as [[String]] {
            #expect(throws: expected) { try scanner.scan(frames.map { Array($0.utf8) }, into: LineBlock()) }
        }
    }
}
