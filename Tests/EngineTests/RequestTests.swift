import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct RequestTests {
    private func outcome(_ desk: Desk, _ requester: Requester) -> String? { desk.replies[requester]?.outcome }

    // MARK: Routing

    @Test func aRequestGoesToItsProviderAndTheResultComesBack() {
        var desk = Desk()
        desk.serve("s", "t")
        let arguments = JSONValue.object([.init("page", .int(3))])
        let requester = desk.send(.request(service: "t", arguments: arguments, timeoutMs: 700))
        #expect(
            desk.sent[PeerID(1)]?.last == .request(id: 1, service: "t", arguments: arguments, timeoutMs: 700))
        #expect(desk.replies[requester] == nil)
        desk.receive(.result(id: 1, .success(.array([.null]))))
        #expect(
            desk.replies[requester]
                == ControlReply(
                    id: nil, status: desk.engine.status, members: [.init("value", .array([.null]))]))
        #expect(desk.engine.requests.count == 0 && desk.engine.requests.load == [:])
    }

    @Test func aProvidersErrorIsPassedOnAsItIs() {
        var desk = Desk()
        desk.serve("s")
        let requester = desk.call()
        let error = WireError(ErrorCode("noMorePages"), "the last page was read", retryable: true)
        desk.receive(.result(id: 1, .failure(error)))
        #expect(desk.replies[requester]?.error == error)
    }

    /// Whoever reads `notOperating` takes the gate for closed.
    @Test(arguments: [
        ErrorCode.notOperating, .unknownService, .serviceUnavailable, .timeout, .overloaded, .storageFull,
        .shuttingDown,
    ]) func aProviderDoesNotSpeakForTheHost(code: ErrorCode) {
        var desk = Desk()
        desk.serve("s")
        let (plain, unsure) = (desk.call(), desk.call())
        desk.receive(.result(id: 1, .failure(WireError(code, "busy", retryable: true))))
        desk.receive(.result(id: 2, .failure(WireError(code, "busy", isOutcomeUnknown: true))))
        let message = "the provider answered with \(code), which is the host's to say: busy"
        #expect(desk.replies[plain]?.error == WireError(.internalError, message, retryable: true))
        #expect(desk.replies[unsure]?.error == WireError(.internalError, message, isOutcomeUnknown: true))
    }

    @Test func aHoldThatComesToNothingTellsNoHostCodeOfAProvidersEither() {
        var desk = Desk(collectors: ["c"])
        desk.serve("s")
        let requester = desk.call()
        _ = desk.send(.forget(name: "c"))
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil), expect: Expectation(state: .killed))
        desk.receive(.result(id: 1, .failure(WireError(.notOperating, "closed"))))
        desk.disk()
        #expect(desk.replies[requester]?.error?.code == .internalError)
    }

    @Test func severalAreInFlightAndAnsweredInAnyOrder() {
        var desk = Desk()
        desk.serve("s")
        let requesters = (0..<3).map { _ in desk.call() }
        #expect(desk.calls() == [1, 2, 3])
        desk.answer(2, "b")
        desk.answer(3, "c")
        desk.answer(1, "a")
        #expect(requesters.map { outcome(desk, $0) } == ["a", "b", "c"])
    }

    @Test func providersShareTheWorkAndTheLeastLoadedIsNext() {
        var desk = Desk()
        desk.serve("s", as: "a", peer: 1)
        desk.serve("s", as: "b", peer: 2)
        desk.serve("t", as: "c", peer: 3)
        for _ in 0..<4 { _ = desk.call() }
        #expect([desk.calls(to: 1), desk.calls(to: 2), desk.calls(to: 3)] == [[1, 3], [2, 4], []])
        desk.answer(2, peer: 2)
        desk.answer(4, peer: 2)
        _ = desk.call()
        _ = desk.call()
        #expect([desk.calls(to: 1), desk.calls(to: 2)] == [[1, 3], [2, 4, 5, 6]])
        desk.answer(1)
        desk.answer(3)
        desk.answer(5, peer: 2)
        desk.answer(6, peer: 2)
        _ = desk.call()
        #expect(desk.calls(to: 1) == [1, 3, 7], "of two with nothing to do the one that waited longer")
    }

    @Test func aFullProviderIsOverloadedAndAnotherTakesItsPlace() {
        var desk = Desk { $0.maxRequestsPerProvider = 2 }
        desk.serve("s", as: "a", peer: 1)
        for _ in 0..<2 { _ = desk.call() }
        let refused = desk.call()
        #expect(outcome(desk, refused) == "overloaded operating retryable")
        desk.serve("s", as: "b", peer: 2)
        _ = desk.call()
        #expect(desk.calls(to: 2) == [3])
        desk.answer(1)
        _ = desk.call()
        #expect([desk.calls(to: 1), desk.calls(to: 2)] == [[1, 2, 4], [3]])
    }

    @Test func aServiceThatNeverWasIsToldFromOneThatIsLost() {
        var desk = Desk()
        let never = desk.call()
        desk.serve("s")
        desk.receive(.bye)
        let lost = desk.call()
        desk.serve("s")
        desk.pass(1000)
        desk.pass(1000)
        desk.pass(1000)
        desk.pass(1000)
        let silent = desk.call()
        #expect(outcome(desk, never) == "unknownService operating")
        #expect(outcome(desk, lost) == "serviceUnavailable operating retryable")
        #expect(outcome(desk, silent) == "serviceUnavailable operating retryable")
        desk.receive(.heartbeat)
        _ = desk.call()
        #expect(desk.calls() == [1], "heard again, it is asked again")
    }

    @Test func aCollectorThatServesTooIsAskedOnceItIsWelcome() {
        var desk = Desk()
        let hello = PluginMessage.Hello(name: "c", version: "1", collect: CollectRequest(), services: ["s"])
        desk.receive(.hello(hello))
        let early = desk.call()
        #expect(outcome(desk, early) == "serviceUnavailable operating retryable")
        desk.serve("s", as: "other", peer: 2)
        _ = desk.call()
        _ = desk.call()
        #expect(desk.calls(to: 2) == [1, 2])
        desk.disk()
        _ = desk.call()
        #expect(desk.calls() == [3])
    }

    @Test func aRequestThatDoesNotLeaveIsNotInDoubt() {
        var desk = Desk()
        desk.serve("s")
        let full = desk.call()
        let gone = desk.call()
        desk.act { $0.unsent(1, isGone: false, into: &$2) }
        desk.act { $0.unsent(2, isGone: true, into: &$2) }
        desk.act { $0.lost(PeerID(1), now: $1, into: &$2) }
        #expect(outcome(desk, full) == "overloaded operating retryable")
        #expect(outcome(desk, gone) == "serviceUnavailable operating retryable")
    }

    // MARK: What ends a request

    @Test func theDeadlineAnswersAndTheLateResultIsDropped() {
        var desk = Desk()
        desk.serve("s")
        let short = desk.call(timeoutMs: 100)
        let long = desk.call(timeoutMs: 101)
        #expect(desk.engine.nextTickMs == 100)
        desk.pass(99)
        #expect(desk.replies[short] == nil)
        desk.pass(1)
        #expect(outcome(desk, short) == "timeout operating unknown")
        #expect(desk.replies[long] == nil && desk.engine.nextTickMs == 101)
        desk.answer(1)
        #expect(desk.engine.statistics.resultsDropped == 1)
        desk.answer(2)
        #expect(outcome(desk, long) == "yes")
    }

    /// The next deadline is not looked for at each answer: it may come too early, and never too late.
    @Test func aDeadlineIsMetWhateverIsAnsweredBeforeIt() {
        var desk = Desk()
        desk.serve("s")
        let last = desk.call(timeoutMs: 300)
        _ = desk.call(timeoutMs: 100)
        let middle = desk.call(timeoutMs: 200)
        desk.answer(2)
        desk.pass(199)
        #expect(desk.replies[middle] == nil && desk.replies[last] == nil)
        #expect(desk.engine.nextTickMs == 200)
        desk.pass(1)
        #expect(outcome(desk, middle) == "timeout operating unknown")
        #expect(desk.replies[last] == nil && desk.engine.nextTickMs == 300)
        desk.answer(1)
        #expect(outcome(desk, last) == "yes")
        #expect(desk.engine.nextTickMs > 300, "nothing is in flight any more")
    }

    @Test func aLateResultIsDroppedEvenBeforeTheClockIsLookedAt() {
        var desk = Desk()
        desk.serve("s")
        let late = desk.call(timeoutMs: 100)
        let early = desk.call(timeoutMs: 101)
        desk.nowMs += 100
        desk.answer(1)
        desk.answer(2)
        #expect(desk.replies[late] == nil)
        #expect(outcome(desk, early) == "yes")
        #expect(desk.engine.statistics.resultsDropped == 1)
        desk.pass(0)
        #expect(outcome(desk, late) == "timeout operating unknown")
    }

    @Test func resultsThatAreDoubleForeignOrUnheardOfAreDropped() {
        var desk = Desk()
        desk.serve("s", as: "a", peer: 1)
        desk.serve("t", as: "b", peer: 2)
        let requester = desk.call()
        desk.answer(1, "foreign", peer: 2)
        desk.answer(1, "stranger", peer: 3)
        desk.answer(9, "never asked")
        #expect(desk.replies[requester] == nil)
        desk.answer(1, "first")
        desk.answer(1, "second")
        #expect(outcome(desk, requester) == "first")
        #expect(desk.engine.statistics.resultsDropped == 4)
    }

    @Test(arguments: ["bye", "lost", "superseded", "hello again", "renamed", "refused", "silent"])
    func aProviderThatGoesAnswersWhatItHad(_ how: String) {
        var desk = Desk()
        desk.serve("s", as: "a", peer: 1)
        desk.serve("s", as: "b", peer: 2)
        let requester = desk.call()
        let other = desk.call()
        switch how {
        case "bye": desk.receive(.bye)
        case "lost": desk.act { $0.lost(PeerID(1), now: $1, into: &$2) }
        case "superseded": desk.serve("s", as: "a", peer: 3)
        case "hello again": desk.serve("s", as: "a", peer: 1)
        case "renamed": desk.serve("s", as: "c", peer: 1)
        case "refused":
            desk.hello("d", peer: 4)
            desk.hello("d", peer: 1, durable: false)
        default:
            for _ in 0..<4 {
                desk.receive(.heartbeat, peer: 2)
                desk.pass(1000)
            }
        }
        #expect(outcome(desk, requester) == "serviceUnavailable operating unknown")
        #expect(desk.replies[other] == nil)
        desk.answer(1)
        desk.answer(2, peer: 2)
        #expect(outcome(desk, other) == "yes")
        #expect(desk.engine.statistics.resultsDropped == 1)
        #expect(desk.engine.requests == RequestTable(after: 2))
    }

    @Test func stoppingAnswersAllAndRefusesMore() {
        var desk = Desk()
        desk.serve("s")
        let inFlight = desk.call()
        desk.act { engine, _, effects in engine.stop(restart: false, into: &effects) }
        let later = desk.call()
        desk.answer(1)
        #expect(outcome(desk, inFlight) == "shuttingDown operating unknown")
        #expect(outcome(desk, later) == "shuttingDown operating retryable")
        #expect(desk.calls() == [1])
    }

    @Test func aDiskThatFailsForGoodAnswersAll() {
        var desk = Desk()
        desk.serve("s")
        let inFlight = desk.call()
        _ = desk.send(.holdOperation(waitMs: nil, gatedEvents: nil))
        let waiting = desk.call()
        desk.act { engine, _, effects in
            engine.abandon(WireError(.internalError, "it failed", retryable: true), into: &effects)
        }
        #expect(outcome(desk, inFlight) == "internal operating unknown")
        #expect(outcome(desk, waiting) == "internal operating retryable")
    }
}

extension RequestTable {
    /// Nothing in flight, and so many were.
    init(after count: Int) {
        self.init()
        for number in 0..<count {
            _ = add(
                RoutedRequest(
                    requester: Requester(0), id: nil, service: "", peer: PeerID(0), deadlineMs: 0))
            _ = remove(UInt64(number + 1))
        }
    }
}
