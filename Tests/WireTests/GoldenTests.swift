import Testing

@testable import Wire

@Suite struct GoldenTests {
    private func expectBothWays<Value: Hashable>(
        _ vectors: [(Value, String)], _ codec: Codec<Value>, at location: SourceLocation = #_sourceLocation
    ) {
        for (value, text) in vectors {
            #expect(codec.text(value) == text, sourceLocation: location)
            #expect(throws: Never.self, "\(text)", sourceLocation: location) {
                let read = try codec.value(text)
                #expect(read == value, sourceLocation: location)
            }
        }
    }

    @Test func everyMessageHasItsBytes() {
        expectBothWays(Golden.requests, Codecs.request)
        expectBothWays(Golden.replies, Codecs.reply)
        expectBothWays(Golden.ingestReplies, Codecs.ingestReply)
        expectBothWays(Golden.ingestHeaders, Codecs.ingestHeader)
        expectBothWays(Golden.pluginMessages, Codecs.plugin)
        expectBothWays(Golden.hostMessages, Codecs.host)
        expectBothWays(Golden.states, Codecs.state)
        expectBothWays(Golden.streamHeaders, Codecs.streamHeader)
        expectBothWays(Golden.drains, Codecs.drain)
        expectBothWays(Golden.heartbeats, Codecs.heartbeat)
        expectBothWays(Golden.pluginBodies, Codecs.pluginBody)
        expectBothWays(Golden.apps, Codecs.app)
    }

    @Test func everyCommandHasAVector() {
        #expect(Set(Golden.requests.map(\.0.command.name)) == Set(ControlCommand.names))
    }

    /// Each prefix of `bytes`, and each of `bytes` with one byte changed: to every value, or to `values` of them.
    private func expectSurvival<Value: Hashable>(_ vectors: [(Value, String)], _ codec: Codec<Value>) {
        let parser = JSONParser()
        var random = SplitMix(state: 7)
        let telling: [UInt8] =
            [0, 0x09, 0x0a, 0x20, 0x7f, 0x80, 0xc3, 0xff] + Array(#""\,:{}[]-019.eEtn"#.utf8)
        for (_, text) in vectors {
            let bytes = Array(text.utf8)
            for end in 0..<bytes.count {
                let parsed = try? codec.value(Array(bytes[..<end]), parser)
                #expect(parsed == nil, "the first \(end) bytes of \(text)")
            }
            for place in bytes.indices {
                let all = bytes.count <= 40
                let some = telling + [UInt8.random(in: 0...255, using: &random)]
                var changed = bytes
                for value in all ? Array(0...255) : some {
                    changed[place] = value
                    if !codec.survives(changed, parser) {
                        Issue.record("\(String(decoding: changed, as: UTF8.self)) does not come back")
                    }
                }
            }
        }
    }

    @Test func noPrefixAndNoChangedByteTraps() {
        expectSurvival(Golden.requests, Codecs.request)
        expectSurvival(Golden.replies, Codecs.reply)
        expectSurvival(Golden.ingestReplies, Codecs.ingestReply)
        expectSurvival(Golden.ingestHeaders, Codecs.ingestHeader)
    }

    @Test func noPrefixAndNoChangedByteOfAPluginsMessageTraps() {
        expectSurvival(Golden.pluginMessages, Codecs.plugin)
        expectSurvival(Golden.hostMessages, Codecs.host)
    }

    @Test func noPrefixAndNoChangedByteOfTheStreamTraps() {
        expectSurvival(Golden.states, Codecs.state)
        expectSurvival(Golden.streamHeaders, Codecs.streamHeader)
        expectSurvival(Golden.drains, Codecs.drain)
        expectSurvival(Golden.heartbeats, Codecs.heartbeat)
        expectSurvival(Golden.pluginBodies, Codecs.pluginBody)
        expectSurvival(Golden.apps, Codecs.app)
    }

    /// Whatever the scanner takes, it takes again as it is: its output is normal.
    @Test func noPrefixAndNoChangedByteOfEventsTraps() throws {
        let scanner = EventScanner()
        let more = #","time":"2026-01-31T12:00:00Z","x":1,"data":{"a":[1e5,"\u00e9\n"]}"#
        let bytes = Array((event(more) + "\r\n\n{\n" + event().dropFirst() + "\n").utf8)
        let block = LineBlock()
        let again = LineBlock()
        func check(_ frame: [UInt8]) throws {
            do {
                try scanner.scan([frame], into: block)
            } catch {
                #expect(error.index != nil || error.message.hasPrefix("the message has no event"))
                #expect(block.lines.isEmpty && block.byteCount == 0)
                return
            }
            let first = Scanned(block)
            try scanner.scan([Array(first.text.utf8)], into: again)
            #expect(Scanned(again) == first)
        }
        for end in 0...bytes.count { try check(Array(bytes[..<end])) }
        for place in bytes.indices {
            var changed = bytes
            for value in 0...255 as ClosedRange<UInt8> {
                changed[place] = value
                try check(changed)
            }
        }
    }
}
