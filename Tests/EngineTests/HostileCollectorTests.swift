import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

/// What a collector may do, by mistake or on purpose, that must cost the others nothing.
@Suite struct HostileCollectorTests {
    private func buried(_ desk: Desk) -> [[UInt64]] {
        desk.jobs.compactMap {
            if case .other(.deadLetters(_, let rejects)) = $0.job { rejects.map(\.seq.raw) } else { nil }
        }
    }

    private func inFlight(_ desk: Desk) -> [String: [SeqRange]]? { desk.records.last?.facts.inFlight }

    private func range(_ first: UInt64, _ count: UInt64) -> SeqRange {
        SeqRange(first: JournalSeq(first), count: count)
    }

    @Test func rejectsCountOnceAndInOrder() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(4)
        desk.handOver()
        desk.ack(4, rejects: [3, 1, 3, 3, 1])
        #expect(buried(desk) == [[1, 3]])
    }

    @Test func aRejectBesideThoseInFlightTakesNothing() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", types: ["some"])
        _ = desk.emit(6)
        desk.handOver { $0.raw % 2 == 0 }
        desk.ack(6, rejects: [2, 3])
        desk.ack(5, rejects: [6])
        #expect(buried(desk) == [])
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(1))
        desk.ack(6, rejects: [6, 2])
        #expect(buried(desk) == [[2, 6]])
    }

    @Test func anAckBetweenTwoRangesEndsWhatLiesBefore() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", types: ["some"])
        _ = desk.emit(6)
        desk.handOver { $0.raw % 2 == 0 }
        desk.ack(3)
        desk.ack(6, rejects: [2])
        #expect(buried(desk) == [])
        _ = desk.ask(.kill)
        #expect(inFlight(desk) == ["c": [range(4, 1), range(6, 1)]])
    }

    @Test func noCollectorMakesTheRecordOfAKillLarge() {
        var desk = Desk(collectors: ["c", "d"])
        desk.hello("c", types: ["some"], windowBytes: 64 << 20)
        desk.hello("d", peer: 2)
        _ = desk.emit(20_000)
        desk.handOver { $0.raw % 2 == 0 }
        _ = desk.ask(.kill)
        let limit = Engine.inFlightRanges / 2
        let ranges = inFlight(desk)?["c"] ?? []
        #expect(ranges.count == limit)
        #expect(ranges.first == range(2, 1))
        #expect(ranges.last == SeqRange(first: JournalSeq(UInt64(2 * limit)), through: JournalSeq(20_000)))
        #expect(inFlight(desk)?["d"] == [range(1, 20_000)])
    }

    @Test func aKillTellsOfWhatFormerConnectionsOfADurableCollectorWereSent() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        desk.hello("passing", peer: 3, durable: false)
        _ = desk.emit(3)
        desk.handOver()
        desk.ack(1)
        desk.act { $0.lost(PeerID(1), now: $1, into: &$2) }
        _ = desk.emit(2)
        desk.hello("c", peer: 2)
        desk.receive(.bye, peer: 3)
        _ = desk.ask(.kill)
        #expect(inFlight(desk) == ["c": [range(2, 2)]])
    }

    @Test func rangesMergeAndTheLastOnesAreJoined() {
        let ranges = [range(9, 1), range(1, 2), range(3, 1), range(2, 1), range(6, 1)]
        #expect(ranges.merged(limit: 3) == [range(1, 3), range(6, 1), range(9, 1)])
        #expect(ranges.merged(limit: 2) == [range(1, 3), range(6, 4)])
        #expect([SeqRange]().merged(limit: 1) == [])
    }

    @Test func onlySoManyMayWaitForOneDrain() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        for _ in 0..<Engine.deferredLimit { _ = desk.send(.holdOperation(waitMs: 1000, gatedEvents: nil)) }
        desk.disk()
        #expect(desk.replies.isEmpty)
        let late = desk.ask(.holdOperation(waitMs: 1000, gatedEvents: nil))
        #expect(late?.error?.code == .overloaded)
        #expect(late?.status.state == .holdRequested)
    }
}
