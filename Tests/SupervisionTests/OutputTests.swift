import Testing

@testable import HoldgateHost

@Suite struct OutputTests {
    @Test func linesComeWholeHoweverTheBytesCome() {
        for size in 1...12 {
            var lines = OutputLines()
            var found: [String] = []
            let bytes = Array("one\r\n\ntwo ü\nend".utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                found += lines.take(Array(bytes[start..<min(start + size, bytes.count)]), nowMs: 0)
            }
            #expect(found == ["one", "", "two ü"])
            #expect(lines.finish(nowMs: 0) == ["end"])
        }
    }

    @Test func aLineWithoutEndIsCut() {
        var lines = OutputLines()
        for _ in 0..<100 { #expect(lines.take(Array(repeating: 120, count: 1000), nowMs: 0).isEmpty) }
        #expect(
            lines.take(Array("\nnext\n".utf8), nowMs: 0) == [
                String(repeating: "x", count: 1024) + "…", "next",
            ])
    }

    @Test func aFloodIsCountedAndSaid() {
        var lines = OutputLines()
        let flood = Array(String(repeating: "x\n", count: 500).utf8)
        #expect(lines.take(flood, nowMs: 0).count == 200)
        #expect(lines.take(flood, nowMs: 999).isEmpty)
        let next = lines.take(Array("y\n".utf8), nowMs: 1000)
        #expect(next == ["(800 lines were left out: more than 200 a second)", "y"])
        #expect(lines.finish(nowMs: 1000).isEmpty)
    }
}
