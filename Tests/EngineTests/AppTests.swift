import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct AppTests {
    private static let hold = ControlCommand.holdOperation(waitMs: nil, gatedEvents: nil)
    private static let elsewhere = Expectation(state: .killed)

    private func published(_ desk: Desk, _ requester: Requester) -> JSONValue? {
        desk.replies[requester]?["published"]
    }

    /// Drains, and so stays `holdRequested`.
    private func draining() -> Desk {
        var desk = Desk()
        desk.hello("c", peer: 2)
        _ = desk.emit()
        desk.hold()
        #expect(desk.engine.shown.state == .holdRequested)
        return desk
    }

    @Test func aReportIsPublishedOnceItIsOnDisk() {
        var desk = Desk()
        desk.hello("c", peer: 2)
        desk.disk()
        let requester = desk.say("shop")
        #expect(desk.told == [] && desk.replies[requester] == nil)
        desk.disk()
        #expect(published(desk, requester) == .bool(true))
        #expect(desk.told == ["shop+"])
        #expect(
            desk.sent[PeerID(2)]?.last == .app(.init(app: "shop", phase: .foreground, wallMs: 1_000_000)))
    }

    @Test func eachPhaseCountsForItself() {
        var desk = Desk()
        for phase: AppPhase in [.foreground, .background, .foreground] {
            _ = desk.say("shop", phase)
            desk.disk()
        }
        let apps = zip(desk.headers, desk.publications).compactMap { header, publication in
            if case .app(let body) = publication {
                "\(body.brief) \(header.seq) \(header.prev ?? 99)"
            } else {
                nil
            }
        }
        #expect(apps == ["shop+ 1 0", "shop- 1 0", "shop+ 2 1"])
    }

    @Test(arguments: [true, false])
    func whileHeldTheLatestOfEachAppIsRemembered(_ isCancelled: Bool) {
        var desk = isCancelled ? draining() : Desk(.initializeWithHoldingOperations)
        for (app, phase) in [("a", AppPhase.foreground), ("b", .foreground), ("a", .background)] {
            let requester = desk.say(app, phase)
            desk.disk()
            #expect(published(desk, requester) == .bool(false))
        }
        #expect(desk.told == [])
        desk.start()
        #expect(desk.told == ["b+", "a-"])
    }

    @Test func aFullRestartTellsEachKnownAppAfterTheStateAndBeforeTheQueue() {
        var desk = Desk()
        desk.hello("c", peer: 2)
        for app in ["a", "b"] { _ = desk.say(app) }
        desk.disk()
        desk.hold()
        _ = desk.say("b", .background)
        _ = desk.emit(3)
        desk.publications = []
        desk.sent = [:]
        desk.start()
        let order = (desk.sent[PeerID(2)] ?? []).map {
            switch $0 {
            case .state(let body, _, _): body.state.rawValue
            case .app(let body): body.brief
            default: "other"
            }
        }
        #expect(order == ["operating", "a+", "b-"])
        #expect(desk.deliveries.isEmpty && desk.streamed == [])
        desk.handOver()
        #expect(desk.handed(to: 2) == [1, 2, 3])
        #expect(desk.told == ["a+", "b-"])
        desk.ack(3, peer: 2)
        desk.hold()
        #expect(desk.engine.shown.state == .onHold)
        desk.start()
        #expect(desk.told == ["a+", "b-", "a+", "b-"])
    }

    @Test func aCancelledHoldTellsOnlyWhatWasReportedMeanwhile() {
        var desk = Desk()
        desk.hello("c", peer: 2)
        _ = desk.say("before")
        _ = desk.emit()
        desk.hold()
        _ = desk.say("meanwhile")
        desk.start()
        #expect(desk.told == ["before+", "meanwhile+"])
        desk.hold()
        #expect(desk.engine.shown.state == .holdRequested)
        desk.start()
        #expect(desk.told == ["before+", "meanwhile+"], "nothing was reported in the second one")
    }

    @Test func aReportIsToldByWhenItWasRead() {
        var desk = Desk()
        desk.hello("c", peer: 2)
        _ = desk.emit()
        let before = desk.say("before")
        _ = desk.send(Self.hold)
        let after = desk.say("after")
        desk.disk()
        #expect(published(desk, before) == .bool(true) && published(desk, after) == .bool(false))
        #expect(desk.told == ["before+"])
        desk.start()
        #expect(desk.told == ["before+", "after+"])
    }

    @Test func aClosingThatComesToNothingTellsWhatItKeptBack() {
        var desk = Desk(collectors: ["c"])
        _ = desk.say("known")
        desk.disk()
        _ = desk.send(.forget(name: "c"))
        _ = desk.send(Self.hold, expect: Self.elsewhere)
        let kept = desk.say("kept")
        desk.disk()
        #expect(desk.replies[kept]?.error == nil)
        #expect(desk.told == ["known+", "kept+"])
        #expect(desk.engine.apps.reports.allSatisfy { !$0.gated })
        #expect(desk.ledger.apps == desk.engine.apps)
    }

    @Test func aRestartWhoseTellingAClosingOvertookIsMadeUpFor() {
        var desk = Desk(.initializeWithHoldingOperations)
        for app in ["a", "b"] { _ = desk.say(app) }
        desk.start()
        #expect(desk.told == ["a+", "b+"])
        desk.hold()
        _ = desk.say("c")
        desk.disk()
        // Neither is decided when both are read.
        _ = desk.send(.startOperation(leaseMs: nil))
        _ = desk.send(Self.hold, expect: Self.elsewhere)
        desk.disk()
        #expect(desk.engine.shown.state == .operating)
        #expect(desk.told == ["a+", "b+", "a+", "b+", "c+"])
    }

    // MARK: Kill

    @Test func aKillRefusesAndForgets() {
        var desk = Desk()
        let before = desk.say("a")
        _ = desk.send(.kill)
        let after = desk.say("b")
        #expect(desk.replies[after] == nil, "the kill is not on disk yet")
        desk.disk()
        #expect(published(desk, before) == .bool(false))
        #expect(desk.replies[after]?.outcome == "notOperating killed")
        #expect(desk.ask(.appLifecycle(app: "c", .foreground))?.outcome == "notOperating killed")
        #expect(desk.told == [])
        #expect(desk.engine.apps == AppTable() && desk.ledger.apps == AppTable())
    }

    @Test func aKillThatComesToNothingTakesWhatWaited() {
        var desk = Desk(collectors: ["c"])
        _ = desk.send(.forget(name: "c"))
        let early = desk.say("early")
        _ = desk.send(.kill, expect: Self.elsewhere)
        let kept = desk.say("kept")
        desk.disk()
        #expect(desk.replies[early]?.error == nil && published(desk, kept) == .bool(true))
        #expect(desk.told.sorted() == ["early+", "kept+"])
        #expect(desk.ledger.apps == desk.engine.apps)
    }

    @Test func aHoldBehindAKillThatComesToNothingLeavesNobodyWaiting() {
        var desk = Desk(collectors: ["c"])
        _ = desk.send(.forget(name: "c"))
        _ = desk.send(.kill, expect: Self.elsewhere)
        let report = desk.say("a")
        _ = desk.send(Self.hold)
        desk.disk()
        #expect(published(desk, report) == .bool(false))
        #expect(desk.told == [])
        desk.start()
        #expect(desk.told == ["a+"])
    }

    @Test func aKillThatFoundTheDiskFullTakesNoReports() {
        var desk = Desk()
        _ = desk.send(.kill)
        let waiting = desk.say("a")
        desk.diskFull()
        #expect(desk.replies[waiting]?.outcome == "storageFull operating retryable")
        #expect(desk.ask(.appLifecycle(app: "b", .foreground))?.outcome == "storageFull operating retryable")
    }

    // MARK: The disk

    @Test func aReportThatFoundNoRoomIsNotRemembered() {
        var desk = Desk(.initializeWithHoldingOperations)
        let requester = desk.say("a")
        desk.diskFull()
        #expect(desk.replies[requester]?.outcome == "storageFull onHold retryable")
        desk.start()
        #expect(desk.told == [])
    }

    @Test func theyOutliveARestart() {
        var desk = Desk(.initializeWithHoldingOperations)
        _ = desk.say("a")
        _ = desk.say("b", .background)
        desk.disk()
        desk.restart()
        #expect(desk.told == [])
        desk.start()
        #expect(desk.told == ["a+", "b-"])
    }

    @Test func aRestartInACancelledHoldRepeatsNothing() {
        var desk = Desk()
        desk.hello("c", peer: 2)
        _ = desk.emit()
        desk.hold()
        _ = desk.say("first")
        desk.start()
        desk.disk()
        desk.hold()
        _ = desk.say("second")
        desk.disk()
        desk.restart()
        #expect(desk.engine.shown.state == .holdRequested)
        desk.start()
        #expect(desk.told == ["first+", "second+"])
    }

    @Test func theLeastRecentlyHeardGoesAtTheLimit() {
        var desk = Desk(.initializeWithHoldingOperations)
        for number in 0..<AppTable.limit { _ = desk.say("\(number)") }
        _ = desk.say("0", .background)
        _ = desk.say("new")
        desk.disk()
        #expect(desk.engine.apps.reports.count == AppTable.limit)
        desk.start()
        #expect(desk.told.count == AppTable.limit)
        #expect(desk.told.first == "2+" && desk.told.suffix(2) == ["0-", "new+"])
    }

    @Test func aStoppingHostTakesNone() {
        var desk = Desk()
        desk.act { engine, _, effects in engine.stop(restart: false, into: &effects) }
        #expect(desk.ask(.appLifecycle(app: "a", .foreground))?.outcome == "shuttingDown operating retryable")
    }
}
