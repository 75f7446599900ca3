import Journal
import Ledger
import Lifecycle
import Simulator
import Testing

@Suite struct RecoveryTests {
    /// A log whose next segment file has been used before, and is full of old commits and blanks.
    private func usedLog(pageBytes: Int = 64) throws -> LogHarness {
        var harness = try LogHarness(segmentBytes: 2048, pageBytes: pageBytes)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        while harness.log.segments.last?.number ?? 0 < 4 {
            try harness.commitBlock(3, lineBytes: 40)
            try harness.commit([.entry(.done(collector: "c", through: harness.ledger.lastSeq))])
            while try harness.log.erase(through: harness.ledger.lastSeq, arrivedBeforeMs: 0) {}
        }
        return harness
    }

    @Test func everySubsetOfTheLastCommitsPagesIsBeforeOrAfter() throws {
        var harness = try usedLog()
        let before = harness.log.ledger
        let base = harness.lines
        let record = harness.block(4, lineBytes: 60, batch: batch(5))
        let sync = harness.storage.calls.count + 1
        harness.storage.faults = [sync: .powerLoss]
        #expect(throws: JournalError.self) { try harness.log.commit([record]) }
        harness.note([record])
        let disk = harness.storage.disk
        let pages = disk.dirtyPages
        #expect((5...12).contains(pages.count))
        var afters = 0
        for subset in 0..<1 << pages.count {
            let storage = FaultyStorage(disk: disk)
            storage.crash { name, page in
                guard let index = pages.firstIndex(where: { $0.name == name && $0.page == page }) else {
                    return false
                }
                return subset >> index & 1 == 1
            }
            let calls = storage.calls.count
            let seen = inspected(storage)
            #expect(storage.calls.count == calls)
            var again = harness
            again = try LogHarness(segmentBytes: 2048, storage: storage, seed: 9)
            #expect(seen == again.log.ledger)
            let isAfter = again.log.ledger == harness.ledger
            #expect(isAfter || again.log.ledger == before, "subset \(subset)")
            afters += isAfter ? 1 : 0
            let first = again.log.segments[0].firstSeq.raw
            let expected = (isAfter ? harness.lines : base).filter { $0.key >= first }
            #expect(try readAll(again.log, from: first) == expected)
            try again.commitBlock(2)
            let ledger = again.log.ledger
            try again.reopen(seed: 10)
            #expect(again.log.ledger == ledger)
        }
        // All pages; and those subsets that miss only pages which held the same before.
        #expect(afters >= 1 && afters < 1 << pages.count)
    }

    @Test func tornPagesAreBeforeOrAfter() throws {
        for cut in 0..<64 {
            var harness = try usedLog()
            let before = harness.log.ledger
            let record = harness.block(4, lineBytes: 60)
            harness.storage.faults = [harness.storage.calls.count + 1: .powerLoss]
            #expect(throws: JournalError.self) { try harness.log.commit([record]) }
            harness.note([record])
            harness.storage.crash(
                page: { _, page in page % 3 == cut % 3 ? .torn(cut) : .kept }, change: { _ in true })
            try harness.reopen()
            #expect(harness.log.ledger == harness.ledger || harness.log.ledger == before)
        }
    }

    /// What opening and reading everything says.
    private enum Outcome: Equatable {
        case sound(Ledger, [UInt64: String])
        case damaged
    }

    /// And looking at it alone says the same, and writes nothing.
    private func outcome(_ storage: FaultyStorage) -> Outcome {
        let calls = storage.calls.count
        let seen = inspected(storage)
        #expect(storage.calls.count == calls)
        let found = opened(storage)
        switch found {
        case .sound(let ledger, _): #expect(seen == ledger)
        case .damaged: #expect(seen == nil)
        }
        return found
    }

    /// Nil: damaged.
    private func inspected(_ storage: FaultyStorage) -> Ledger? {
        do throws(JournalError) {
            let journal = try Inspection.journal(storage)
            try journal?.verifyEvents()
            return journal?.ledger
        } catch {
            guard case .damaged = error else {
                Issue.record("\(error)")
                return nil
            }
            return nil
        }
    }

