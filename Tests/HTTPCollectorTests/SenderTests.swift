import HoldgateClient
import Simulator
import Testing

@testable import http_collector

let launch = LaunchID(high: 1, low: 1)
let otherLaunch = LaunchID(high: 2, low: 2)

func event(_ seq: UInt64, under: UInt64 = 1, bytes: Int = 10) -> Event {
    let line = [UInt8](repeating: UInt8(ascii: "x"), count: bytes)
    return Event(
        seq: JournalSeq(seq), under: TransitionSeq(under), frame: EventsFrame(copying: line),
        place: 0..<bytes)
}

func events(_ seqs: ClosedRange<UInt64>, bytes: Int = 10) -> [Event] { seqs.map { event($0, bytes: bytes) } }

/// A sender that is attached, and the posts that it makes.
final class Desk {
    private var sender: Sender
    var nowMs: Int64 = 0
    private var random = SplitMix64(seed: 1)

    init(_ limits: Sender.Limits = Sender.Limits(), compresses: Bool = false) {
        sender = Sender(limits, compresses: compresses)
        _ = attached(launch, cursor: .zero, isKilled: false)
    }

    var maxBytes: Int { sender.maxBytes }

    func attached(_ launch: LaunchID, cursor: JournalSeq?, isKilled: Bool) -> Bool {
        sender.attached(launch, cursor: cursor, isKilled: isKilled)
    }

    func detached() { sender.detached() }
    func killed() { sender.killed() }
    func take(_ events: [Event], of launch: LaunchID) -> [Sender.Effect] { sender.take(events, of: launch) }

    func answered(_ post: Sender.Post, _ verdict: Verdict) -> [Sender.Effect] {
        sender.answered(post, verdict, nowMs: nowMs, random: random.next())
    }

    /// The post that is due, if there is one.
    func post() -> Sender.Post? {
        if case .post(let post) = sender.next(nowMs: nowMs) { post } else { nil }
    }

    func seqs() -> [UInt64]? { post()?.events.map(\.seq.raw) }

    func answer(_ verdict: Verdict) throws -> [Sender.Effect] { answered(try #require(post()), verdict) }

    /// When it will go on; nil: now, or when something happens.
    func untilMs() -> Int64? {
        if case .wait(let untilMs) = sender.next(nowMs: nowMs) { untilMs } else { nil }
    }
}

func acknowledged(_ seq: UInt64, _ rejects: [Reject] = []) -> Sender.Effect {
    .acknowledge(through: JournalSeq(seq), launch, rejects)
}

@Suite struct SenderTests {
    private let bad = Verdict.refused("bad")

    @Test func whatWasTakenIsAcknowledged() throws {
        let desk = Desk()
        #expect(desk.seqs() == nil)
        #expect(desk.take(events(1...3), of: launch) == [])
        #expect(desk.seqs() == [1, 2, 3])
        #expect(try desk.answer(.taken) == [.report(.back), acknowledged(3)])
        #expect(desk.seqs() == nil)
    }

    @Test func aPostStaysTheSameUntilItIsAnswered() throws {
        let desk = Desk()
        _ = desk.take(events(1...2), of: launch)
        #expect(desk.seqs() == [1, 2])
        _ = desk.take(events(3...4), of: launch)
        let effects = try desk.answer(.later("away"))
        let untilMs = try #require(desk.untilMs())
        #expect(effects == [.report(.away("away", waitMs: untilMs))])
        #expect((100...200).contains(untilMs))
        desk.nowMs = untilMs
        #expect(desk.seqs() == [1, 2])
        #expect(try desk.answer(.taken) == [.report(.back), acknowledged(2)])
        #expect(desk.seqs() == [3, 4])
    }

    @Test func aReceiverIsWaitedForAsLongAsItAsksWithinTheBound() throws {
        for (asked, waited) in [(5_000, 5_000), (900_000, 300_000)] as [(Int64, Int64)] {
            let desk = Desk()
            _ = desk.take(events(1...1), of: launch)
            #expect(
                try desk.answer(.later("busy", afterMs: asked)) == [.report(.away("busy", waitMs: waited))])
            #expect(desk.untilMs() == waited)
        }
        let desk = Desk()
        _ = desk.take(events(1...1), of: launch)
        _ = try desk.answer(.later("busy", afterMs: 1))
        #expect(try #require(desk.untilMs()) >= 100)
    }

    @Test func anEventThatIsRefusedAloneIsRejectedAndTheOthersAreTaken() throws {
        let desk = Desk()
        _ = desk.take(events(1...4), of: launch)
        #expect(try desk.answer(bad) == [])
        #expect(desk.seqs() == [1, 2])
        #expect(try desk.answer(.taken) == [.report(.back), acknowledged(2)])
        #expect(try desk.answer(bad) == [])
        let reject = Reject(seq: JournalSeq(3), reason: "bad")
        #expect(try desk.answer(bad) == [acknowledged(3, [reject]), .report(.rejected(reject))])
        #expect(desk.seqs() == [4])
    }

    @Test func batchesAreBoundedByCountBytesAndOpenings() {
        var limits = Sender.Limits()
        limits.events = 3
        limits.bytes = 34
        var desk = Desk(limits)
        _ = desk.take(events(1...4), of: launch)
        #expect(desk.seqs() == [1, 2, 3])
        desk = Desk(limits)
        _ = desk.take(events(1...4, bytes: 11), of: launch)
        #expect(desk.seqs() == [1, 2])
        desk = Desk(limits)
        _ = desk.take(events(1...4, bytes: 100), of: launch)
        #expect(desk.seqs() == [1])
        desk = Desk()
        _ = desk.take((1...100).map { event($0, under: $0) }, of: launch)
        #expect(desk.seqs() == Array(1...64))
    }

    @Test func aBodyHasTheBytesThatWereCounted() throws {
        let desk = Desk()
        _ = desk.take(events(1...3), of: launch)
        let post = try #require(desk.post())
        #expect(String(decoding: post.body, as: UTF8.self) == "[xxxxxxxxxx,xxxxxxxxxx,xxxxxxxxxx]")
        #expect(post.body.count == post.byteCount)
    }

    @Test func whatIsTooLargeIsHalvedAndTheNextOnesAreSmaller() throws {
        let desk = Desk()
        _ = desk.take(events(1...100, bytes: 99), of: launch)
        #expect(try desk.answer(.tooLarge("big")) == [.report(.smaller(bytes: 5000))])
        #expect(desk.seqs() == Array(1...50))
        _ = try desk.answer(.taken)
        _ = try desk.answer(.taken)
        _ = desk.take(events(101...200, bytes: 99), of: launch)
        #expect(desk.seqs() == Array(101...149))
        // One event that is too large alone says nothing of the others.
        _ = desk.take(events(201...201, bytes: 9000), of: launch)
        while desk.seqs() != [201] { _ = try desk.answer(.taken) }
        let reject = Reject(seq: JournalSeq(201), reason: "big")
        #expect(
            try desk.answer(.tooLarge("big")) == [acknowledged(201, [reject]), .report(.rejected(reject))])
        #expect(desk.maxBytes == 5000)
    }

