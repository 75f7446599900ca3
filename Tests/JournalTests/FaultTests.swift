import Journal
import Ledger
import Lifecycle
import Simulator
import Testing

/// A story with every kind of call in it: a beginning, rotations, recycling, a purge, and a new beginning.
private enum Step: CaseIterable {
    case known, fill, done, more, purge, fresh

    func run(_ harness: inout LogHarness) throws {
        switch self {
        case .known:
            try harness.commit([
                .entry(.known(collector: "c", cursor: .zero)), harness.block(2, batch: batch(1)),
            ])
        case .fill:
            for number in UInt64(2)..<12 {
                try harness.commit([harness.block(4, lineBytes: 50, batch: batch(number))])
            }
        case .done:
            try harness.commit([.entry(.done(collector: "c", through: harness.ledger.lastSeq))])
        case .more:
            for _ in 0..<12 {
                try harness.commit([
                    harness.block(4, lineBytes: 50),
                    .entry(.head(HistoryHead(n: harness.ledger.lastSeq.raw, hash: "h"))),
                ])
                try harness.commit([.entry(.done(collector: "c", through: harness.ledger.lastSeq))])
                _ = try harness.log.erase(through: harness.ledger.lastSeq, arrivedBeforeMs: 2_000)
                try harness.log.prepare()
            }
        case .purge:
            try harness.log.purge()
            harness.notePurge()
        case .fresh:
            for _ in 0..<6 { try harness.commitBlock(3, lineBytes: 50) }
        }
    }
}

extension LogHarness {
    mutating func notePurge() {
        var emptied = Ledger(producerLimit: ledger.producers.limit)
        (emptied.lastSeq, emptied.keptBytes, emptied.head) = (ledger.lastSeq, ledger.keptBytes, ledger.head)
        ledger = emptied
        lines = [:]
    }
}

@Suite struct FaultTests {
    private func callsOfTheStory() throws -> Int {
        var harness = try LogHarness(segmentBytes: 2048)
        for step in Step.allCases { try step.run(&harness) }
        #expect(harness.log.ledger == harness.ledger)
        return harness.storage.calls.count
    }

