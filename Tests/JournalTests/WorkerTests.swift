import Journal
import Ledger
import Lifecycle
import Platform
import Simulator
import Testing
import Wire

/// A history that keeps its records in a list, and has room for so many.
private final class ListHistory: HistoryAppending {
    var room = Int.max
    var appended: [[HistoryDraft]] = []

    func append(_ drafts: [HistoryDraft]) throws(JournalError) -> HistoryHead {
        let count = appended.reduce(0) { $0 + $1.count } + drafts.count
        guard count <= room else { throw .full }
        appended.append(drafts)
        return HistoryHead(n: UInt64(count), hash: "h\(count)")
    }
}

/// A completion without its blocks' identity.
private enum Told: Equatable {
    case done(UInt64, last: UInt64, head: UInt64?, blocks: Int)
    case full(UInt64, withBlock: Bool)
    case erased(more: Bool)
    case committed(events: UInt64)
    case failed(JournalError)

    init(_ completion: JournalCompletion) {
        switch completion {
        case .done(let done):
            self = .done(done.ticket, last: done.lastSeq.raw, head: done.head?.n, blocks: done.blocks.count)
        case .full(let ticket, let block): self = .full(ticket, withBlock: block != nil)
        case .erased(let more): self = .erased(more: more)
        case .committed(let facts): self = .committed(events: facts.eventCount)
        case .failed(let error): self = .failed(error)
        }
    }
}

private struct WorkerHarness {
    var log: LogHarness
    let history = ListHistory()
    let worker: JournalWorker
    var queue = JournalQueue()
    var ticket: UInt64 = 0

    /// - Parameter clock: goes on by 7 ns each time that it is looked at.
    init(
        segmentBytes: Int = 4096, maxCommitBytes: Int = JournalWorker.defaultMaxCommitBytes,
        clock: Locked<Int64> = Locked(0)
    ) throws {
        log = try LogHarness(segmentBytes: segmentBytes)
        worker = JournalWorker(
            log: log.log, history: history, maxCommitBytes: maxCommitBytes,
            clockNs: {
                clock.withLock {
                    $0 += 7
                    return $0
                }
            })
    }

    mutating func submit(_ job: JournalJob) {
        ticket += 1
        queue.append(JournalQueue.Item(ticket: ticket, job: job))
    }

    mutating func submitBlock(_ count: Int, lineBytes: Int = 24, batch: ProducerBatch? = nil) {
        guard case .block(let stamp, let block) = log.block(count, lineBytes: lineBytes, batch: batch) else {
            return
        }
        log.ledger.apply(.block(stamp))
        submit(.block(stamp, block))
    }

    mutating func turn() -> [Told] {
        var completions: [JournalCompletion] = []
        worker.turn(&queue, into: &completions)
        return completions.map(Told.init)
    }

    mutating func turns() -> [Told] {
        var told: [Told] = []
        while !queue.isEmpty { told += turn() }
        return told
    }

    static func draft(_ seq: UInt64) -> HistoryDraft {
        HistoryDraft(
            wallMs: 1, launch: SampleEvents.launch, seq: TransitionSeq(seq), state: .operating,
            previous: .onHold,
            command: "startOperation", through: .zero)
    }
}

@Suite struct WorkerTests {
    @Test func aTurnIsOneAppendAndOneCommit() throws {
        var harness = try WorkerHarness()
        harness.submit(.history(WorkerHarness.draft(1)))
        harness.submit(.history(WorkerHarness.draft(2)))
        harness.submitBlock(2)
        harness.submit(.entry(.known(collector: "c", cursor: .zero)))
        harness.submitBlock(1)
        harness.submit(.history(WorkerHarness.draft(3)))
        let calls = harness.log.storage.calls.count
        #expect(harness.turn() == [.done(5, last: 3, head: 2, blocks: 2)])
        #expect(harness.history.appended == [[WorkerHarness.draft(1), WorkerHarness.draft(2)]])
        #expect(harness.log.storage.calls.count == calls + 2)
        #expect(harness.turn() == [.done(6, last: 3, head: 3, blocks: 0)])
        #expect(harness.log.storage.calls.count == calls + 4)
        try harness.log.reopen()
        #expect(harness.log.log.ledger.head == HistoryHead(n: 3, hash: "h3"))
        #expect(harness.log.log.ledger.cursors == ["c": .zero])
    }

