import HTTPClient
import HoldgateClient
import Simulator
import Testing

@testable import http_collector

@Suite struct BackoffTests {
    @Test func itDoublesUpToABoundWithUpToAHalfTakenOff() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<100 {
            var backoff = Backoff(firstMs: 200, maxMs: 30_000)
            for full in [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000] as [Int64] {
                let waitMs = backoff.next(random: random.next())
                #expect((full / 2...full).contains(waitMs))
            }
            backoff.reset()
            let waitMs = backoff.next(random: random.next())
            #expect((100...200).contains(waitMs))
        }
    }

    @Test func itIsRandom() {
        var random = SplitMix64(seed: 4)
        let waits = (0..<100).map { _ in
            var backoff = Backoff(firstMs: 10_000, maxMs: 30_000)
            return backoff.next(random: random.next())
        }
        #expect(Set(waits).count > 50)
    }

    @Test func manyAttemptsOverflowNothing() {
        var random = SplitMix64(seed: 5)
        var backoff = Backoff(firstMs: 1 << 31, maxMs: 1 << 31)
        for _ in 0..<200 {
            let waitMs = backoff.next(random: random.next())
            #expect((1 << 30...1 << 31).contains(waitMs))
        }
    }
}

@Suite struct ReporterTests {
    @Test func whatGoesOnIsSaidOnceAndNowAndThen() {
        var reporter = Reporter()
        func away(_ reason: String, _ nowMs: Int64) -> String? {
            reporter.line(.away(reason, waitMs: 5), nowMs: nowMs)
        }
        #expect(reporter.line(.back, nowMs: 0) == nil)
        #expect(away("a", 0) == "the receiver takes nothing, attempt 1, the next in 5 ms: a")
        #expect(away("a", 59_999) == nil)
        #expect(away("a", 60_000) == "the receiver takes nothing, attempt 3, the next in 5 ms: a")
        #expect(away("b", 60_999) == nil)
        #expect(away("b", 61_000) == "the receiver takes nothing, attempt 5, the next in 5 ms: b")
        #expect(reporter.line(.back, nowMs: 70_000) == "the receiver is back, after 70000 ms and 5 attempts")
        #expect(reporter.line(.back, nowMs: 70_000) == nil)
        #expect(away("b", 70_001) == "the receiver takes nothing, attempt 1, the next in 5 ms: b")
    }

    @Test func ofManyRejectedEventsOneASecondIsNamed() {
        var reporter = Reporter()
        func rejected(_ seq: UInt64, _ nowMs: Int64) -> String? {
            reporter.line(.rejected(Reject(seq: JournalSeq(seq), reason: "r")), nowMs: nowMs)
        }
        #expect(rejected(1, 0) == "event 1 is refused, and goes to the dead letters: r")
        #expect(rejected(2, 1) == nil)
        #expect(rejected(3, 999) == nil)
        #expect(
            rejected(4, 1000)
                == "event 4 is refused, and goes to the dead letters: r; 2 others before it, too")
    }
}

@Suite struct PostTests {
    private func post(_ events: [Event]) throws -> Sender.Post {
        let desk = Desk()
        _ = desk.take(events, of: launch)
        return try #require(desk.post())
    }

    @Test func theHeadSaysWhatLetTheEventsOut() throws {
        let mixed = [event(5, under: 2), event(6, under: 2), event(9, under: 2), event(10, under: 4)]
        #expect(try post(mixed).under == "5-9=2, 10-10=4")
    }

    @Test func theKeyIsTheSameForTheSameEventsAlone() throws {
        let one = try post(events(1...2))
        #expect(one.key("a b/ü%", one.body) == "a%20b/%C3%BC%25/\(launch.raw)/1-2/" + check(one))
        let other = try post([event(1), event(2, bytes: 11)])
        #expect(one.key("c", one.body) != other.key("c", other.body))
    }

