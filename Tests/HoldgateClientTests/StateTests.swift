import CSodium
import Platform
import Testing
import Wire

@testable import HoldgateClient

/// A chain of history records as a host writes them.
func makeHistory(_ transitions: [(seq: UInt64, state: String, command: String)]) -> [String] {
    var previous = String(repeating: "0", count: 64)
    return transitions.enumerated().map { index, each in
        let body =
            #"{"n":\#(index + 1),"time":"2026-01-01T00:00:00.000Z","launch":"\#(testLaunch)","gate":[],"#
            + #""seq":\#(each.seq),"state":"\#(each.state)","command":"\#(each.command)","through":0,"#
            + #""source":"s","prev":"\#(previous)""#
        var digest = [UInt8](repeating: 0, count: 32)
        _ = Array(body.utf8).withUnsafeBufferPointer {
            crypto_hash_sha256(&digest, $0.baseAddress, UInt64($0.count))
        }
        previous = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return body + #","hash":"\#(previous)"}"#
    }
}

func page(of lines: [String], _ after: UInt64, _ limit: Int) -> [String] {
    Array(lines.dropFirst(Int(min(after, 1 << 40))).prefix(limit))
}

private func records(_ lines: [String]) throws -> [HistoryRecord] {
    let text = #"{"ok":true,"records":[\#(lines.joined(separator: ","))]}"#
    let answer = Answer(text: text, value: try JSONValue.parse(text), status: status(.operating))
    return try HistoryRecord.records(of: answer)
}

private func change(_ seq: UInt64, launch: LaunchID = testLaunch, snapshot: Bool = false) -> StateChange {
    StateChange(
        StreamHeader(launch: launch, run: "r", seq: seq, prev: 0),
        StateBody(
            state: .onHold, previous: .holdRequested, command: "drained", wallMs: 0, pending: 0,
            snapshot: snapshot))
}

@Suite struct StateFollowerTests {
    private func place(_ seq: UInt64) -> StateChange.Place {
        .init(launch: testLaunch, seq: TransitionSeq(seq))
    }

    @Test func eachChangeComesOnce() {
        var follower = StateFollower(after: nil)
        #expect(follower.heard(change(3, snapshot: true)) == .yield(change(3, snapshot: true)))
        #expect(follower.heard(change(3, snapshot: true)) == .none)
        #expect(follower.heard(change(4)) == .yield(change(4)))
        #expect(follower.heard(change(3)) == .none)
        #expect(follower.heard(heartbeatOf: testLaunch, stateHead: 4) == .none)
    }

    @Test func gapsAndNewLaunchesAreCaughtUp() {
        var follower = StateFollower(after: place(3))
        #expect(follower.heard(change(5)) == .catchUp(change(5)))
        #expect(follower.heard(heartbeatOf: testLaunch, stateHead: 4) == .catchUp(nil))
        let other = LaunchID(high: 9, low: 9)
        #expect(follower.heard(change(1, launch: other)) == .catchUp(change(1, launch: other)))
        #expect(follower.heard(heartbeatOf: other, stateHead: 1) == .catchUp(nil))
    }

    @Test func whatWasRecoveredComesInOrderAndMarked() {
        var follower = StateFollower(after: place(3))
        var first = change(4)
        #expect(
            follower.caughtUp([first, change(5)], change(5))
                == {
                    first.missed = true
                    return [first, change(5)]
                }())
        #expect(follower.last == place(5))
        #expect(follower.caughtUp([], nil) == [])
        var lost = change(8)
        lost.missed = true
        #expect(follower.caughtUp(nil, change(8)) == [lost])
        #expect(follower.caughtUp(nil, nil) == [])
        #expect(follower.last == place(8))
    }
}

@Suite struct HistoryTests {
    private let lines = makeHistory(
        (1...40).map { (seq: Int) -> (seq: UInt64, state: String, command: String) in
            seq % 2 == 0 ? (UInt64(seq), "operating", "startOperation") : (UInt64(seq), "onHold", "drained")
        })