    private func opened(_ storage: FaultyStorage) -> Outcome {
        do {
            let harness = try LogHarness(segmentBytes: 2048, storage: storage, seed: 5)
            let from = harness.log.segments[0].firstSeq.raw
            return .sound(harness.log.ledger, try readAll(harness.log, from: from))
        } catch JournalError.damaged, LogReadError.failed(.damaged) {
            return .damaged
        } catch {
            Issue.record("\(error)")
            return .damaged
        }
    }

    @Test func aFlipInAnyEarlierCommitIsDamageAndInSlackNothing() throws {
        var harness = try LogHarness(segmentBytes: 2048, pageBytes: 64)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        while harness.log.segments.count < 3 { try harness.commitBlock(3, lineBytes: 40) }
        try harness.commitBlock(2)
        let before = Outcome.sound(harness.log.ledger, harness.lines)
        var ends: [String: Int] = [:]
        for (name, end) in zip(harness.liveNames, harness.log.segmentEnds) { ends[name] = end }
        let newest = try #require(harness.liveNames.last)
        let last = harness.log.newestEnd
        try harness.commitBlock(2)
        ends[newest] = last
        let whole = Outcome.sound(harness.log.ledger, harness.lines)
        let lastEnd = harness.log.newestEnd
        let padding = 8
        let disk = harness.storage.disk
        for name in disk.cachedNames.keys.sorted() {
            for byte in 0..<2048 {
                let storage = FaultyStorage(disk: disk)
                storage.flip(name, byte: byte, mask: 1 << UInt8(byte % 8))
                let found = outcome(storage)
                let end = ends[name] ?? 0
                if byte < end {
                    // The bytes that fill a commit up to a multiple of 8 mean nothing.
                    #expect(
                        found == .damaged || found == whole && isPadding(disk, name, byte), "\(name) \(byte)")
                } else if name == newest && byte < lastEnd {
                    #expect(found == before || found == whole && byte >= lastEnd - padding, "\(name) \(byte)")
                } else {
                    #expect(found == whole, "\(name) \(byte)")
                }
            }
        }
    }

    private func isPadding(_ disk: DiskState, _ name: String, _ byte: Int) -> Bool {
        guard let id = disk.cachedNames[name], let bytes = disk.contents[id]?.cached else { return false }
        let next = (byte / 8 + 1) * 8
        return bytes[byte..<next].allSatisfy { $0 == 0 }
    }

    @Test func aMissingSegmentIsDamage() throws {
        var harness = try LogHarness(segmentBytes: 2048)
        try harness.commit([.entry(.known(collector: "c", cursor: .zero))])
        while harness.log.segments.count < 3 { try harness.commitBlock(3, lineBytes: 40) }
        try harness.storage.remove(harness.liveNames[1])
        #expect(outcome(harness.storage) == .damaged)
    }

    @Test func lostZeroesForTheNewestHeaderAreDamage() throws {
        var harness = try LogHarness(segmentBytes: 2048, pageBytes: 64)
        try harness.commitBlock(2)
        let name = try #require(harness.liveNames.last)
        for byte in 0..<64 {
            harness.storage.flip(name, byte: byte, mask: harness.storage.bytes(of: name)[byte])
        }
        #expect(outcome(harness.storage) == .damaged)
    }

    @Test func aNewerFormatIsNamed() throws {
        let harness = try LogHarness()
        let name = try #require(harness.liveNames.last)
        // The version, and the checksum that goes with it.
        harness.storage.flip(name, byte: 8, mask: 3)
        var header = Array(harness.storage.bytes(of: name)[0..<60])
        let crc = header.withUnsafeMutableBytes { crc32c(UnsafeRawBufferPointer($0)) }
        for index in 0..<4 {
            let old = harness.storage.bytes(of: name)[60 + index]
            harness.storage.flip(
                name, byte: 60 + index, mask: old ^ UInt8(truncatingIfNeeded: crc >> (8 * UInt32(index))))
        }
        #expect(throws: JournalError.unknownVersion(file: name, version: 2)) {
            try LogHarness(storage: harness.storage)
        }
    }
}

/// CRC-32C, bit by bit.
func crc32c(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var crc = UInt32.max
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
    }
    return ~crc
}
