import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct DrainTests {
    @Test func aDrainWaitsForEveryDurableCollectorKnownAtTheHold() {
        var desk = Desk(collectors: ["c", "d"])
        desk.hello("c", peer: 1)
        desk.hello("d", peer: 2)
        _ = desk.emit(2)
        desk.handOver()
        desk.hold()
        desk.ack(2, peer: 1)
        desk.disk()
        #expect(desk.states == [.holdRequested])
        desk.ack(1, peer: 2)
        desk.disk()
        #expect(desk.states == [.holdRequested])
        desk.ack(2, peer: 2)
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold])
        #expect(desk.records.map(\.command) == ["holdOperation", "drained"])
    }

    @Test func withNoneKnownItIsDrainedAtOnceAndBothArePublished() {
        var desk = Desk()
        _ = desk.emit()
        desk.hold()
        #expect(desk.states == [.holdRequested, .onHold])
    }

    @Test func aNewcomerLengthensNoDrain() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", peer: 1)
        _ = desk.emit()
        desk.handOver()
        desk.hold()
        desk.hello("d", peer: 2)
        desk.disk()
        desk.ack(1, peer: 1)
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold])
        #expect(desk.handed(to: 2).isEmpty)
    }

    @Test func aPassingCollectorIsNotWaitedFor() {
        var desk = Desk()
        desk.hello("p", durable: false)
        _ = desk.emit()
        desk.handOver()
        desk.hold()
        #expect(desk.states == [.holdRequested, .onHold])
    }

    @Test func forgettingACollectorEndsTheWaitForIt() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.hold()
        #expect(desk.states == [.holdRequested])
        #expect(desk.ask(.forget(name: "c"))?.error == nil)
        #expect(desk.states == [.holdRequested, .onHold])
        #expect(desk.records.map(\.command) == ["holdOperation", "forget", "drained"])
        #expect(desk.ask(.forget(name: "c"))?.error?.code == .invalidArgument)
    }

    @Test func unmatchedEventsLengthenNoDrain() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c", types: ["odd"])
        _ = desk.emit(3)
        desk.hold()
        desk.handOver(matching: { $0.raw == 1 })
        desk.ack(1)
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold])
    }

    @Test func rejectsEndADrainOnceTheyAreBuried() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(2)
        desk.handOver()
        desk.hold()
        desk.ack(2, rejects: [1, 2])
        #expect(desk.states == [.holdRequested])
        desk.disk()
        #expect(desk.states == [.holdRequested, .onHold])
    }

    @Test func theTimeoutRunsFromTheHoldOnDiskAndAnewAfterARestart() {
        var desk = Desk(collectors: ["c"]) { $0.drainTimeoutMs = 100 }
        _ = desk.emit(3)
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        desk.pass(90)
        desk.disk()
        desk.pass(99)
        desk.disk()
        #expect(desk.states == [.holdRequested])
        desk.restart()
        desk.pass(99)
        desk.disk()
        #expect(desk.engine.shown.state == .holdRequested)
        desk.pass(1)
        desk.disk()
        #expect(desk.engine.shown.state == .onHold)
        #expect(desk.records.last?.facts.undelivered == 3)
    }

    @Test func withoutATimeoutItWaitsForEver() {
        var desk = Desk(collectors: ["c"]) { $0.drainTimeoutMs = 0 }
        _ = desk.emit()
        desk.hold()
        desk.pass(1_000_000_000)
        desk.disk()
        #expect(desk.engine.shown.state == .holdRequested)
    }

    @Test func progressIsToldAtMostTenTimesASecond() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(5)
        desk.handOver()
        desk.hold()
        for seq in 1...4 {
            desk.ack(UInt64(seq))
            desk.pass(40)
        }
        let told = desk.publications.compactMap { if case .drain(let body) = $0 { body } else { nil } }
        #expect(told == [5, 2].map { DrainBody(total: 5, remaining: $0) })
        desk.pass(100)
        let remaining = desk.publications.compactMap { (publication) -> UInt64? in
            if case .drain(let body) = publication { body.remaining } else { nil }
        }
        #expect(remaining == [5, 2, 1])
    }
}
