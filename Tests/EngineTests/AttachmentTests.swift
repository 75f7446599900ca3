import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct AttachmentTests {
    private func welcomes(_ desk: Desk, _ peer: UInt64) -> [UInt64?] {
        (desk.sent[PeerID(peer)] ?? []).compactMap {
            if case .welcome(_, _, let cursor, _) = $0 { .some(cursor?.raw) } else { nil }
        }
    }

    private func refusals(_ desk: Desk, _ peer: UInt64) -> [ErrorCode] {
        (desk.sent[PeerID(peer)] ?? []).compactMap {
            if case .refused(let error) = $0 { error.code } else { nil }
        }
    }

    private func errors(_ desk: Desk, _ peer: UInt64) -> [ErrorCode] {
        (desk.sent[PeerID(peer)] ?? []).compactMap {
            if case .error(let error) = $0 { error.code } else { nil }
        }
    }

    @Test func aDurableCollectorIsWelcomedOnceItsPlaceIsOnDisk() {
        var desk = Desk()
        _ = desk.emit()
        desk.hello("c")
        #expect(welcomes(desk, 1).isEmpty)
        _ = desk.sendBlock()
        desk.disk()
        desk.handOver()
        #expect(welcomes(desk, 1) == [1])
        #expect(desk.handed() == [2])
        #expect(desk.ledger.cursors == ["c": JournalSeq(1)])
    }

    @Test func nothingIsHandedOverBeforeTheWelcome() {
        var desk = Desk()
        let block = desk.sendBlock()
        desk.hello("c")
        desk.diskStep()
        desk.handOver()
        #expect(desk.ingestReplies[block] != nil)
        #expect(desk.handed().isEmpty)
        desk.hello("c", peer: 2)
        #expect(welcomes(desk, 2).isEmpty)
        desk.diskStep()
        #expect(welcomes(desk, 1).isEmpty)
        #expect(welcomes(desk, 2) == [0])
    }

    @Test func aCollectorWhosePlaceFoundNoRoomIsNotKnown() {
        var desk = Desk()
        desk.hello("c")
        desk.diskFull()
        #expect(refusals(desk, 1) == [.storageFull])
        #expect(desk.emit()?.brief == "accepted 1 gated 0 discarded 0 kept false last 1")
        desk.hello("c")
        desk.disk()
        #expect(welcomes(desk, 1) == [1])
    }

    @Test func aNewcomerStartsAtTheFirstEventNotYetReleased() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.hold()
        _ = desk.emit()
        desk.hello("d")
        desk.disk()
        desk.hello("e", peer: 2, durable: false)
        #expect(welcomes(desk, 1) == [1])
        #expect(welcomes(desk, 2) == [1])
        desk.start()
        desk.handOver()
        #expect(desk.handed(to: 1) == [2])
        #expect(desk.handed(to: 2) == [2])
    }

    @Test func theNewestHasTheName() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", peer: 1)
        _ = desk.emit()
        desk.handOver()
        desk.hello("c", peer: 2)
        desk.handOver()
        #expect(refusals(desk, 1) == [.superseded])
        #expect(desk.handed(to: 2) == [1])
        #expect(desk.deliveries.map(\.redelivered) == [false, true])
        desk.ack(1, peer: 1)
        #expect(desk.sent[PeerID(1)]?.last == .helloWanted)
        desk.ack(1, peer: 2)
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(1))
    }

    @Test func aHelloAgainRestartsFromTheCursor() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        _ = desk.emit()
        desk.handOver()
        desk.ack(1)
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1, 2, 2])
        #expect(welcomes(desk, 1) == [0, 1])
    }

    @Test func aDurableNameIsNotTakenByAPassingCollector() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", durable: false)
        #expect(refusals(desk, 1) == [.invalidArgument])
    }

    @Test func anAckPastWhatWasDeliveredIsAnError() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        desk.handOver()
        _ = desk.emit()
        desk.ack(2)
        #expect(errors(desk, 1) == [.invalidArgument])
        desk.ack(1, rejects: [2])
        #expect(errors(desk, 1) == [.invalidArgument, .invalidArgument])
        #expect(desk.engine.durable["c"]?.cursor == .zero)
    }

    @Test func rejectsWaitForTheDeadLetters() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(3)
        desk.handOver()
        desk.ack(2, rejects: [1])
        #expect(
            desk.jobs.map(\.job) == [
                .other(.deadLetters(collector: "c", [Reject(seq: JournalSeq(1), reason: "no")]))
            ])
        desk.ack(3)
        #expect(desk.engine.durable["c"]?.cursor == .zero)
        desk.disk()
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(3))
    }

    @Test func rejectsThatFoundNoRoomAreDeliveredAgain() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(3)
        desk.handOver()
        desk.ack(3, rejects: [1])
        desk.diskFull()
        #expect(refusals(desk, 1) == [.storageFull])
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1, 2, 3, 1, 2, 3])
    }

    @Test func aFullWindowWaitsForAnAckAndAlwaysTakesOneBlock() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", windowBytes: 150)
        for _ in 1...3 { _ = desk.emit() }
        _ = desk.emit(bytes: 1000)
        desk.handOver()
        #expect(desk.handed() == [1])
        desk.ack(1)
        desk.handOver()
        #expect(desk.handed() == [1, 2])
        for seq in 2...4 {
            desk.ack(UInt64(seq))
            desk.handOver()
        }
        #expect(desk.handed() == [1, 2, 3, 4])
    }

    @Test func aPassingCollectorSkipsWhatItsWindowDoesNotTake() {
        var desk = Desk()
        desk.hello("p", windowBytes: 100, durable: false)
        for _ in 1...3 {
            _ = desk.emit()
            desk.handOver()
        }
        #expect(desk.handed() == [1])
        #expect(desk.engine.statistics.eventsSkipped == 2)
        desk.ack(1)
        _ = desk.emit()
        desk.handOver()
        #expect(desk.handed() == [1, 4])
    }

    @Test func unmatchedEventsAreDoneOnceAllBeforeThemAre() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", types: ["odd"])
        _ = desk.emit(4)
        desk.handOver(matching: { $0.raw % 2 == 1 })
        #expect(desk.handed() == [1, 3])
        #expect(desk.engine.durable["c"]?.cursor == .zero)
        desk.ack(1)
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(2))
        desk.ack(3)
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(4))
        _ = desk.emit(2)
        desk.handOver(matching: { _ in false })
        #expect(desk.engine.durable["c"]?.cursor == JournalSeq(6))
    }

    @Test func silenceIsReportedAndKeepsTheWindow() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        for _ in 1...5 { desk.pass(1000) }
        let changes = desk.publications.compactMap {
            if case .plugin(let body) = $0 { body.change } else { nil }
        }
        #expect(changes == [.attached, .silent])
        _ = desk.emit()
        desk.handOver()
        #expect(desk.handed() == [1])
        desk.receive(.heartbeat)
        #expect(desk.engine.attachments[PeerID(1)]?.isSilent == false)
    }

    @Test func aStrangerIsAskedForAHelloOnceAHeartbeat() {
        var desk = Desk()
        desk.ack(1)
        desk.ack(1)
        #expect(desk.sent[PeerID(1)] == [.helloWanted])
        desk.pass(1000)
        desk.ack(1)
        #expect(desk.sent[PeerID(1)] == [.helloWanted, .helloWanted])
    }

    @Test func collectorsAreServedInTurn() {
        var desk = Desk(collectors: ["c", "d"])
        desk.hello("c", peer: 1, windowBytes: 100)
        desk.hello("d", peer: 2, windowBytes: 100)
        for _ in 1...2 { _ = desk.emit() }
        desk.handOver()
        desk.ack(1, peer: 1)
        desk.ack(1, peer: 2)
        desk.handOver()
        #expect(desk.deliveries.map(\.peer.raw) == [1, 2, 1, 2])
    }
}
