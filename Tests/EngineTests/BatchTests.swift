import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct BatchTests {
    @Test func aBatchIsTakenOnce() {
        var desk = Desk(collectors: ["c"])
        #expect(desk.emit(2, batch: 7)?.brief == "accepted 2 gated 0 discarded 0 kept true last 2")
        #expect(desk.emit(2, batch: 7)?.brief == "duplicate 7")
        #expect(desk.emit(2, batch: 6)?.brief == "duplicate 7")
        #expect(desk.emit(2, batch: 9)?.brief == "outOfOrder 7")
        #expect(desk.emit(1, batch: 8)?.brief == "accepted 1 gated 0 discarded 0 kept true last 3")
    }

    @Test func aNewRunStartsAfreshAndTheOldOneIsSuperseded() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit(batch: 7, run: "old")
        #expect(desk.emit(batch: 1, run: "new")?.brief == "accepted 1 gated 0 discarded 0 kept true last 2")
        #expect(desk.emit(batch: 8, run: "old")?.brief == "superseded")
        #expect(desk.emit(batch: 2, run: "new")?.brief == "accepted 1 gated 0 discarded 0 kept true last 3")
    }

    @Test func aDuplicateIsToldOnlyOnceTheFirstIsOnDisk() {
        var desk = Desk(collectors: ["c"])
        let first = desk.sendBlock(batch: 1)
        let second = desk.sendBlock(batch: 1)
        #expect(desk.ingestReplies.isEmpty)
        desk.disk()
        #expect(desk.ingestReplies[first]?.brief == "accepted 1 gated 0 discarded 0 kept true last 1")
        #expect(desk.ingestReplies[second]?.brief == "duplicate 1")
    }

    @Test func aBatchSentAgainWhileTheDiskRefusesItsFirstIsNoDuplicate() {
        var desk = Desk(collectors: ["c"])
        let replies = [
            desk.sendBlock(batch: 1), desk.sendBlock(batch: 1), desk.sendBlock(batch: 3),
        ]
        desk.diskFull()
        desk.disk()
        #expect(
            replies.map { desk.ingestReplies[$0]?.brief } == ["storageFull", "storageFull", "storageFull"])
        #expect(desk.emit(batch: 1)?.brief == "accepted 1 gated 0 discarded 0 kept true last 1")
    }

    @Test func anOutOfOrderReplyNamesTheLastBatchThatIsOnDisk() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit(batch: 1)
        _ = desk.sendBlock(batch: 2)
        let late = desk.sendBlock(batch: 4)
        desk.diskFull()
        desk.disk()
        #expect(desk.ingestReplies[late]?.brief == "outOfOrder 1")
    }

    @Test func aBlockThatFoundNoRoomTakesThoseBehindItAlong() {
        var desk = Desk(collectors: ["c"])
        let replies = (1...3).map { desk.sendBlock(batch: $0) }
        desk.diskFull()
        let refused = desk.sendBlock(batch: 4)
        desk.disk()
        #expect(
            (replies + [refused]).map { desk.ingestReplies[$0]?.brief }
                == ["storageFull", "storageFull", "storageFull", "storageFull"])
        #expect(desk.emit(batch: 1)?.brief == "accepted 1 gated 0 discarded 0 kept true last 1")
        #expect(desk.engine.uncommittedBytes == 0)
    }

    @Test func aDiscardedBatchStaysTakenWhenALaterBlockFindsNoRoom() {
        var desk = Desk(collectors: ["c"])
        desk.hold(.discard)
        #expect(desk.emit(batch: 1)?.brief == "accepted 0 gated 0 discarded 1 kept false last 0")
        desk.start()
        _ = desk.sendBlock(batch: 2)
        desk.diskFull()
        desk.disk()
        #expect(desk.emit(batch: 1)?.brief == "duplicate 1")
        #expect(desk.emit(batch: 2)?.brief == "accepted 1 gated 0 discarded 0 kept true last 1")
    }

    @Test func aDiscardedBatchThatCouldNotBeNotedIsNotTaken() {
        var desk = Desk(collectors: ["c"])
        desk.hold(.discard)
        let first = desk.sendBlock(batch: 1)
        desk.diskFull()
        desk.disk()
        #expect(desk.ingestReplies[first]?.brief == "storageFull")
        desk.start()
        #expect(desk.emit(batch: 1)?.brief == "accepted 1 gated 0 discarded 0 kept true last 1")
    }
}
