import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct FullDiskTests {
    /// An operating host whose hold found no room.
    private func closedInMemory(_ command: ControlCommand) -> (Desk, ControlReply?) {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        desk.disk()
        let requester = desk.send(command)
        desk.diskFull()
        return (desk, desk.replies[requester])
    }

    @Test func aHoldThatFindsNoRoomClosesInMemoryAndSaysSo() throws {
        var (desk, reply) = closedInMemory(.holdOperation(waitMs: nil, gatedEvents: nil))
        #expect(reply?.brief == "operating 1 storageFull")
        #expect(reply?["closedInMemory"] == .bool(true))
        #expect(reply?.error?.retryable == true)
        #expect(desk.emit()?.brief == "accepted 1 gated 1 discarded 0 kept true last 1")
        desk.handOver()
        #expect(desk.handed().isEmpty)
        #expect(desk.states.isEmpty)
        desk.pass(desk.engine.configuration.retryMs)
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold])
        #expect(desk.records.first?.through == .zero)
    }

    @Test func aForgottenCollectorIsForgottenOnceThereIsRoom() {
        var desk = Desk(collectors: ["c"])
        let requester = desk.send(.forget(name: "c"))
        desk.diskFull()
        desk.disk()
        #expect(desk.replies[requester]?.brief == "operating 1")
        #expect(desk.ledger.cursors["c"] == .zero)
        desk.pass(1000)
        desk.disk()
        #expect(desk.ledger.cursors["c"] == nil)
    }

    /// Neither the journal nor the history has room: whoever asked hears that it is done, and not yet for good.
    @Test func whatIsForgottenOnAFullDiskIsSaidToBe() {
        var desk = Desk(collectors: ["c"])
        let requester = desk.send(.forget(name: "c"))
        desk.diskFull()
        desk.diskFull()
        #expect(desk.replies[requester]?.brief == "operating 1 storageFull")
        #expect(
            desk.replies[requester]?.error?.message.hasPrefix("c is no longer kept for, and the disk is full")
                == true)
        #expect(desk.engine.durable["c"] == nil)
    }

    @Test func aCollectorThatCameBackIsNotForgottenLater() {
        var desk = Desk(collectors: ["c"])
        _ = desk.send(.forget(name: "c"))
        desk.diskFull()
        desk.disk()
        desk.hello("c")
        desk.disk()
        desk.pass(1000)
        desk.disk()
        #expect(desk.ledger.cursors["c"] == .zero)
    }

    @Test func anAckThatFoundNoRoomIsNotedOnceThereIsSome() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        desk.handOver()
        desk.ack(1)
        desk.pass(1000)
        desk.diskFull()
        desk.disk()
        #expect(desk.ledger.cursors["c"] == .zero)
        desk.pass(1000)
        desk.disk()
        #expect(desk.ledger.cursors["c"] == JournalSeq(1))
    }

    @Test func nothingOpensBeforeTheClosingIsWritten() {
        var (desk, _) = closedInMemory(.holdOperation(waitMs: nil, gatedEvents: nil))
        #expect(desk.ask(.startOperation(leaseMs: nil))?.brief == "operating 1 storageFull")
        _ = desk.emit()
        desk.handOver()
        #expect(desk.handed().isEmpty)
        desk.pass(1000)
        desk.disk()
        desk.start()
        desk.handOver()
        #expect(desk.handed() == [1])
    }

    @Test func anotherRecordIsNoClosing() {
        var (desk, _) = closedInMemory(.holdOperation(waitMs: nil, gatedEvents: nil))
        #expect(desk.ask(.initialize, key: "k")?.brief == "operating 1")
        #expect(desk.records.map(\.command) == ["initialize"])
        #expect(desk.ask(.startOperation(leaseMs: nil))?.brief == "operating 1 storageFull")
        desk.pass(1000)
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold])
    }

    @Test func aHoldIsNoKill() {
        var (desk, _) = closedInMemory(.kill)
        #expect(desk.ask(.holdOperation(waitMs: nil, gatedEvents: nil))?.brief == "holdRequested 2")
        #expect(desk.emit()?.brief == "overloaded", "nobody is left waiting for room on the disk")
        desk.pass(1000)
        desk.disk()
        #expect(desk.states.last == .killed)
        #expect(desk.emit()?.brief == "notOperating")
    }

    @Test func aKillCoversAHold() {
        var (desk, _) = closedInMemory(.holdOperation(waitMs: nil, gatedEvents: nil))
        #expect(desk.ask(.kill)?.brief == "killed 2")
        desk.pass(1000)
        desk.disk()
        #expect(desk.records.map(\.command) == ["kill"])
    }

    @Test func aClosingIsTriedAgainWhateverItExpected() {
        var desk = Desk(collectors: ["c"])
        _ = desk.send(.kill, expect: Expectation(state: .operating))
        desk.diskFull()
        desk.hold()
        desk.pass(1000)
        desk.disk()
        #expect(desk.states.last == .killed)
    }

    @Test func aKeyedClosingThatWasWrittenLaterIsRemembered() {
        var desk = Desk()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil), key: "k")
        desk.diskFull()
        desk.pass(1000)
        desk.disk()
        let again = desk.ask(.holdOperation(waitMs: nil, gatedEvents: nil), key: "k")
        #expect(again?.brief == "holdRequested 2")
        #expect(again?["replayed"] == .bool(true))
    }

    @Test func anOpeningThatFindsNoRoomDidNotHappen() {
        var desk = Desk(.initializeWithHoldingOperations, collectors: ["c"])
        desk.hello("c")
        _ = desk.emit()
        let requester = desk.send(.startOperation(leaseMs: 5))
        desk.diskFull()
        desk.disk()
        #expect(desk.replies[requester]?.brief == "onHold 1 storageFull")
        #expect(desk.replies[requester]?["closedInMemory"] == nil)
        desk.handOver()
        #expect(desk.handed().isEmpty)
        #expect(desk.engine.lifecycle == desk.engine.shown)
        #expect(desk.engine.leaseDeadlineMs == nil)
    }

    @Test func aDrainsEndThatFindsNoRoomIsDecidedAgain() {
        var desk = Desk()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        desk.diskStep()
        desk.diskFull()
        #expect(desk.states == [.holdRequested])
        desk.pass(1000)
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold])
    }

    @Test func nobodyWaitsForAKillThatWaitsForRoom() {
        var desk = Desk(collectors: ["c"])
        let before = desk.sendBlock()
        _ = desk.send(.kill)
        let after = desk.sendBlock()
        desk.diskStep()
        desk.diskFull()
        #expect(desk.ingestReplies[before]?.brief == "accepted 1 gated 0 discarded 0 kept true last 1")
        #expect(desk.ingestReplies[after]?.brief == "overloaded")
        desk.handOver()
        #expect(desk.handed().isEmpty)
        desk.pass(1000)
        desk.disk()
        #expect(desk.states == [.killed])
    }
}
