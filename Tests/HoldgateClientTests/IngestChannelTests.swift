import HoldgateClient
import Platform
import Testing

/// What came of batches, in the order in which it was told.
private final class Outcomes: Sendable {
    private let told = Locked<[Int: Result<IngestReply, HoldgateError>]>([:])
    private let changed = Condition()

    func note(_ batch: Int, _ result: Result<IngestReply, HoldgateError>) {
        told.withLock { told in
            precondition(told[batch] == nil, "batch \(batch) was answered twice")
            told[batch] = result
        }
        changed.broadcast()
    }

    func wait(for batches: Range<Int>) -> [Result<IngestReply, HoldgateError>] {
        told.withLock(waitingOn: changed) { told in
            batches.allSatisfy { told[$0] != nil } ? batches.map { told[$0]! } : nil
        }
    }

    func error(of batch: Int) -> HoldgateError? {
        if case .failure(let error) = wait(for: batch..<batch + 1)[0] { return error }
        return nil
    }
}

@Suite struct IngestChannelTests {
    private func channel(
        _ endpoint: String, batches: Int = 512, timeout: Duration = .seconds(30)
    ) throws -> IngestChannel {
        var options = IngestChannel.Options()
        options.endpoint = endpoint
        options.batches = batches
        options.timeout = timeout
        return try IngestChannel(options)
    }

    private func event(_ number: Int) -> [UInt8] { Array(#"{"id":"\#(number)"}"#.utf8) }

    private func taken(_ frames: [[UInt8]], accepted: Int) -> [[UInt8]] {
        let outcome = IngestReply.Outcome.taken(
            accepted: accepted, gated: 0, discarded: 0, kept: true, last: nil)
        return [
            bytes {
                IngestReply(id: value(frames[0])["id"]?.text, outcome: outcome, status: status(.operating))
                    .write(into: &$0)
            }
        ]
    }

    private func accepted(_ result: Result<IngestReply, HoldgateError>) -> Int? {
        guard case .success(let reply) = result, case .taken(let accepted, _, _, _, _) = reply.outcome else {
            return nil
        }
        return accepted
    }

    @Test func eachBatchIsAnsweredWithItsOwnReplyWhateverTheirOrder() throws {
        // Answers four at a time, the last one first, and says each one's number.
        let kept = Locked<[[[UInt8]]]>([])
        let host = try FakeRouter { frames in
            let all = kept.withLock { kept in
                kept.append(frames)
                defer { if kept.count == 4 { kept = [] } }
                return kept
            }
            guard all.count == 4 else { return [] }
            return all.reversed().map {
                taken($0, accepted: value($0[1])["id"]?.asString.flatMap(Int.init) ?? -1)
            }
        }
        let channel = try channel(host.endpoint)
        let outcomes = Outcomes()
        for number in 0..<40 { channel.send([event(number)]) { outcomes.note(number, $0) } }
        #expect(outcomes.wait(for: 0..<40).map(accepted) == Array(0..<40))
        #expect(channel.count == 0)
    }

    @Test func aBatchGoesUnderItsNumber() throws {
        let headers = Locked<[JSONValue]>([])
        let host = try FakeRouter { frames in
            headers.withLock { $0.append(value(frames[0])) }
            return [taken(frames, accepted: frames.count - 1)]
        }
        let channel = try channel(host.endpoint)
        let outcomes = Outcomes()
        let batch = IngestChannel.Batch(producer: "web/1", run: "r", number: 7)
        channel.send([event(1), event(2)], as: batch) { outcomes.note(0, $0) }
        channel.send([event(3)]) { outcomes.note(1, $0) }
        #expect(outcomes.wait(for: 0..<2).map(accepted) == [2, 1])
        let seen = headers.withLock { $0 }
        #expect(seen.map { $0["producer"] } == [.string("web/1"), nil])
        #expect(seen[0]["run"] == .string("r") && seen[0]["batch"] == .int(7))
    }

    @Test func withoutAHostNothingWasSent() throws {
        // A port where nobody listens: taken, and let go.
        let gone = try FakeRouter { _ in [] }
        gone.close()
        let channel = try channel(gone.endpoint, timeout: .milliseconds(200))
        let outcomes = Outcomes()
        channel.send([event(0)]) { outcomes.note(0, $0) }
        let error = outcomes.error(of: 0)
        #expect(error?.code == .noAnswer && error?.retryable == true && error?.isOutcomeUnknown == false)
    }

    @Test func aHostThatIsSilentMayHaveTakenIt() throws {
        let host = try FakeRouter { _ in [] }
        let channel = try channel(host.endpoint, timeout: .milliseconds(300))
        let outcomes = Outcomes()
        channel.send([event(0)]) { outcomes.note(0, $0) }
        let error = outcomes.error(of: 0)
        #expect(error?.code == .noAnswer && error?.isOutcomeUnknown == true)
    }

    @Test func aLostConnectionIsToldAndTheNextOneServes() throws {
        let first = try FakeRouter { _ in [] }
        let channel = try channel(first.endpoint)
        let outcomes = Outcomes()
        channel.send([event(0)]) { outcomes.note(0, $0) }
        // It is on its way, or there; then the host goes.
        first.close()
        let second = try FakeRouter(first.endpoint) { [taken($0, accepted: 1)] }
        // Not sent before, it reaches the second host; sent, it is lost, and said so.
        let result = outcomes.wait(for: 0..<1)[0]
        if case .failure(let error) = result { #expect(error.isOutcomeUnknown) }
        channel.send([event(1)]) { outcomes.note(1, $0) }
        #expect(accepted(outcomes.wait(for: 1..<2)[0]) == 1)
        second.close()
    }

    @Test func whatIsTooMuchIsNotTakenIn() throws {
        let host = try FakeRouter { _ in [] }
        let channel = try channel(host.endpoint, batches: 2)
        let outcomes = Outcomes()
        for number in 0..<3 { channel.send([event(number)]) { outcomes.note(number, $0) } }
        let error = outcomes.error(of: 2)
        #expect(error?.code == .overloaded && error?.retryable == true && error?.isOutcomeUnknown == false)
        #expect(channel.count == 2)
        channel.stop()
        #expect(outcomes.error(of: 0)?.code == .closed)
        #expect(outcomes.error(of: 1)?.code == .closed)
        channel.send([event(3)]) { outcomes.note(3, $0) }
        #expect(outcomes.error(of: 3)?.code == .closed)
    }
}