    @Test func aCommitIsBounded() throws {
        var harness = try WorkerHarness(maxCommitBytes: 600)
        for _ in 0..<5 { harness.submitBlock(4) }
        #expect(
            harness.turns() == [
                .done(2, last: 8, head: nil, blocks: 2), .done(4, last: 16, head: nil, blocks: 2),
                .done(5, last: 20, head: nil, blocks: 1),
            ])
    }

    @Test func afterAFullDiskNothingIsWrittenThatBuildsOnWhatWasNot() throws {
        var harness = try WorkerHarness(segmentBytes: 2048)
        harness.submit(.entry(.known(collector: "c", cursor: .zero)))
        _ = harness.turns()
        harness.log.storage.capacityBytes = harness.log.storage.disk.usedBytes
        var number: UInt64 = 0
        var refused: [Told] = []
        while refused.isEmpty {
            number += 1
            harness.submitBlock(6, lineBytes: 60, batch: batch(number))
            refused = harness.turns().filter { if case .full = $0 { true } else { false } }
        }
        #expect(refused == [.full(harness.ticket, withBlock: true)])
        let written = harness.log.log.ledger
        // It would fit, and would make the lost batch look taken.
        harness.submitBlock(1, batch: batch(number + 1))
        harness.submit(.entry(.batch(batch(1, "q"))))
        harness.submit(.history(WorkerHarness.draft(1)))
        harness.submit(.entry(.done(collector: "c", through: written.lastSeq)))
        let last = written.lastSeq.raw
        let ticket = harness.ticket
        #expect(
            harness.turns() == [
                .full(ticket - 3, withBlock: true), .full(ticket - 2, withBlock: false),
                .done(ticket - 2, last: last, head: nil, blocks: 0),
                // Closing the gate must not wait for anybody.
                .done(ticket, last: last, head: 1, blocks: 0),
            ])
        var expected = written
        expected.apply(.head(HistoryHead(n: 1, hash: "h1")))
        expected.apply(.done(collector: "c", through: written.lastSeq))
        #expect(harness.log.log.ledger == expected)
        harness.submit(.resume)
        harness.log.storage.capacityBytes = .max
        harness.log.ledger = harness.log.log.ledger
        harness.submitBlock(6, lineBytes: 60, batch: batch(number))
        #expect(
            harness.turns() == [
                .done(ticket + 1, last: last, head: 1, blocks: 0),
                .done(ticket + 2, last: last + 6, head: 1, blocks: 1),
            ])
    }

    @Test func aHistoryWithoutRoomTakesWhatFitsAndRefusesTheRest() throws {
        var harness = try WorkerHarness()
        harness.history.room = 1
        for seq in UInt64(1)...3 { harness.submit(.history(WorkerHarness.draft(seq))) }
        #expect(
            harness.turns() == [
                .full(2, withBlock: false), .full(3, withBlock: false), .done(3, last: 0, head: 1, blocks: 0),
            ])
        #expect(harness.log.log.ledger.head == HistoryHead(n: 1, hash: "h1"))
    }

    @Test func aCommitTellsWhatItTook() throws {
        var harness = try WorkerHarness()
        harness.submitBlock(2)
        harness.submitBlock(3)
        var completions: [JournalCompletion] = []
        harness.worker.turn(&harness.queue, into: &completions)
        harness.submit(.resume)
        harness.worker.turn(&harness.queue, into: &completions)
        let commits = completions.map { completion -> CommitFacts? in
            guard case .done(let done) = completion else { return nil }
            return done.commit
        }
        let first = try #require(commits.first.flatMap { $0 })
        #expect(first.nanoseconds == 7 && first.eventCount == 5 && first.byteCount >= 120)
        #expect(commits == [first, nil])
    }

    @Test func aFailureIsFinal() throws {
        var harness = try WorkerHarness()
        harness.submitBlock(1)
        harness.submit(.purge)
        harness.log.storage.faults = [harness.log.storage.calls.count + 1: .error]
        let told = harness.turns()
        guard case .failed(.syncFailed(let error))? = told.first, told.count == 1 else {
            Issue.record("\(told)")
            return
        }
        harness.submit(.resume)
        #expect(harness.turns() == [.failed(.syncFailed(error))])
    }

    @Test func otherJobsRunInTheirPlace() throws {
        var harness = try WorkerHarness()
        let ran = Locked(0)
        harness.submitBlock(2)
        harness.submit(.perform { () throws(JournalError) in ran.withLock { $0 += 1 } })
        harness.submit(.perform { () throws(JournalError) in throw .full })
        harness.submit(.erase(through: JournalSeq(2), arrivedBeforeMs: 2_000))
        harness.submit(.purge)
        harness.submitBlock(1)
        #expect(
            harness.turns() == [
                .done(1, last: 2, head: nil, blocks: 1), .done(2, last: 2, head: nil, blocks: 0),
                .full(3, withBlock: false), .done(3, last: 2, head: nil, blocks: 0),
                .erased(more: false), .done(4, last: 2, head: nil, blocks: 0),
                .done(5, last: 2, head: nil, blocks: 0), .done(6, last: 3, head: nil, blocks: 1),
            ])
        #expect(ran.withLock { $0 } == 1)
        #expect(!harness.log.storage.holds(Array(SampleEvents.line(1).utf8)))
    }

    @Test func theThreadTellsInOrder() throws {
        var harness = try WorkerHarness(segmentBytes: 64 << 10)
        let told = Locked<[UInt64]>([])
        let thread = try JournalThread(worker: harness.worker) { completion in
            if case .done(let done) = completion { told.withLock { $0.append(done.ticket) } }
        }
        for number in UInt64(1)...200 {
            guard case .block(let stamp, let block) = harness.log.block(3) else { continue }
            harness.log.ledger.apply(.block(stamp))
            thread.submit(.block(stamp, block), ticket: number)
        }
        thread.stop()
        let tickets = told.withLock { $0 }
        #expect(tickets.last == 200 && tickets == tickets.sorted())
        #expect(harness.log.log.ledger.lastSeq == JournalSeq(600))
    }

    @Test func aThreadWhoseDiskHangsIsLeftToItself() throws {
        let harness = try WorkerHarness()
        let isHanging = Locked(true)
        let goOn = Condition()
        let thread = try JournalThread(worker: harness.worker) { _ in }
        thread.submit(
            .perform { () throws(JournalError) in
                isHanging.withLock(waitingOn: goOn) { $0 ? nil : () }
            }, ticket: 1)
        #expect(!thread.stop(timeoutMs: 1))
        isHanging.withLock { $0 = false }
        goOn.broadcast()
        #expect(thread.stop(timeoutMs: 60_000))
    }
}