    @Test func recordsKeepTheirExactText() throws {
        #expect(try records(lines).map(\.text) == lines)
        let odd =
            #"{ "a" : {"records":[1]}, "records" : [ {"x":"],\"}"} , [1, 2], "s", -1.50, null ] , "b":1}"#
        #expect(
            RawElements.of(member: "records", in: odd) == [
                #"{"x":"],\"}"}"#, "[1, 2]", #""s""#, "-1.50", "null",
            ])
        #expect(RawElements.of(member: "none", in: odd) == [])
        #expect(RawElements.of(member: "a", in: #"{"a":[]}"#) == [])
    }

    @Test func theChainIsFollowed() throws {
        var chain = HistoryChain()
        for record in try records(lines) { #expect(chain.append(record) == nil) }
        #expect(chain.count == 40)
        #expect(chain.head?.n == 40)
    }

    @Test func everyChangedByteAndEveryMissingRecordShows() throws {
        let changed = lines[4].replacingFirst("drained", with: "drainee")
        var chain = HistoryChain()
        let problems = try records(lines[..<4] + [changed]).compactMap { chain.append($0) }
        #expect(problems == ["record 5 was changed: its hash is not that of its bytes"])
        chain = HistoryChain()
        let gap = try records([lines[0], lines[2]]).map { chain.append($0) }
        #expect(gap == [nil, "record 3 follows 1: some are missing"])
        let other = makeHistory([(1, "operating", "initialize"), (2, "operating", "startOperation")])
        chain = HistoryChain()
        let mixed = try records([lines[0], other[1]]).map { chain.append($0) }
        #expect(mixed == [nil, "record 2 does not follow record 1: its \"prev\" is another hash"])
    }

    @Test func theWalkFindsWhatCameAfterAPlace() throws {
        for count in [1, 2, 39, 40] {
            var walk = HistoryWalk()
            let some = Array(lines[..<count])
            let found = try walk.transitions(after: .init(launch: testLaunch, seq: TransitionSeq(1))) {
                (after, limit) throws(HoldgateError) in
                try rethrow { try records(page(of: some, after, limit)) }
            }
            let seqs = found.map { changes in changes.map { $0.place.seq.raw } }
            #expect(seqs == Array((1...UInt64(count)).dropFirst()))
        }
    }

    @Test func theNextWalkGoesOnAndLeavesOutWhatIsKnown() throws {
        var walk = HistoryWalk()
        var count = 10
        let read: HistoryWalk.Page = { [lines] (after, limit) throws(HoldgateError) in
            try rethrow { try records(page(of: Array(lines[..<count]), after, limit)) }
        }
        let first = try walk.transitions(after: .init(launch: testLaunch, seq: TransitionSeq(7)), read)
        #expect(first.map { changes in changes.map { $0.place.seq.raw } } == [8, 9, 10])
        count = 20
        let second = try walk.transitions(after: .init(launch: testLaunch, seq: TransitionSeq(15)), read)
        #expect(second.map { changes in changes.map { $0.place.seq.raw } } == [16, 17, 18, 19, 20])
    }

    @Test func aPlaceThatTheHistoryLacksIsNotFound() throws {
        var walk = HistoryWalk()
        let found = try walk.transitions(
            after: .init(launch: LaunchID(high: 5, low: 5), seq: TransitionSeq(1))
        ) {
            (after, limit) throws(HoldgateError) in try rethrow { try records(page(of: lines, after, limit)) }
        }
        #expect(found == nil)
    }
}

private func rethrow<Result>(_ body: () throws -> Result) throws(HoldgateError) -> Result {
    do {
        return try body()
    } catch let error as HoldgateError {
        throw error
    } catch {
        throw HoldgateError(.invalidReply, "\(error)")
    }
}

extension String {
    func replacingFirst(_ part: String, with other: String) -> String {
        guard let range = firstRange(of: part) else { return self }
        return replacingCharacters(in: range, with: other)
    }

    private func firstRange(of part: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) { return start..<index(start, offsetBy: part.count) }
            start = index(after: start)
        }
        return nil
    }

    private func replacingCharacters(in range: Range<String.Index>, with other: String) -> String {
        var copy = self
        copy.replaceSubrange(range, with: other)
        return copy
    }
}

@Suite struct StateSubscriptionTests {
    /// Else the loop over the changes would end at once, and say nothing.
    @Test func anAddressThatIsNoneIsSaid() {
        var holdgate = Holdgate()
        holdgate.stream = "nonsense"
        let error = #expect(throws: HoldgateError.self) { try holdgate.stateChanges() }
        #expect(error?.code == .invalidArgument)
    }
}
