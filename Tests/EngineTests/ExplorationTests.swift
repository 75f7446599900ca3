import Foundation
import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

/// What can happen in the small world, and how often at most.
private enum Move: Int, Hashable, CaseIterable {
    case start, hold, holdDiscarding, kill, block, blockAgain, hello, ack, tick
    case diskStep, diskFull, handOver

    var limit: UInt8 {
        switch self {
        case .start, .hold, .block, .tick: 2
        case .holdDiscarding, .kill, .blockAgain, .hello, .ack, .diskFull: 1
        case .diskStep, .handOver: .max
        }
    }
}

/// An engine, its disk, and what somebody outside knows.
private struct SmallWorld: Hashable {
    var desk: Desk
    var left = Move.allCases.map(\.limit)
    var unanswered: Set<Requester> = []
    /// The last event that was read before a closing; nil once a start was read behind it.
    var closedAfter: JournalSeq?
    var isKilled = false
    var nextBatch: UInt64 = 1
    /// The last things that happened; equal worlds may differ in it.
    var path: [Move] = []

    static func == (a: Self, b: Self) -> Bool {
        a.desk == b.desk && a.left == b.left && a.unanswered == b.unanswered && a.closedAfter == b.closedAfter
    }
    func hash(into hasher: inout Hasher) {
        hasher.combine(desk)
        hasher.combine(left)
        hasher.combine(closedAfter)
    }

    init(_ cause: LifecycleCause) {
        desk = Desk(cause, collectors: ["c"]) {
            $0.drainTimeoutMs = 1500
            $0.retryMs = 1000
        }
        if cause != .initialize { closedAfter = .zero }
        forget()
    }

    /// The world after a move; nil where it can't be made.
    func after(_ move: Move) throws -> SmallWorld? {
        guard left[move.rawValue] > 0 else { return nil }
        var next = self
        if move.limit != .max { next.left[move.rawValue] -= 1 }
        guard next.make(move) else { return nil }
        next.path.append(move)
        try next.check()
        return next
    }

    private mutating func make(_ move: Move) -> Bool {
        switch move {
        case .start:
            closedAfter = nil
            unanswered.insert(desk.send(.startOperation(leaseMs: nil)))
        case .hold, .holdDiscarding:
            closedAfter = min(closedAfter ?? desk.engine.lastSeq, desk.engine.lastSeq)
            let policy: GatedPolicy? = move == .hold ? nil : .discard
            unanswered.insert(desk.send(.holdOperation(waitMs: 700, gatedEvents: policy)))
        case .kill: unanswered.insert(desk.send(.kill))
        case .block:
            unanswered.insert(desk.sendBlock(batch: nextBatch))
            nextBatch += 1
        case .blockAgain:
            guard nextBatch > 1 else { return false }
            unanswered.insert(desk.sendBlock(batch: nextBatch - 1))
        case .hello: desk.hello("c")
        case .ack: desk.ack(desk.engine.lastSeq.raw)
        case .tick: desk.pass(1000)
        case .diskStep, .diskFull:
            guard let job = desk.jobs.first?.job else { return false }
            if move == .diskFull, job == .other(.purge) || job == .other(.resumeBlocks) { return false }
            if move == .diskStep { desk.diskStep() } else { desk.diskFull() }
        case .handOver:
            let before = desk.engine
            desk.handOver()
            return desk.engine != before
        }
        return true
    }

    /// Checks what came out of the last move, and forgets it.
    mutating func check() throws {
        let written = desk.records.map(\.seq).max() ?? TransitionSeq(1)
        for (requester, status, isKill) in answers {
            guard unanswered.remove(requester) != nil else { throw Broken("answered twice", path) }
            guard status.seq <= written else { throw Broken("a reply shows \(status.seq)", path) }
            if isKill { isKilled = true }
        }
        for header in desk.headers.indices {
            guard case .state(let body) = desk.publications[header] else { continue }
            guard desk.headers[header].seq <= written.raw else {
                throw Broken("\(body.state) is told too early", path)
            }
            if body.state == .killed { isKilled = true }
        }
        let out = desk.handed() + desk.streamed
        if isKilled, !out.isEmpty { throw Broken("\(out) left after a kill", path) }
        if let closedAfter, let late = out.first(where: { $0 > closedAfter.raw }) {
            throw Broken("\(late) left, and it was closed after \(closedAfter)", path)
        }
        for delivery in desk.deliveries {
            let opened =
                delivery.opening.raw == 1
                || desk.records.contains {
                    $0.seq == delivery.opening && $0.state == .operating
                }
            guard opened else { throw Broken("\(delivery) under what is not on disk", path) }
        }
        forget()
    }

    private var answers: [(Requester, HostStatus, isKill: Bool)] {
        desk.replies.map { ($0.key, $0.value.status, $0.value.status.state == .killed) }
            + desk.ingestReplies.map { ($0.key, $0.value.status, false) }
    }

    private mutating func forget() {
        desk.replies = [:]
        desk.ingestReplies = [:]
        desk.headers = []
        desk.publications = []
        desk.publishedBlocks = []
        desk.deliveries = []
        desk.sent = [:]
        desk.logs = []
    }

    /// Once the disk is well again, and time passes, everybody is answered, and nothing is half done.
    func checkEnd() throws {
        var end = self
        for _ in 1...4 {
            end.desk.disk()
            end.desk.pass(1000)
            end.desk.disk()
            try end.check()
        }
        guard end.unanswered.isEmpty else { throw Broken("never answered: \(end.unanswered)", path) }
        guard end.desk.engine.isIdle, end.desk.engine.isSettled else { throw Broken("not settled", path) }
        guard end.desk.engine.lifecycle == end.desk.engine.shown else { throw Broken("not shown", path) }
    }

    struct Broken: Error, CustomStringConvertible {
        let description: String
        init(_ what: String, _ path: [Move]) { description = "\(what) after \(path)" }
    }
}

@Suite struct ExplorationTests {
    /// Worlds that are looked at; more with HOLDGATE_TEST_STATES.
    private static let limit =
        ProcessInfo.processInfo.environment["HOLDGATE_TEST_STATES"].flatMap { Int($0) } ?? 4000

    @Test(arguments: [LifecycleCause.initialize, .initializeWithHoldingOperations])
    func inEveryOrderNothingLeavesAClosedGateAndEverybodyIsAnswered(cause: LifecycleCause) throws {
        var seen: Set<SmallWorld> = []
        // Breadth first, and a few long ways for what lies deep.
        var waiting = [SmallWorld(cause)]
        var place = 0
        while place < waiting.count, seen.count < Self.limit {
            let world = waiting[place]
            place += 1
            for move in Move.allCases {
                guard let next = try world.after(move), seen.insert(next).inserted else { continue }
                try next.checkEnd()
                waiting.append(next)
            }
        }
        #expect(seen.count >= Self.limit)
    }

    @Test(arguments: [LifecycleCause.initialize, .initializeWithHoldingOperations])
    func onLongWaysToo(cause: LifecycleCause) throws {
        var random = Lots(state: 1)
        for _ in 0..<Self.limit / 20 {
            var world = SmallWorld(cause)
            for _ in 0..<30 {
                let move = Move.allCases.randomElement(using: &random) ?? .diskStep
                if let next = try world.after(move) { world = next }
            }
            try world.checkEnd()
        }
    }

    /// The same lots each time.
    private struct Lots: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }
}