    @Test func largerOnesAreTriedAgainAfterManyThatWereTaken() throws {
        let desk = Desk()
        _ = desk.take(events(1...100, bytes: 99), of: launch)
        _ = try desk.answer(.tooLarge("big"))
        for seq in 101...UInt64(100 + Sender.postsBeforeLarger) {
            #expect(desk.maxBytes == 5000)
            _ = desk.take(events(seq...seq), of: launch)
            _ = try desk.answer(.taken)
        }
        #expect(desk.maxBytes == 10_000)
    }

    @Test func compressionEndsWithTheFirstRefusalAndTheSamePostGoesAtOnce() throws {
        let desk = Desk(compresses: true)
        _ = desk.take(events(1...2), of: launch)
        #expect(try #require(desk.post()).isCompressed)
        #expect(try desk.answer(.plainWanted) == [.report(.plain)])
        let post = try #require(desk.post())
        #expect(!post.isCompressed && post.events.count == 2)
    }

    @Test func aReceiverThatRefusesEverythingIsNotBelievedForEver() throws {
        var limits = Sender.Limits()
        limits.events = 1
        limits.rejectsInRow = 3
        let desk = Desk(limits)
        _ = desk.take(events(1...10), of: launch)
        for _ in 1...3 { #expect(try desk.answer(bad).count == 2) }
        let effects = try desk.answer(bad)
        guard case .report(.away(let reason, _))? = effects.first else {
            Issue.record("\(effects)")
            return
        }
        #expect(effects.count == 1 && reason.hasPrefix("bad: 3 events"))
        desk.nowMs = 1_000_000
        #expect(desk.seqs() == [4])
        _ = try desk.answer(.taken)
        for _ in 1...3 { #expect(try desk.answer(bad).count == 2) }
    }

    // MARK: The host comes and goes

    @Test func whileNoHostIsThereNothingIsPosted() {
        let desk = Desk()
        _ = desk.take(events(1...2), of: launch)
        desk.detached()
        #expect(desk.seqs() == nil)
        #expect(!desk.attached(launch, cursor: .zero, isKilled: false))
        #expect(desk.seqs() == [1, 2])
    }

    @Test func whatComesAgainIsPostedOnceAndAcknowledgedAgain() throws {
        let desk = Desk()
        _ = desk.take(events(1...4), of: launch)
        _ = try desk.answer(bad)
        _ = try desk.answer(bad)
        _ = try desk.answer(bad)
        _ = try desk.answer(.taken)
        let reject = Reject(seq: JournalSeq(1), reason: "bad")
        desk.detached()
        _ = desk.attached(launch, cursor: .zero, isKilled: false)
        #expect(desk.take(events(1...1), of: launch) == [acknowledged(1, [reject])])
        #expect(desk.take(events(2...5), of: launch) == [acknowledged(2)])
        #expect(desk.seqs() == [3, 4])
        _ = try desk.answer(.taken)
        #expect(desk.seqs() == [5])
    }

    @Test func aKillDropsAllAndTheAnswerToWhatWasUnderWayHasNoEffect() throws {
        for killing in [0, 1, 2] {
            let desk = Desk()
            _ = desk.take(events(1...4), of: launch)
            let post = try #require(desk.post())
            switch killing {
            case 0: desk.killed()
            case 1: #expect(desk.attached(launch, cursor: nil, isKilled: true))
            default: #expect(desk.attached(otherLaunch, cursor: JournalSeq(4), isKilled: false))
            }
            #expect(desk.answered(post, .taken) == [])
            #expect(desk.seqs() == nil)
            #expect(desk.take(events(5...6), of: launch) == [])
            #expect(desk.seqs() == nil)
            _ = desk.attached(otherLaunch, cursor: JournalSeq(4), isKilled: false)
            _ = desk.take(events(5...6), of: otherLaunch)
            #expect(desk.seqs() == [5, 6])
        }
    }

    @Test func anotherLaunchMayGiveNumbersAgainAsARestoredStateDoes() throws {
        let desk = Desk()
        _ = desk.take(events(1...9), of: launch)
        _ = try desk.answer(.taken)
        _ = desk.attached(otherLaunch, cursor: JournalSeq(3), isKilled: false)
        #expect(desk.take(events(4...5), of: otherLaunch) == [])
        #expect(desk.seqs() == [4, 5])
    }
}
