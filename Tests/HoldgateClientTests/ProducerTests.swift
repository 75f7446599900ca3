import HoldgateClient
import Platform
import Testing

@Suite struct ProducerTests {
    private func options(_ endpoint: String) -> Producer.Options {
        var options = Producer.Options(name: "test")
        options.endpoint = endpoint
        options.batchEvents = 10
        options.replyTimeout = .milliseconds(100)
        return options
    }

    private func events(_ range: Range<Int>) -> [String] { range.map { #"{"id":"\#($0)"}"# } }

    @Test func eventsArriveInOrderAndAreCounted() throws {
        let ingest = FakeIngest()
        let host = try FakeRouter { ingest.answer($0) }
        let producer = try Producer(options(host.endpoint))
        let text = events(0..<95).joined(separator: "\n\n") + "\r\n \n"
        try Array(text.utf8).withUnsafeBytes { try producer.send(lines: $0) }
        try producer.send(#"{"id":"95"}"#)
        try producer.closeBlocking()
        #expect(ingest.lines == events(0..<96))
        let bytes = events(0..<96).reduce(0) { $0 + $1.utf8.count + 1 }
        #expect(producer.report == report(accepted: 96, bytes: bytes))
        let error = #expect(throws: HoldgateError.self) { try producer.send("{}") }
        #expect(error?.code == .closed)
    }

    private func report(accepted: Int, bytes: Int) -> Producer.Report {
        var report = Producer.Report()
        report.accepted = accepted
        report.bytes = bytes
        return report
    }

    @Test(arguments: 1...6) func nothingIsLostOrRepeatedOverRestartsAndLostReplies(seed: UInt64) throws {
        let ingest = FakeIngest { number in ((UInt64(number) &* 2_654_435_761 &* seed) >> 7) % 9 == 0 }
        var host = try FakeRouter { ingest.answer($0) }
        let endpoint = host.endpoint
        let producer = try Producer(options(endpoint))
        for part in 0..<6 {
            for event in events(part * 100..<(part + 1) * 100) { try producer.send(event) }
            host.close()
            host = try FakeRouter(endpoint) { ingest.answer($0) }
        }
        try producer.closeBlocking()
        #expect(ingest.lines == events(0..<600))
        let report = producer.report
        #expect(report.accepted + report.duplicate == 600)
        #expect(report.refused == 0)
    }

    @Test func aBadEventIsNamedAndTheRestIsTaken() throws {
        let ingest = FakeIngest(badLine: #"{"id":"37"}"#)
        let host = try FakeRouter { ingest.answer($0) }
        let producer = try Producer(options(host.endpoint))
        for event in events(0..<60) { try producer.send(event) }
        let error = #expect(throws: HoldgateError.self) { try producer.flushBlocking() }
        #expect(error?.code == .invalidMessage)
        #expect(ingest.lines == events(0..<37) + events(38..<60))
        let failures = producer.takeFailures()
        #expect(failures.map(\.index) == [37])
        #expect(failures.map(\.count) == [1])
        #expect(producer.report.refused == 1 && producer.report.accepted == 59)
        try producer.flushBlocking()
        try producer.closeBlocking()
    }

    @Test func refusalsThatPassAreWaitedOut() async throws {
        let ingest = FakeIngest()
        ingest.refuse(with: [
            WireError(.overloaded, "", retryable: true), WireError(.storageFull, "", retryable: true),
            WireError(.notOperating, "", retryable: true),
        ])
        let host = try FakeRouter { ingest.answer($0) }
        let producer = try Producer(options(host.endpoint))
        for event in events(0..<30) { try producer.send(event) }
        try await producer.close()
        #expect(ingest.lines == events(0..<30))
    }

    @Test func anAbsentHostIsGivenUp() throws {
        var options = options("tcp://127.0.0.1:1")
        options.giveUp = .milliseconds(100)
        let producer = try Producer(options)
        try producer.send("{}")
        let error = #expect(throws: HoldgateError.self) { try producer.closeBlocking() }
        #expect(error?.code == .noAnswer)
    }
}