    private func check(_ post: Sender.Post) -> String {
        let text = String(crc32(of: post.body), radix: 16)
        return String(repeating: "0", count: 8 - text.count) + text
    }

    @Test func theHeadersAreThese() throws {
        var options = Options(endpoint: "tcp://h:1")
        options.headers = [.init(name: "X-A", value: "b")]
        let headers = try post(events(1...1)).headers(options, token: "t", key: "k", isCompressed: true)
        #expect(
            headers.map { "\($0.name): \($0.value)" } == [
                "X-A: b", "Content-Type: application/cloudevents-batch+json", "Content-Encoding: gzip",
                "Authorization: Bearer t", "Idempotency-Key: k", "Holdgate-Collector: http-collector",
                "Holdgate-Launch: \(launch.raw)", "Holdgate-Under: 1-1=1",
            ])
    }

    @Test func deliveriesBecomeEventsWithoutACopy() {
        let header = DeliverHeader(
            launch: launch,
            ranges: [SeqRange(first: JournalSeq(3), count: 2), SeqRange(first: JournalSeq(9), count: 1)],
            under: [
                .init(range: SeqRange(first: JournalSeq(3), count: 1), transition: TransitionSeq(2)),
                .init(range: SeqRange(first: JournalSeq(4), count: 1), transition: TransitionSeq(4)),
                .init(range: SeqRange(first: JournalSeq(9), count: 1), transition: TransitionSeq(4)),
            ])
        let frames = ["{\"a\":1}\n{\"b\":2}", "{\"c\":3}\n"].map { EventsFrame(copying: Array($0.utf8)) }
        let texts = Event.all(of: Delivery(header: header, frames: frames)).map { event in
            var bytes: [UInt8] = []
            event.append(to: &bytes)
            return "\(event.seq) \(event.under) " + String(decoding: bytes, as: UTF8.self)
        }
        #expect(texts == ["3 2 {\"a\":1}", "4 4 {\"b\":2}", "9 4 {\"c\":3}"])
    }

    @Test func aQueueIsInOrder() {
        var queue = EventQueue()
        var (first, last) = (UInt64(1), UInt64(0))
        var random = SplitMix64(seed: 9)
        for _ in 0..<2000 {
            if random.chance(60) {
                last += 1
                queue.append(event(last, bytes: 1))
            } else if !queue.isEmpty {
                let count = Int.random(in: 1...queue.count, using: &random)
                #expect(queue.first(count).map(\.seq.raw) == Array(first..<(first + UInt64(count))))
                queue.removeFirst(count)
                first += UInt64(count)
            }
            #expect(queue.count == Int(last + 1 - first))
        }
    }
}

@Suite struct WebAddressTests {
    @Test func partsAreRead() throws {
        let address = try #require(WebAddress("HTTPS://Example.org/a?b"))
        #expect((address.scheme, address.host, address.port) == ("https", "example.org", "443"))
        #expect(!address.hasCredentials && !address.hasFragment)
        #expect(try #require(WebAddress("http://u:p@h/")).hasCredentials)
        #expect(try #require(WebAddress("http://u@h/")).hasCredentials)
        #expect(try #require(WebAddress("http://h/#f")).hasFragment)
        for text in ["", "example.org", "http://", "http://h:99999/", "http://h:x/", "/path"] {
            #expect(WebAddress(text) == nil, "\(text)")
        }
    }

    @Test func anOriginIsSchemeHostAndPort() throws {
        let here = try #require(WebAddress("https://h/a"))
        for text in ["https://h:443/b", "https://H/"] {
            #expect(here.isSameOrigin(as: try #require(WebAddress(text))), "\(text)")
        }
        for text in ["http://h/a", "https://h:444/a", "https://h.example/a"] {
            #expect(!here.isSameOrigin(as: try #require(WebAddress(text))), "\(text)")
        }
    }

    @Test func theCheckIsTheUsualOne() { #expect(crc32(of: Array("123456789".utf8)) == 0xCBF4_3926) }
}
