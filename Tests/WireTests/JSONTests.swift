import Testing

@testable import Wire

@Suite struct JSONTests {
    private func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    @Test func everyKindOfValueIsRead() throws {
        let text = #"""
             {"n":null,"t":true,"f":false,"i":-9223372036854775808,"u":18446744073709551615,"m":9223372036854775807,
            "d":1.5,"e":-2E3,"s":"a\"\\\/\b\f\n\r\té\ud83d\ude00é","a":[1,[],{}],"":""}
            """#
        let expected: JSONValue = .object([
            .init("n", .null), .init("t", .bool(true)), .init("f", .bool(false)), .init("i", .int(.min)),
            .init("u", .uint(.max)), .init("m", .int(.max)), .init("d", .double(1.5)),
            .init("e", .double(-2000)), .init("s", .string("a\"\\/\u{8}\u{c}\n\r\té😀é")),
            .init("a", .array([.int(1), .array([]), .object([])])), .init("", .string("")),
        ])
        #expect(try JSONValue.parse(text) == expected)
        #expect(try JSONValue.parse(expected.text) == expected)
    }

    @Test func everythingThatIsNotJSONIsRefused() {
        let bad: [String] = [
            "", " ", "{", "}", "[", "{}{}", "{} x", "1 2", "[1,]", "{\"a\":1,}", "{a:1}", "'a'", "nul",
            "tru", "01", "1.", ".5", "+1", "-", "1e", "0x1", "NaN", "\"a", "\"\\x\"", "\"\\u12\"", "\"a\nb\"",
            "\"\\ud800\"", "\"\\ud800\\u0041\"", "\u{feff}{}", "[1 2]", "{\"a\" 1}", "{\"a\":}", "//",
            "[\"a\u{0}\"]",
            "{\"a\":1,\"a\":2}", "[{\"b\":{\"a\":1,\"\\u0061\":2}}]", "1e400", "123456789012345678901",
            "{}\u{0}",
        ]
        for text in bad {
            #expect(throws: WireError.self, "\(text)") { try JSONValue.parse(text) }
        }
        let notUTF8: [[UInt8]] = [
            [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
        ]
        for bytes in notUTF8 {
            #expect(throws: WireError(.invalidMessage, "not JSON: the text is not valid UTF-8")) {
                try JSONValue.parse(bytes)
            }
        }
    }

    @Test func aRepeatedMemberIsNamed() {
        #expect(throws: WireError(.invalidMessage, #"the member "a" is given twice"#)) {
            try JSONValue.parse(#"{"b":[{"a":1,"c":2,"\u0061":3}]}"#)
        }
        let many = (0..<40).map { "\"k\($0)\":0" }.joined(separator: ",")
        #expect(throws: WireError(.invalidMessage, #"the member "k7" is given twice"#)) {
            try JSONValue.parse("{\(many),\"k7\":1}")
        }
    }

    @Test func namesAreComparedByTheirBytes() throws {
        let value = try JSONValue.parse("{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(value["\u{e9}"] == .int(1))
        #expect(value["e\u{301}"] == .int(2))
    }

    @Test func nestingIsBounded() throws {
        for depth in [1, 2, 31, 32] {
            #expect(throws: Never.self, "\(depth)") { try JSONValue.parse(nested(depth)) }
        }
        let tooDeep = WireError(.invalidMessage, "objects and arrays are nested deeper than 32")
        #expect(throws: tooDeep) { try JSONValue.parse(nested(33)) }
        #expect(throws: tooDeep) { try JSONValue.parse(nested(100_000)) }
        #expect(try JSONValue.parse("1", maxNesting: 1) == .int(1))
        #expect(try JSONValue.parse("[1]", maxNesting: 1) == .array([.int(1)]))
        #expect(throws: WireError.self) { try JSONValue.parse("[[1]]", maxNesting: 1) }
        #expect(throws: WireError.self) { try JSONValue.parse("[{}]", maxNesting: 1) }
        let innermost = String(repeating: "{\"a\":", count: 32) + "[]" + String(repeating: "}", count: 32)
        #expect(throws: tooDeep) { try JSONValue.parse(innermost) }
    }

    @Test func aParserServesManyTexts() throws {
        let parser = JSONParser()
        for size in [1, 5000, 3, 100_000, 20] {
            let text = String(repeating: "x", count: size)
            #expect(try parser.parse("\"\(text)\"") == .string(text))
            #expect(throws: WireError.self) { try parser.parse("[\(text)") }
        }
    }

    @Test func whatIsWrittenIsEscaped() {
        let value: JSONValue = .object([
            .init("a\"\\/", .string("\u{0}\u{1f}\u{7f}\u{8}\u{c}\n\r\té😀\u{2028}")),
            .init("b", .array([.null, .bool(true), .bool(false), .int(-5), .uint(.max), .raw("{ }")])),
            .init("c", .object([])), .init("d", .array([])), .init("e", .int(.min)), .init("f", .int(0)),
        ])
        let text =
            "{\"a\\\"\\\\/\":\"\\u0000\\u001f\u{7f}\\b\\f\\n\\r\\té😀\u{2028}\","
            + "\"b\":[null,true,false,-5,18446744073709551615,{ }],\"c\":{},\"d\":[],"
            + "\"e\":-9223372036854775808,\"f\":0}"
        #expect(value.text == text)
    }

    @Test func doublesComeBackAsTheyWere() throws {
        let values: [Double] = [
            0, -0.0, 1, 0.1, 1e21, 1e-7, .pi, .leastNonzeroMagnitude, 1.7976931348623157e308,
            2.2250738585072014e-308,
            1e15 + 0.5, 123456789.125, 9007199254740992,
        ]
        for value in values {
            let text = JSONValue.double(value).text
            #expect(try JSONValue.parse(text) == .double(value), "\(text)")
        }
    }

    @Test func aWriterIsUsedAgain() {
        var writer = JSONWriter()
        writer.beginArray()
        writer.value(1)
        writer.value("x")
        writer.endArray()
        writer.newline()
        writer.beginObject()
        writer.member("a", UInt64(2))
        writer.endObject()
        #expect(writer.text == "[1,\"x\"]\n{\"a\":2}")
        writer.reset()
        writer.null()
        #expect(writer.text == "null")
    }

    /// The examples of RFC 7396, appendix A.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
        (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
        ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
    func aMergePatchIsAppliedAsInTheStandard(target: String, patch: String, result: String) throws {
        let merged = try JSONValue.parse(target).merging(patch: JSONValue.parse(patch))
        #expect(merged.text == result)
    }
}
