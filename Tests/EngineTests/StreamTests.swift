import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct StreamTests {
    private func stateHeaders(_ desk: Desk) -> [String] {
        zip(desk.headers, desk.publications).compactMap { header, publication in
            guard case .state(let body) = publication else { return nil }
            return
                "\(header.seq) after \(header.prev ?? 0) \(body.state.rawValue)\(body.snapshot ? " again" : "")"
        }
    }

    @Test func eachStateNamesTheOneBeforeIt() {
        var desk = Desk()
        desk.hold()
        desk.start()
        let rows = stateHeaders(desk)
        #expect(
            rows.map { $0.split(separator: " ").last.map(String.init) } == [
                "holdRequested", "onHold", "operating",
            ])
        #expect(rows.dropFirst() == ["3 after 2 onHold", "4 after 3 operating"])
    }

    @Test func aLateJoinerGetsTheLastStateAgainAfterTenMs() {
        var desk = Desk()
        desk.hold()
        let before = stateHeaders(desk)
        desk.act { engine, now, _ in engine.subscribedToState(now: now) }
        desk.pass(5)
        desk.act { engine, now, _ in engine.subscribedToState(now: now) }
        desk.pass(4)
        #expect(stateHeaders(desk) == before)
        desk.pass(1)
        #expect(stateHeaders(desk).dropFirst(before.count) == ["3 after 2 onHold again"])
        desk.pass(500)
        #expect(stateHeaders(desk).count == before.count + 1)
    }

    @Test func aTransitionSparesTheSnapshot() {
        var desk = Desk()
        desk.act { engine, now, _ in engine.subscribedToState(now: now) }
        desk.hold()
        desk.pass(10)
        #expect(!stateHeaders(desk).contains { $0.hasSuffix("again") })
    }

    @Test func aSnapshotShowsNothingThatIsNotOnDisk() {
        var desk = Desk()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        desk.act { engine, now, _ in engine.subscribedToState(now: now) }
        desk.pass(10)
        #expect(stateHeaders(desk).last?.hasSuffix("operating again") == true)
    }

    @Test func heartbeatsTellTheHeads() {
        var desk = Desk()
        _ = desk.emit(2)
        desk.hold()
        desk.pass(1000)
        desk.pass(1000)
        let beats = desk.publications.compactMap { if case .heartbeat(let body) = $0 { body } else { nil } }
        #expect(
            beats.map { "\($0.state.rawValue) \($0.stateHead) \($0.eventHead)" } == [
                "onHold 3 2", "onHold 3 2",
            ])
        let numbers = zip(desk.headers, desk.publications).compactMap { (header, publication) -> [UInt64?]? in
            if case .heartbeat = publication { [header.seq, header.prev] } else { nil }
        }
        #expect(numbers == [[1, 0], [2, 1]])
    }

    @Test func whatWasReleasedIsStreamedOnceAndInOrder() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit(2)
        desk.hold()
        _ = desk.emit(2)
        desk.start()
        _ = desk.emit()
        desk.handOver()
        _ = desk.emit()
        desk.handOver()
        #expect(desk.streamed == [1, 2, 3, 4, 5, 6])
    }

    @Test func whatWaitedThroughARestartIsStreamedByTheNextStart() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        desk.hold()
        _ = desk.emit(2)
        desk.restart()
        desk.start()
        desk.handOver()
        #expect(desk.streamed == [1, 2, 3])
    }
}
