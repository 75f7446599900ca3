import HoldgateClient
import Testing

@testable import session

private let launch = LaunchID(high: 1, low: 2)

/// A core and what it has told, as short lines.
private struct Desk {
    var core = SessionCore(prefix: "p")
    var seq: UInt64 = 1
    var state = LifecycleState.operating
    private var told: [String] = []

    init(_ state: LifecycleState = .operating) {
        self.state = state
        attach()
        #expect(told.isEmpty)
    }

    mutating func attach(launch: LaunchID = launch) {
        var events: [SessionEvent] = []
        core.attached(HostStatus(state: state, seq: TransitionSeq(seq), launch: launch), into: &events)
        note(events)
    }

    mutating func move(to next: LifecycleState, at wallMs: Int64) {
        seq += 1
        let body = StateBody(state: next, previous: state, command: "test", wallMs: wallMs, pending: 0)
        state = next
        var events: [SessionEvent] = []
        core.heard(body, seq: TransitionSeq(seq), launch: launch, into: &events)
        note(events)
    }

    mutating func report(_ app: String, _ phase: AppPhase, at wallMs: Int64) {
        var events: [SessionEvent] = []
        core.heard(AppBody(app: app, phase: phase, wallMs: wallMs), into: &events)
        note(events)
    }

    mutating func stop(at wallMs: Int64) {
        var events: [SessionEvent] = []
        core.stop(wallMs: wallMs, into: &events)
        note(events)
    }

    private mutating func note(_ events: [SessionEvent]) {
        told += events.map { event in
            switch event.kind {
            case .foreground: "\(event.app) foreground @\(event.wallMs)"
            case .background: "\(event.app) background @\(event.wallMs)"
            case .start: "\(event.app) start @\(event.wallMs)"
            case .stop(_, let durationMs, let cause):
                "\(event.app) stop \(durationMs) \(cause) @\(event.wallMs)"
            }
        }
    }

    /// What was told since the last call.
    mutating func take() -> [String] {
        defer { told = [] }
        return told
    }
}

