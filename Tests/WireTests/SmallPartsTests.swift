import Testing

@testable import Wire

@Suite struct SmallPartsTests {
    private func start(_ lengths: [Int]) -> Int {
        Envelope.payloadStart(frameCount: lengths.count) { lengths[$0] }
    }

    @Test func theEnvelopeEndsWithTheFirstEmptyFrame() {
        let rows: [([Int], Int)] = [
            ([], 0), ([5], 0), ([0], 1), ([0, 5], 1), ([4, 0, 5], 2), ([5, 6], 0), ([0, 0, 5], 1),
            ([4, 0, 0], 2),
            ([255, 0, 1], 2), ([256, 0, 1], 0), ([5, 256, 0], 0), ([1, 1, 1, 1, 1, 1, 1, 0, 9], 8),
            ([1, 1, 1, 1, 1, 1, 1, 1, 0], 0), ([1, 1, 1, 1, 1, 1, 1, 0], 8),
        ]
        for (lengths, expected) in rows { #expect(start(lengths) == expected, "\(lengths)") }
    }

    @Test func anIngestMessageIsSplit() throws {
        var limits = WireLimits()
        limits.maxFrames = 3
        limits.maxFrameBytes = 10
        limits.maxMessageBytes = 20
        func split(_ lengths: [Int], from start: Int = 0) throws(WireError) -> IngestMessage {
            try IngestMessage.split(from: start, frameCount: lengths.count, limits: limits) { lengths[$0] }
        }
        #expect(try split([10]) == IngestMessage(header: nil, events: 0..<1))
        #expect(try split([99, 0, 10], from: 2) == IngestMessage(header: nil, events: 2..<3))
        #expect(try split([0, 1, 9, 10], from: 1) == IngestMessage(header: 1, events: 2..<4))
        let lengths = [0, 1, 9, 10]
        #expect(try split(lengths, from: 1).eventBytes { lengths[$0] } == 19)
        #expect(throws: WireError.self) { try split([]) }
        #expect(throws: WireError.self) { try split([0], from: 1) }
        for bad in [[1, 1, 1, 1], [11], [1, 11], [1, 10, 10]] {
            let error = #expect(throws: WireError.self, "\(bad)") { try split(bad) }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test func aFilterTakesNamesAndPrefixes() throws {
        let filter = try TypeFilter(["b", "a.b", "a.b", "x.*", "x.y.*", "x.z", "e\u{301}", "c", "d"])
        for type in ["b", "a.b", "x.", "x.a", "x.y.z", "x.z", "e\u{301}", "c", "d"] {
            #expect(filter.matches(type), "\(type)")
        }
        for type in ["", "a", "a.", "a.bc", "a.c", "bb", "x", "y", "\u{e9}", "B", "*", "x*"] {
            #expect(!filter.matches(type), "\(type)")
        }
        #expect(!filter.takesAll)
        let all = try TypeFilter(["a", "*", "b.*"])
        #expect(all.takesAll && all.matches("") && all.matches("z"))
        #expect(try TypeFilter(["b", "a"]) == TypeFilter(["a", "b"]))
        for bad in [[], [""], ["a*b"], ["**"], ["*a"], ["a", ""]] as [[String]] {
            #expect(throws: WireError.self, "\(bad)") { try TypeFilter(bad) }
        }
    }

    @Test func aFilterReadsABlock() throws {
        let block = LineBlock()
        let text = [event(type: "a"), event(type: "\\u0061"), event(type: "b")].joined(separator: "\n")
        try EventScanner().scan([Array(text.utf8)], into: block)
        let filter = try TypeFilter(["a"])
        #expect(block.lines.indices.map { block.matches(filter, at: $0) } == [true, true, false])
    }

    @Test func topicsAreTextBothWays() {
        let topics: [(StreamTopic, String)] = [
            (.state, "state"), (.drain, "drain"), (.event(type: "a.b"), "event.a.b"),
            (.app(phase: "x"), "app.x"),
            (.plugin, "plugin"), (.heartbeat, "heartbeat"), (.event(type: "\u{301}x"), "event.\u{301}x"),
        ]
        for (topic, text) in topics {
            #expect(topic.text == text)
            #expect(StreamTopic(text) == topic)
        }
        for text in ["", "event", "event.", "app.", "State", "states"] { #expect(StreamTopic(text) == nil) }
        let prefixes = ["", "s", "state", "states", "event", "st\u{0}"]
        let taken = prefixes.map { prefix in
            Array(prefix.utf8).withUnsafeBytes { StreamTopic.takesState(subscription: $0) }
        }
        #expect(taken == [true, true, true, false, false, false])
    }

    @Test func timesAreTextBothWays() {
        let rows: [(Int64, String)] = [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_769_862_896_789, "2026-01-31T12:34:56.789Z"),
            (Timestamp.range.lowerBound, "0000-01-01T00:00:00.000Z"),
            (Timestamp.range.upperBound, "9999-12-31T23:59:59.999Z"),
        ]
        for (ms, text) in rows {
            #expect(Timestamp.text(ms: ms) == text)
            #expect(Timestamp.parse(text) == ms)
        }
        #expect(Timestamp.text(ms: .max) == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp.text(ms: .min) == "0000-01-01T00:00:00.000Z")
        var random = SplitMix(state: 1)
        for _ in 0..<2000 {
            let ms = Int64.random(in: Timestamp.range, using: &random)
            #expect(Timestamp.parse(Timestamp.text(ms: ms)) == ms)
        }
    }

    @Test func timesOfOthersAreRead() {
        let good: [(String, Int64)] = [
            ("1970-01-01t00:00:00z", 0), ("1970-01-01T00:00:00.1Z", 100), ("1970-01-01T00:00:00.12Z", 120),
            ("1970-01-01T00:00:00.123999999999999999999Z", 123), ("1970-01-01T05:30:00+05:30", 0),
            ("1969-12-31T23:00:00.5-01:00", 500), ("1970-01-01T00:00:60Z", 60_000),
        ]
        for (text, ms) in good { #expect(Timestamp.parse(text) == ms, "\(text)") }
        let bad = [
            "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z", "1970-02-29T00:00:00Z",
            "1970-01-00T00:00:00Z", "1970-00-01T00:00:00Z", "1970-13-01T00:00:00Z", "1970-04-31T00:00:00Z",
            "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z", "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+1:00", "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+00:60",
            "1970-01-01T00:00:00Zz", "1970-01-01T00:00:00+00:00x", "+970-01-01T00:00:00Z",
            "1900-02-29T00:00:00Z",
        ]
        for text in bad { #expect(Timestamp.parse(text) == nil, "\(text)") }
    }
}
