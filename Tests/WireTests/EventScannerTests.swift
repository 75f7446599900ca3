import Testing

@testable import Wire

@Suite struct EventScannerTests {
    private let scanner = EventScanner()

    @Test func framesAreAppendedOneEventALine() throws {
        let scanned = try scanner.scan(
            event(type: "a") + "\n" + event(type: "b"), event(type: "c") + "\n", "", "\n", event(type: "d"))
        let text = ["a", "b", "c", "d"].map { event(type: $0) + "\n" }.joined()
        #expect(scanned == Scanned(text, types: ["a", "b", "c", "d"]))
    }

    @Test(arguments: [
        // what came, what is kept; E stands for an event
        ("E", "E\n"), ("E\n", "E\n"), ("E\r\n", "E\n"), ("E\n\n\nE", "E\nE\n"),
        ("\r\n\r\nE\r\n \t\r\nE\r\n", "E\nE\n"),
        ("  E\t \nE  ", "E\nE\n"), ("E\n   ", "E\n"), ("\nE", "E\n"),
    ])
    func whiteSpaceBetweenEventsGoes(came: String, kept: String) throws {
        let expand = { (text: String) in text.replacing("E", with: event(#","data":"x\n \\ }{""#)) }
        let scanned = try scanner.scan(expand(came))
        #expect(scanned.text == expand(kept))
    }

    @Test func anEventMaySpanLines() throws {
        let pretty =
            "{\r\n  \"specversion\": \"1.0\",\n  \"data\": {\n \"a\": [1,\r\n2], \"b\": \"}\\\"{\"},\n"
            + "\"type\": \"x.y\",\n\n\"id\": \"1\", \"source\": \"/s\"\n}"
        let flat =
            "{    \"specversion\": \"1.0\",   \"data\": {  \"a\": [1,  2], \"b\": \"}\\\"{\"}, "
            + "\"type\": \"x.y\",  \"id\": \"1\", \"source\": \"/s\" }\n"
        #expect(try scanner.scan(pretty) == Scanned(flat, types: ["x.y"]))
        let both = try scanner.scan(event() + "\n" + pretty + "  \r\n" + pretty + "\n" + event())
        let text = event() + "\n" + flat + flat + event() + "\n"
        #expect(both == Scanned(text, types: ["a.b", "x.y", "x.y", "a.b"]))
        // A first line that ends as an object does.
        let early = "{\"data\":{}\n,\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"s\",\"type\":\"t\"}"
        #expect(try scanner.scan(early).types == ["t"])
    }

    @Test func aLoneReturnWithinAnEventBecomesASpace() throws {
        let scanned = try scanner.scan(event(",\r\"data\":1"))
        #expect(scanned.text == event(", \"data\":1") + "\n")
    }

    @Test func typesAreFoundWhereverTheyStand() throws {
        let rest = #""specversion":"1.0","id":"1","source":"/s""#
        let texts: [(String, String)] = [
            (#"{"type":"a",\#(rest)}"#, "a"), (#"{ \#(rest) , "type" : "a.b" }"#, "a.b"),
            (#"{"data":{"type":"no","x":[{"type":1}]},\#(rest),"type":"yes"}"#, "yes"),
            (#"{"data":[],"type":"t",\#(rest)}"#, "t"), (#"{"data":{},"ext":null,"type":"t",\#(rest)}"#, "t"),
            (#"{"data":"type","type":"t\u0079\"\\","ext":"\"",\#(rest)}"#, "ty\"\\"),
            (#"{"t\u0079pe":"k",\#(rest)}"#, "k"), (#"{"type":"\\\\",\#(rest)}"#, "\\\\"),
            (#"{"type":"é😀",\#(rest)}"#, "é😀"),
        ]
        for (text, type) in texts {
            #expect(try scanner.scan(text) == Scanned(text + "\n", types: [type]))
        }
        let all = try scanner.scan(
            texts.map(\.0).joined(separator: "\n"), texts.map(\.0).joined(separator: "\n"))
        #expect(all.types == texts.map(\.1) + texts.map(\.1))
    }

    @Test func whatTheStandardAllowsIsTaken() throws {
        let more = [
            #","time":"2026-02-28T23:59:60.123456789+05:30""#, #","time":"2024-02-29t00:00:00z""#,
            #","time":null,"subject":null,"data":null,"data_base64":"""#,
            #","data_base64":"YWI=","ext1":true"#,
            #","data_base64":"YQ==""#, #","n":2147483647,"m":-2147483648,"s":"","b":false"#,
            #","datacontenttype":"application/json; charset=\"utf-\\\"8\" ; a=b""#,
            #","datacontenttype":"application/vnd.x+json","dataschema":"urn:x:y""#,
            #","dataschema":"https://example.com/a?b#c","subject":"a b é""#,
            #","data":{"type":1,"type":2,"A B":[null]}"#, #","data":123456789012345678901234567890"#,
            #","n":12345,"data":[1e400,-1E-999,0.12345678901234567890123,{"a\"1e999":1e999}],"m":-123456"#,
        ]
        for more in more {
            #expect(try scanner.scan(event(more)) == Scanned(event(more) + "\n", types: ["a.b"]), "\(more)")
        }
        for source in ["/", "urn:uuid:1", "https://a.b:80/c?d=e#f", "a/b:c", "%20", "mailto:a@b", "#f"] {
            let text = event().replacing("/s", with: source)
            #expect(try scanner.scan(text).text == text + "\n")
        }
    }

    @Test func limitsAreExact() throws {
        var limits = WireLimits()
        limits.maxEventsPerMessage = 3
        limits.maxEventBytes = event().utf8.count
        limits.maxEventTypeBytes = 3
        let three = event() + "\n" + event()
        #expect(try scanner.scan(three, event(), limits: limits).types.count == 3)
        #expect(try scanner.scan("   " + event() + "   \n", limits: limits).types.count == 1)
        expectError(.tooLarge, 3, limits, three, event() + "\n" + event())
        expectError(.tooLarge, 3, limits, three, event(), "{")
        expectError(.tooLarge, 1, limits, event(), event(",\"data\":1"))
        expectError(.tooLarge, 0, limits, "{\n" + event().dropFirst() + "\n" + event())
        expectError(.tooLarge, 0, limits, String(repeating: "{", count: 200))
        limits.maxEventBytes += 1
        #expect(try scanner.scan("{\n" + event().dropFirst(), limits: limits).types == ["a.b"])
        expectError(.tooLarge, 1, limits, event(), event(type: "a.bc"))
        expectError(.invalidMessage, 0, limits, event() + event())
    }

    @Test func nestingIsBounded() throws {
        func deep(_ depth: Int, _ core: String) -> String {
            let open = String(repeating: "[", count: depth - 1)
            return event(",\"data\":" + open + core + String(repeating: "]", count: depth - 1))
        }
        for core in ["", "1"] {
            let text = deep(32, core)
            #expect(try scanner.scan(text, text) == Scanned("\(text)\n\(text)\n", types: ["a.b", "a.b"]))
            expectError(.invalidMessage, 1, WireLimits(), event() + "\n" + deep(33, core))
        }
        #expect(try EventScanner(maxNesting: 1).scan(event()).types == ["a.b"])
        #expect(throws: WireError.self) { try EventScanner(maxNesting: 1).scan(event(",\"data\":[]")) }
    }

    @Test func sixtyFiveThousandEventsAndNoMore() throws {
        let line = Array((event() + "\n").utf8)
        var bytes: [UInt8] = []
        for _ in 0..<65_536 { bytes += line }
        let block = LineBlock()
        try scanner.scan([bytes], into: block)
        #expect(block.summary == BlockSummary(count: 65_536, byteCount: bytes.count))
        let error = #expect(throws: WireError.self) { try scanner.scan([bytes, line], into: block) }
        #expect(error?.code == .tooLarge)
        #expect(error?.index == 65_536)
        #expect(block.summary == BlockSummary(count: 0, byteCount: 0))
    }

    @Test func linesAreFoundAgainErasedOnesToo() throws {
        let texts = [event(type: "a"), event(type: "b\\u0062"), event(",\"data\":1e999", type: "c")]
        let erased = String(repeating: " ", count: 20)
        let stored = [texts[0], erased, texts[1], texts[2]].map { $0 + "\n" }.joined()
        let block = LineBlock(capacity: 1)
        func rescan(_ text: String) throws(WireError) {
            let result: Result<Void, WireError> = Array(text.utf8).withUnsafeBytes { bytes in
                Result { () throws(WireError) in try scanner.rescan(bytes: bytes, into: block) }
            }
            try result.get()
        }
        try rescan(stored)
        #expect(Scanned(block) == Scanned(stored, types: ["a", "", "bb", "c"]))
        try scanner.rescan(block)
        #expect(Scanned(block) == Scanned(stored, types: ["a", "", "bb", "c"]))
        let error = #expect(throws: WireError.self) { try rescan(texts[0] + "\n{}\n") }
        #expect(error?.code == .internalError)
    }

    private func expectError(
        _ code: ErrorCode, _ index: Int, _ limits: WireLimits, _ frames: String...,
        at location: SourceLocation = #_sourceLocation
    ) {
        let block = LineBlock()
        let error = #expect(throws: WireError.self, sourceLocation: location) {
            try scanner.scan(frames.map { Array($0.utf8) }, into: block, limits: limits)
        }
        #expect(error?.code == code, "\(error?.message ?? "")", sourceLocation: location)
        #expect(error?.index == index, sourceLocation: location)
    }
}
