import Ledger
import Lifecycle
import Testing
import Wire

@testable import Journal

@Suite struct DeadLettersTests {
    static let fileName = DeadLetters.fileName
    static let nobody = ProducerTable(limit: 10)

    static func letter(_ seq: UInt64, _ collector: String = "c") -> DeadLetter {
        DeadLetter(
            seq: JournalSeq(seq), collector: collector, reason: "it is \"bad\"", wallMs: 1_767_323_045_678,
            event: #"{"id":"\#(seq)","n":1.50}"#)
    }

    static func open(
        _ storage: MemoryStorage, _ producers: ProducerTable = nobody, limit: Int = 100
    ) throws -> DeadLetters {
        try DeadLetters.open(storage: storage, producers: producers, limit: limit) { "r1" }
    }

    static func all(_ letters: DeadLetters) throws -> [DeadLetter] {
        try letters.list(after: .zero, limit: .max, maxBytes: .max)
    }

    @Test func aLetterIsWrittenAsDocumentedAndReadBack() throws {
        let storage = MemoryStorage()
        try Self.open(storage).append([Self.letter(7)])
        #expect(
            storage.text(Self.fileName)
                == #"{"format":"holdgate-dead-letters","version":1,"run":"r1"}"# + "\n" + #"{"settled":0}"#
                + "\n"
                + #"{"seq":7,"collector":"c","reason":"it is \"bad\"","time":"2026-01-02T03:04:05.678Z","#
                + #""event":{"id":"7","n":1.50}}"# + "\n")
        #expect(try Self.all(Self.open(storage)) == [Self.letter(7)])
        #expect(storage.afterCrash(keepingUnsynced: false).text(Self.fileName) == storage.text(Self.fileName))
    }

    @Test func withoutLettersThereIsNoFile() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage)
        #expect(letters.count == 0)
        #expect(try Self.all(letters) == [])
        #expect(try letters.beginRequeue([JournalSeq(1)]) == nil)
        #expect(storage.files.isEmpty)
    }

    @Test func theSameLetterTwiceIsOne() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage)
        try letters.append([Self.letter(1), Self.letter(1), Self.letter(1, "d")])
        let before = storage.bytes(Self.fileName)
        try letters.append([Self.letter(1)])
        #expect(storage.bytes(Self.fileName) == before)
        // A file in which a crash left it twice.
        let lines = storage.text(Self.fileName).split(separator: "\n")
        let twice = MemoryStorage([
            Self.fileName: Array((lines + [lines[2], ""]).joined(separator: "\n").utf8)
        ])
        #expect(try Self.all(Self.open(twice)) == [Self.letter(1), Self.letter(1, "d")])
    }

    @Test func theOldestGoesWhenThereAreTooMany() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage, limit: 3)
        for seq in 1...5 { try letters.append([Self.letter(UInt64(seq))]) }
        let expected = [3, 4, 5].map { Self.letter($0) }
        #expect(try Self.all(letters) == expected)
        #expect(try Self.all(Self.open(storage, limit: 3)) == expected)
    }

    @Test func aListPagesBySeqAndNeverSplitsOne() throws {
        let letters = try Self.open(MemoryStorage())
        let written = [Self.letter(5, "b"), Self.letter(2), Self.letter(5, "a"), Self.letter(9)]
        try letters.append(written)
        let sorted = [written[1], written[2], written[0], written[3]]
        #expect(try letters.list(after: .zero, limit: 2) == Array(sorted[..<3]))
        #expect(try letters.list(after: JournalSeq(2), limit: 1) == Array(sorted[1..<3]))
        #expect(try letters.list(after: JournalSeq(5), limit: 9) == [sorted[3]])
        #expect(try letters.list(after: JournalSeq(9), limit: 9) == [])
        #expect(try letters.list(after: .zero, limit: 9, maxBytes: 1) == [sorted[0]])
    }

    @Test func aLongFileIsRewrittenWithWhatIsLeft() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage, limit: 10)
        let count = UInt64(DeadLetters.compactionFloor) + 5
        for seq in 1...count { try letters.append([Self.letter(seq)]) }
        #expect(storage.text(Self.fileName).split(separator: "\n").count < 30)
        let expected = (count - 9...count).map { Self.letter($0) }
        #expect(try Self.all(letters) == expected)
        #expect(try Self.all(Self.open(storage, limit: 10)) == expected)
        #expect(Array(storage.files.keys) == [Self.fileName])
    }

    @Test func purgingLeavesNothingAndStartsANewRun() throws {
        let storage = MemoryStorage()
        var runs = ["r2", "r1"]
        let letters = try DeadLetters.open(storage: storage, producers: Self.nobody) { runs.removeLast() }
        try letters.append([Self.letter(1)])
        try letters.purge()
        #expect(storage.files.isEmpty && storage.afterCrash(keepingUnsynced: false).files.isEmpty)
        #expect(try Self.all(letters) == [])
        try letters.append([Self.letter(2)])
        #expect(
            try letters.beginRequeue([JournalSeq(2)])?.batch
                == ProducerBatch(producer: DeadLetters.producer, run: "r2", batch: 1))
    }

    @Test func aTornEndIsCutOffAndOtherDamageIsReported() throws {
        let storage = MemoryStorage()
        try Self.open(storage).append([1, 2, 3].map { Self.letter($0) })
        let bytes = storage.bytes(Self.fileName)
        let feeds = bytes.indices.filter { bytes[$0] == 10 }
        for count in (feeds[1] + 1)..<bytes.count {
            let torn = MemoryStorage([Self.fileName: Array(bytes[..<count])])
            let whole = feeds.filter { $0 < count }.count - 2
            let letters = try Self.open(torn)
            #expect(try Self.all(letters) == (0..<whole).map { Self.letter(UInt64($0) + 1) })
            try letters.append([Self.letter(9)])
            #expect(try Self.open(torn).count == whole + 1)
        }
        var holed = bytes
        for place in (feeds[2] + 20)..<(feeds[2] + 40) { holed[place] = 0 }
        #expect(try Self.all(Self.open(MemoryStorage([Self.fileName: holed]))) == [Self.letter(1)])
        var flipped = bytes
        flipped[feeds[2] + 1] = 88
        do {
            _ = try Self.open(MemoryStorage([Self.fileName: flipped]))
            Issue.record("a broken line was taken")
        } catch JournalError.damaged(let file, let what) {
            #expect(file == Self.fileName && what.hasPrefix("line 4: it is no JSON"))
        }
    }

    @Test func aFullDiskLeavesTheLettersAsTheyWere() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage)
        try letters.append([Self.letter(1)])
        let before = storage.bytes(Self.fileName)
        storage.room = before.count + 10
        #expect(throws: JournalError.full) { try letters.append([Self.letter(2)]) }
        #expect(throws: JournalError.full) { _ = try letters.beginRequeue([JournalSeq(1)]) }
        #expect(storage.bytes(Self.fileName) == before)
        storage.room = nil
        try letters.append([Self.letter(2)])
        #expect(try Self.all(Self.open(storage)) == [Self.letter(1), Self.letter(2)])
    }

    // MARK: Requeueing

    @Test func aRequeueGivesTheEventsOnceAndSettlingDropsThem() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage)
        try letters.append([Self.letter(5, "a"), Self.letter(2), Self.letter(5, "b"), Self.letter(9)])
        let requeue = try #require(
            try letters.beginRequeue([JournalSeq(5), JournalSeq(2), JournalSeq(77), JournalSeq(5)]))
        #expect(requeue.batch == ProducerBatch(producer: DeadLetters.producer, run: "r1", batch: 1))
        #expect(requeue.lines == [Self.letter(2).event, Self.letter(5).event])
        try letters.settle(requeue.batch)
        #expect(try Self.all(letters) == [Self.letter(9)])
        // The settled line is enough: the journal's table may have forgotten the producer.
        #expect(try Self.all(Self.open(storage)) == [Self.letter(9)])
        #expect(try letters.beginRequeue([JournalSeq(9)])?.batch.batch == 2)
    }

    @Test func aRequeueTakesNoMoreThanABlockMayHaveAndAlwaysOne() throws {
        let letters = try Self.open(MemoryStorage())
        try letters.append((1...4).map { Self.letter($0) })
        let seqs = (1...4).map { JournalSeq($0) }
        let lineBytes = Self.letter(1).event.utf8.count + 1
        var taken: [Int] = []
        for maxBytes in [2 * lineBytes, lineBytes - 1, lineBytes] {
            let begun = try #require(try letters.beginRequeue(seqs, maxBytes: maxBytes))
            taken.append(begun.lines.count)
            try letters.settle(begun.batch)
        }
        #expect(taken == [2, 1, 1])
        #expect(letters.count == 0)
    }

    @Test func anAbandonedBatchsNumberIsUsedAgain() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage)
        try letters.append([Self.letter(1), Self.letter(2)])
        let first = try #require(try letters.beginRequeue([JournalSeq(1)]))
        letters.abandon(first.batch)
        let second = try #require(try letters.beginRequeue([JournalSeq(2)]))
        #expect(second.batch == first.batch)
        // Taken under this number: the second intent's letters, never the first's.
        var producers = Self.nobody
        producers.take(second.batch)
        #expect(try Self.all(Self.open(storage, producers)) == [Self.letter(1)])
        #expect(try Self.all(Self.open(storage)) == [Self.letter(1)])
    }

    @Test func aSettlementThatFoundNoRoomIsWrittenLater() throws {
        let storage = MemoryStorage()
        let letters = try Self.open(storage)
        try letters.append([Self.letter(1), Self.letter(2), Self.letter(3)])
        let first = try #require(try letters.beginRequeue([JournalSeq(1)]))
        storage.room = storage.bytes(Self.fileName).count
        try letters.settle(first.batch)
        storage.room = nil
        let second = try #require(try letters.beginRequeue([JournalSeq(2)]))
        #expect(second.batch.batch == 2)
        var producers = Self.nobody
        producers.take(first.batch)
        #expect(try Self.all(Self.open(storage, producers)) == [2, 3].map { Self.letter($0) })
    }

    /// A host that requeues 1 and 2, crashes at every call of every file, before and after the journal's
    /// commit, and requeues again when it is back: each event is committed once.
    @Test func aCrashAnywhereAroundARequeueLosesAndRepeatsNothing() throws {
        let prepared = MemoryStorage()
        try Self.open(prepared).append([1, 2, 3].map { Self.letter($0) })
        let files = prepared.files.mapValues(\.live)
        var reached = 0
        for crashAt in 1...40 {
            for commits in [false, true] {
                for keepingUnsynced in [false, true] {
                    let storage = MemoryStorage(files)
                    storage.crashAt = crashAt
                    var journal = FakeJournal()
                    Self.requeueAll(storage, &journal, commits: commits)
                    if !storage.hasCrashed && commits { reached = max(reached, storage.calls) }

                    var next = storage.afterCrash(keepingUnsynced: keepingUnsynced)
                    // A second crash during what follows.
                    next.crashAt = crashAt % 7
                    Self.requeueAll(next, &journal, commits: true)
                    next = next.afterCrash(keepingUnsynced: !keepingUnsynced)
                    Self.requeueAll(next, &journal, commits: true)

                    let expected = [1, 2].map { Self.letter($0).event }
                    #expect(
                        journal.lines.sorted() == expected, "call \(crashAt), \(commits), \(keepingUnsynced)")
                    let last = try Self.open(next, journal.producers)
                    #expect(try Self.all(last) == [Self.letter(3)])
                }
            }
        }
        #expect(reached > 3 && reached < 40)
    }

    /// A journal whose commits always reach the disk.
    struct FakeJournal {
        var producers = DeadLettersTests.nobody
        var lines: [String] = []
    }

    static func requeueAll(_ storage: MemoryStorage, _ journal: inout FakeJournal, commits: Bool) {
        do {
            let letters = try open(storage, journal.producers)
            guard let requeue = try letters.beginRequeue([JournalSeq(1), JournalSeq(2)]), commits else {
                return
            }
            #expect(journal.producers.verdict(on: requeue.batch) == .next)
            journal.producers.take(requeue.batch)
            journal.lines += requeue.lines
            try letters.settle(requeue.batch)
        } catch {
            #expect(storage.hasCrashed, "\(error)")
        }
    }
}
