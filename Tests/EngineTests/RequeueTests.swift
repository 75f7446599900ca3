import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct RequeueTests {
    private let batch = ProducerBatch(producer: "letters", run: "r", batch: 1)

    private func admit(_ desk: inout Desk, _ requester: Requester) {
        var effects: [Effect] = []
        let admission = desk.engine.admitRequeued(
            BlockSummary(count: 2, byteCount: 100), batch, from: requester, id: nil, now: desk.now,
            into: &effects)
        desk.act { $2 = effects }
        if case .commit(let ticket, let stamp) = admission {
            desk.jobs.append(Desk.Item(ticket: ticket, job: .block(stamp)))
        }
    }

    @Test func requeuedLettersGoToTheQueuesEnd() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit()
        let requester = desk.send(.requeue(seqs: [7, 8]))
        #expect(desk.requeues == [[7, 8]])
        admit(&desk, requester)
        #expect(desk.replies[requester] == nil)
        desk.disk()
        #expect(desk.replies[requester]?["requeued"] == .uint(2))
        #expect(desk.endedRequeues == [true])
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed() == [1, 2, 3])
    }

    @Test func oneRequeueAtATime() {
        var desk = Desk()
        let first = desk.send(.requeue(seqs: [7]))
        let second = desk.send(.requeue(seqs: [7]))
        #expect(desk.replies[second]?.brief == "operating 1 overloaded")
        desk.act { engine, _, effects in
            engine.refuseRequeued(
                first, id: nil, WireError(.invalidArgument, "no such letter"), into: &effects)
        }
        #expect(desk.replies[first]?.brief == "operating 1 invalidArgument")
        _ = desk.send(.requeue(seqs: [7]))
        #expect(desk.requeues == [[7], [7]])
    }

    @Test func lettersThatFindNoRoomStayDead() {
        var desk = Desk(collectors: ["c"])
        let requester = desk.send(.requeue(seqs: [7]))
        admit(&desk, requester)
        desk.diskFull()
        desk.disk()
        #expect(desk.replies[requester]?.brief == "operating 1 storageFull")
        #expect(desk.endedRequeues == [false])
        desk.hello("c")
        desk.handOver()
        #expect(desk.handed().isEmpty)
    }

    @Test func nothingComesBackAfterAKill() {
        var desk = Desk()
        let requester = desk.send(.requeue(seqs: [7]))
        _ = desk.ask(.kill)
        admit(&desk, requester)
        desk.disk()
        #expect(desk.replies[requester]?.brief == "killed 2 notOperating")
        #expect(desk.endedRequeues == [false])
        #expect(desk.blocks.isEmpty)
    }

    @Test func theConfigurationShowsWhatIsOnDisk() {
        var desk = Desk()
        let change = desk.send(.configure(patch: #"{"a":1}"#))
        desk.disk()
        #expect(desk.ask(.configuration)?["configuration"]?["a"] == .int(1))
        #expect(desk.replies[change]?["configuration"]?["a"] == .int(1))
        let second = desk.send(.configure(patch: #"{"b":2}"#))
        let shown = desk.send(.configuration)
        #expect(desk.replies[shown]?["configuration"]?["b"] == nil)
        desk.disk()
        #expect(desk.replies[second]?["configuration"]?["b"] == .int(2))
    }

    @Test func changesThatWaitAreBoundedInBytes() {
        var desk = Desk()
        let patch = #"{"a":""# + String(repeating: "x", count: 1_000_000) + #""}"#
        let changes = (0..<9).map { _ in desk.send(.configure(patch: patch)) }
        #expect(desk.replies[changes[7]] == nil)
        #expect(desk.replies[changes[8]]?.brief == "operating 1 overloaded")
        #expect(desk.replies[changes[8]]?.error?.retryable == true)
        desk.disk()
        #expect(desk.replies[changes[7]]?.brief == "operating 1")
    }

    @Test func aChangeDoesNotBuildOnOneThatFoundNoRoom() {
        var desk = Desk()
        let first = desk.send(.configure(patch: #"{"a":1}"#))
        let second = desk.send(.configure(patch: #"{"b":2}"#))
        desk.diskFull()
        desk.disk()
        #expect(desk.replies[first]?.brief == "operating 1 storageFull")
        #expect(desk.replies[second]?["configuration"] == .object([.init("b", .int(2))]))
        #expect(desk.ask(.configuration)?["configuration"] == .object([.init("b", .int(2))]))
    }

    @Test func killRefusesTheChangesThatWait() {
        var desk = Desk()
        let changes = (1...3).map { desk.send(.configure(patch: #"{"a":\#($0)}"#)) }
        _ = desk.send(.kill)
        desk.disk()
        #expect(changes.allSatisfy { desk.replies[$0] != nil })
        #expect(desk.ask(.configuration)?["configuration"] == .object([]))
        #expect(desk.ask(.configure(patch: "{}"))?.brief == "killed 2 notOperating")
    }

    // MARK: While a kill is being written

    private static let elsewhere = Expectation(state: .killed)

    @Test func noAnswerShowsAKillThatIsNotOnDisk() {
        var desk = Desk()
        _ = desk.send(.kill)
        let change = desk.send(.configure(patch: #"{"a":1}"#))
        let requeue = desk.send(.requeue(seqs: [7]))
        #expect(desk.replies[change] == nil && desk.replies[requeue] == nil)
        desk.disk()
        #expect(desk.replies[change]?.brief == "killed 2 notOperating")
        #expect(desk.replies[requeue]?.brief == "killed 2 notOperating")
        #expect(desk.requeues == [])
    }

    @Test func aKillThatComesToNothingRefusesNoChange() {
        var desk = Desk(collectors: ["c"])
        _ = desk.send(.forget(name: "c"))
        _ = desk.send(.kill, expect: Self.elsewhere)
        let change = desk.send(.configure(patch: #"{"a":1}"#))
        let requeue = desk.send(.requeue(seqs: [7]))
        desk.disk()
        #expect(desk.replies[change]?["configuration"] == .object([.init("a", .int(1))]))
        #expect(desk.requeues == [[7]])
        admit(&desk, requeue)
        desk.disk()
        #expect(desk.replies[requeue]?["requeued"] != nil)
    }

    @Test func aKillThatFoundTheDiskFullTakesNoChange() {
        var desk = Desk()
        _ = desk.send(.kill)
        let waiting = desk.send(.configure(patch: #"{"a":1}"#))
        desk.diskFull()
        #expect(desk.replies[waiting]?.brief == "operating 1 storageFull")
        #expect(desk.ask(.configure(patch: #"{"a":1}"#))?.brief == "operating 1 storageFull")
    }
}