@Suite struct SessionCoreTests {
    @Test func aSessionLastsAsLongAsTheAppIsInTheForeground() {
        var desk = Desk()
        desk.report("shop", .foreground, at: 1000)
        desk.report("shop", .foreground, at: 2000)
        desk.report("game", .background, at: 3000)
        desk.report("shop", .background, at: 6500)
        #expect(
            desk.take() == [
                "shop foreground @1000", "shop start @1000", "game background @3000", "shop background @6500",
                "shop stop 5500 background @6500",
            ])
    }

    @Test func aHoldEndsSessionsWhenItCameAndTellsAfterTheStart() {
        var desk = Desk()
        desk.report("shop", .foreground, at: 1000)
        _ = desk.take()
        desk.move(to: .holdRequested, at: 3000)
        desk.move(to: .onHold, at: 4000)
        desk.report("shop", .background, at: 5000)
        #expect(desk.take().isEmpty)
        desk.move(to: .operating, at: 9000)
        #expect(desk.take() == ["shop stop 2000 hold @3000"])
        // What is true now, once, and nothing of the closed time.
        desk.report("shop", .foreground, at: 5000)
        desk.report("shop", .foreground, at: 5000)
        desk.report("game", .background, at: 500)
        #expect(desk.take() == ["shop foreground @9000", "shop start @9000", "game background @9000"])
        desk.report("shop", .background, at: 9500)
        #expect(desk.take() == ["shop background @9500", "shop stop 500 background @9500"])
    }

    @Test func aCancelledHoldEndsNothing() {
        var desk = Desk()
        desk.report("shop", .foreground, at: 1000)
        desk.move(to: .holdRequested, at: 3000)
        desk.move(to: .operating, at: 4000)
        desk.report("shop", .background, at: 3500)
        #expect(
            desk.take() == [
                "shop foreground @1000", "shop start @1000", "shop background @3500",
                "shop stop 2500 background @3500",
            ])
    }

    @Test func aKillForgetsAll() {
        var desk = Desk()
        desk.report("shop", .foreground, at: 1000)
        _ = desk.take()
        desk.move(to: .killed, at: 2000)
        desk.report("shop", .background, at: 3000)
        desk.stop(at: 4000)
        #expect(desk.take().isEmpty)
        // A new launch in which nobody remembers it.
        desk.seq = 1
        desk.state = .operating
        desk.attach(launch: LaunchID(high: 3, low: 4))
        desk.report("shop", .background, at: 5000)
        #expect(desk.take() == ["shop background @5000"])
    }

    @Test func aConnectionThatWasAwayEndsNothingUnlessTheGateMoved() {
        var desk = Desk()
        desk.report("shop", .foreground, at: 1000)
        _ = desk.take()
        desk.core.detached(wallMs: 2000)
        desk.attach()
        desk.report("shop", .background, at: 3000)
        #expect(desk.take() == ["shop background @3000", "shop stop 2000 background @3000"])
        desk.report("shop", .foreground, at: 4000)
        _ = desk.take()
        desk.core.detached(wallMs: 5000)
        desk.seq += 3
        desk.attach()
        #expect(desk.take() == ["shop stop 1000 lost @5000"])
        desk.report("shop", .foreground, at: 7000)
        #expect(desk.take() == ["shop foreground @7000", "shop start @7000"])
    }

    @Test func theEndOfTheProcessEndsSessionsWhileTheGateIsOpen() {
        var open = Desk()
        open.report("shop", .foreground, at: 1000)
        open.stop(at: 4000)
        #expect(open.take().last == "shop stop 3000 lost @4000")
        var closed = Desk()
        closed.report("shop", .foreground, at: 1000)
        _ = closed.take()
        closed.move(to: .holdRequested, at: 2000)
        closed.stop(at: 4000)
        #expect(closed.take().isEmpty)
    }

    @Test func aClockThatWasSetBackMakesNoTimeNegative() {
        var desk = Desk()
        desk.report("shop", .foreground, at: 5000)
        desk.report("shop", .background, at: 1000)
        #expect(desk.take().last == "shop stop 0 background @1000")
    }

    @Test func beyondTheLimitTheLeastRecentAppIsLetGo() {
        var desk = Desk()
        for number in 0...SessionCore.appLimit { desk.report("a\(number)", .foreground, at: Int64(number)) }
        let told = desk.take()
        #expect(told.filter { $0.contains("stop") } == ["a0 stop 1024 lost @1024"])
        desk.report("a0", .background, at: 2000)
        #expect(desk.take() == ["a1 stop 1999 lost @2000", "a0 background @2000"])
    }

    @Test func eventsAreCloudEvents() {
        var core = SessionCore(prefix: "p")
        var events: [SessionEvent] = []
        core.attached(HostStatus(state: .operating, seq: TransitionSeq(1), launch: launch), into: &events)
        core.heard(AppBody(app: "shop", phase: .foreground, wallMs: 0), into: &events)
        core.heard(AppBody(app: "shop", phase: .background, wallMs: 1500), into: &events)
        let time = "1970-01-01T00:00:01.500Z"
        #expect(
            events.map(\.text) == [
                #"{"specversion":"1.0","id":"p-1","source":"/session","type":"app.foreground","subject":"shop","time":"1970-01-01T00:00:00.000Z"}"#,
                #"{"specversion":"1.0","id":"p-2","source":"/session","type":"session.start","subject":"shop","time":"1970-01-01T00:00:00.000Z","data":{"session":"p-s1"}}"#,
                #"{"specversion":"1.0","id":"p-3","source":"/session","type":"app.background","subject":"shop","time":"\#(time)"}"#,
                #"{"specversion":"1.0","id":"p-4","source":"/session","type":"session.stop","subject":"shop","time":"\#(time)","data":{"session":"p-s1","durationMs":1500,"endedBy":"background"}}"#,
            ])
    }
}