    /// The story with a power loss at one call: at most the commit that was under way is there or not there.
    private func crash(at call: Int, lot: UInt64) throws {
        var random = SplitMix64(seed: UInt64(call) << 8 | lot)
        let storage = FaultyStorage(pageBytes: 64)
        storage.faults = [call: .powerLoss]
        var harness: LogHarness?
        var interrupted: Step?
        do {
            harness = try LogHarness(segmentBytes: 2048, storage: storage)
            for step in Step.allCases {
                guard var told = harness else { break }
                defer { harness = told }
                interrupted = step
                try step.run(&told)
                interrupted = nil
            }
        } catch let error as JournalError {
            #expect(error != .full)
        }
        switch lot {
        case 0: storage.crash { _, _ in false }
        case 1: storage.crash { _, _ in true }
        default: storage.crash(using: &random)
        }
        let again = try LogHarness(segmentBytes: 2048, storage: storage, seed: 77 + lot)
        let what = Comment("call \(call), lot \(lot)")
        guard var told = harness else {
            #expect(again.log.ledger == Ledger(producerLimit: 8), what)
            return
        }
        let answered = told.ledger
        told.log = again.log
        let found = again.log.ledger
        if interrupted == .purge {
            told.notePurge()
            #expect(found == answered || found == told.ledger, what)
            try told.log.purge()
            #expect(told.log.ledger == told.ledger, what)
            #expect(!storage.holds(Array("xxxxxxxxx".utf8)), what)
        } else {
            #expect(found.lastSeq >= answered.lastSeq && found.keptBytes >= answered.keptBytes, what)
            #expect(found.lastSeq.raw <= answered.lastSeq.raw + 4, what)
            if found != answered { #expect(interrupted != nil, what) }
            let done = found.doneThrough.raw
            let read = try readAll(again.log, from: done + 1)
            for (seq, line) in told.lines where seq > done { #expect(read[seq] == line, what) }
        }
        // It goes on from there, and stays sound.
        told.ledger = told.log.ledger
        try Step.fresh.run(&told)
        try told.reopen(seed: 5)
        #expect(told.log.ledger == told.ledger, what)
    }

    @Test func aCrashAtAnyCallKeepsThePromises() throws {
        for call in 0..<(try callsOfTheStory()) {
            for lot in UInt64(0)..<5 { try crash(at: call, lot: lot) }
        }
    }

    @Test func noRoomAtAnyWriteLeavesTheLogAsItWas() throws {
        let setup = try LogHarness(segmentBytes: 2048).storage.calls.count
        for call in setup..<(try callsOfTheStory()) {
            var harness = try LogHarness(segmentBytes: 2048)
            harness.storage.faults = [call: .full]
            var refused = 0
            for step in Step.allCases {
                do {
                    try step.run(&harness)
                } catch JournalError.full {
                    refused += 1
                    if step == .purge {
                        try harness.log.purge()
                        harness.notePurge()
                    }
                    #expect(harness.log.ledger == harness.ledger, "call \(call)")
                } catch JournalError.syncFailed, JournalError.storage {
                    // A sync that fails is final, whatever it says.
                    refused = -1
                    break
                }
            }
            if refused < 0 { continue }
            #expect(harness.log.ledger == harness.ledger, "call \(call)")
            try harness.reopen()
            #expect(harness.log.ledger == harness.ledger, "call \(call)")
            try harness.commitBlock(1)
        }
    }

    @Test func aFailedSyncIsFinal() throws {
        let setup = try LogHarness(segmentBytes: 2048).storage.calls.count
        for call in setup..<(try callsOfTheStory()) {
            var harness = try LogHarness(segmentBytes: 2048)
            harness.storage.faults = [call: .error]
            var thrown: JournalError?
            do {
                for step in Step.allCases { try step.run(&harness) }
            } catch let error as JournalError {
                thrown = error
            }
            let error = try #require(thrown)
            switch harness.storage.calls[call] {
            case .sync, .syncDirectory:
                guard case .syncFailed = error else {
                    Issue.record("call \(call): \(error)")
                    continue
                }
            case .create, .write, .truncate, .rename, .remove: break
            }
            let calls = harness.storage.calls.count
            let block = harness.block(1)
            #expect(throws: error) { try harness.log.commit([block]) }
            #expect(throws: error) { try harness.log.purge() }
            #expect(throws: error) { try harness.log.erase(through: .zero, arrivedBeforeMs: 0) }
            #expect(throws: error) { try harness.log.prepare() }
            #expect(harness.storage.calls.count == calls)
        }
    }

    @Test func aFullDiskLeavesRoomForAHoldAndAKill() throws {
        var harness = try LogHarness(segmentBytes: 4096)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        harness.storage.capacityBytes = harness.storage.disk.usedBytes
        while try harness.fits([harness.block(4, lineBytes: 60)]) {}
        #expect(harness.log.ledger == harness.ledger)
        var heads: UInt64 = 0
        let hash = String(repeating: "a", count: 64)
        while try harness.fits([.entry(.head(HistoryHead(n: heads + 1, hash: hash)))]) { heads += 1 }
        #expect(heads >= 2)
        try harness.reopen()
        #expect(harness.log.ledger == harness.ledger)
        try harness.log.purge()
        harness.notePurge()
        #expect(harness.log.ledger == harness.ledger)
        #expect(!harness.storage.holds(Array("xxxxxxxxx".utf8)))
        try harness.commitBlock(3)
    }

    @Test func aFullDiskIsLeftByRecyclingAlone() throws {
        var harness = try LogHarness(segmentBytes: 2048)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        harness.storage.capacityBytes = harness.storage.disk.usedBytes
        var refused = false
        for _ in 0..<100 {
            if try !harness.fits([harness.block(3, lineBytes: 40)]) {
                refused = true
                try harness.commit([.entry(.done(collector: "c", through: harness.ledger.lastSeq))])
            }
        }
        #expect(refused)
        try harness.commitBlock(2)
        #expect(harness.storage.disk.usedBytes == 2 * 2048)
    }
}
