import Ledger
import Lifecycle
import Testing
import Wire

@testable import Journal

@Suite struct HistoryChainTests {
    typealias World = HistoryWorld

    @Test func aLineIsWrittenExactlyAsTheProtocolSays() throws {
        let lines = World.lines(try World.fiveRecords())
        let zeros = String(repeating: "0", count: 64)
        let headerBody = #"{"format":"holdgate-history","version":1,"file":1,"n":0,"prev":"\#(zeros)""#
        let headerHash = World.sha256(headerBody.utf8)
        let firstBody =
            #"{"n":1,"time":"2026-01-02T03:04:06.678Z","launch":"0123456789abcdef0000000000000001","#
            + #""gate":[],"seq":1,"state":"onHold","previous":null,"#
            + #""command":"initializeWithHoldingOperations","through":0,"#
            + #""source":null,"reason":null,"prev":"\#(headerHash)""#
        #expect(lines.count == 6)
        #expect(lines[0] == headerBody + #","hash":"\#(headerHash)"}"#)
        #expect(lines[1] == firstBody + #","hash":"\#(World.sha256(firstBody.utf8))"}"#)
        // The hash of the header's bytes, once computed with sha256sum.
        #expect(headerHash == "ef08c08ec4a9a318e0f3ca1b0957bb347165acb0fe0e23205f42cafa4af2dd6d")
    }

    @Test func everyLineHoldsTheHashOfItsBytesAndOfTheLineBefore() throws {
        let lines = World.lines(try World.fiveRecords())
        var before = String(repeating: "0", count: 64)
        for line in lines {
            let body = line.dropLast(75)
            #expect(body.hasSuffix(#","prev":"\#(before)""#))
            before = World.sha256(body.utf8)
            #expect(line.hasSuffix(#","hash":"\#(before)"}"#))
        }
    }

    @Test func recordsReadBackAsTheyWereWritten() throws {
        let (records, error) = World.read(try World.fiveRecords())
        #expect(error == nil)
        #expect(records.map(\.draft) == World.five)
        #expect(records.map(\.n) == [1, 2, 3, 4, 5])
    }

    @Test func oneAppendOfSeveralRecordsGivesTheSameBytesAsOneEach() throws {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage)
        let head = try history.append(World.five)
        #expect(storage.text(World.first) == (try World.fiveRecords()).text(World.first))
        #expect(head == history.head)
        #expect(World.read(storage).records.last?.head == head)
    }

    @Test func aFlippedBitAnywhereIsDamage() throws {
        let bytes = try World.fiveRecords().bytes(World.first)
        let all = World.read(try World.fiveRecords()).records
        for place in bytes.indices {
            for bit in [UInt8(1), 4, 32, 128] {
                var flipped = bytes
                flipped[place] ^= bit
                let (records, error) = World.read(MemoryStorage([World.first: flipped]))
                if place == bytes.count - 1 {
                    // The last line feed: the line is not terminated, and dropped.
                    #expect(error == nil && records == Array(all.dropLast()), "byte \(place) bit \(bit)")
                } else if case .damaged(World.first, _) = error {
                } else {
                    Issue.record("byte \(place) bit \(bit): \(String(describing: error))")
                }
            }
        }
    }

    @Test func aDroppedAnsweredRecordIsMissedByTheJournalsHead() throws {
        let whole = try World.fiveRecords()
        let head = try #require(World.read(whole).records.last?.head)
        var bytes = whole.bytes(World.first)
        bytes[bytes.count - 1] = 88
        let history = try History.open(storage: MemoryStorage([World.first: bytes]))
        #expect(throws: JournalError.self) { try history.verify(journalHead: head) }
    }

    @Test func everyTruncationLeavesAPrefixOfWholeRecords() throws {
        let bytes = try World.fiveRecords().bytes(World.first)
        let all = World.read(try World.fiveRecords()).records
        // Already there, which is quicker than made anew each time.
        let reserve = [UInt8](repeating: 0, count: HistoryReserve.byteCount)
        for count in bytes.indices {
            let cut = Array(bytes[..<count])
            let feeds = cut.filter { $0 == 10 }.count
            // A line that lacks nothing but its line feed is whole.
            let whole = bytes[count] == 10 ? feeds + 1 : feeds
            let storage = MemoryStorage([World.first: cut, HistoryReserve.name: reserve])
            let (records, error) = World.read(storage)
            #expect(error == nil)
            #expect(records == Array(all.prefix(max(0, whole - 1))), "\(count) bytes")
            // The file is mended: it goes on as if nothing had happened.
            let history = try History.open(storage: storage)
            _ = try history.append([World.five[0]])
            #expect(World.read(storage).records.count == records.count + 1)
            #expect(World.read(storage).error == nil)
        }
    }

    @Test func aRecordTakenOutPutInOrSwappedIsDamageWithItsLine() throws {
        let lines = World.lines(try World.fiveRecords())
        var without = lines
        without.remove(at: 3)
        var twice = lines
        twice.insert(lines[3], at: 3)
        var swapped = lines
        swapped.swapAt(2, 3)
        #expect(
            World.read(World.storage(without)).error
                == .damaged(file: World.first, what: "line 4: `n` is 4, and 3 was to follow"))
        #expect(
            World.read(World.storage(twice)).error
                == .damaged(file: World.first, what: "line 5: `n` is 3, and 4 was to follow"))
        #expect(
            World.read(World.storage(swapped)).error
                == .damaged(file: World.first, what: "line 3: `n` is 3, and 2 was to follow"))
    }

    @Test func anEditedLineWithARightHashIsFoundByTheNext() throws {
        var lines = World.lines(try World.fiveRecords())
        lines[3] = World.forged(lines[3], #""through":7"#, #""through":8"#)
        #expect(
            World.read(World.storage(lines)).error
                == .damaged(file: World.first, what: "line 5: `prev` is not the hash of the line before"))
    }

    @Test func anEditedLastLineIsFoundByTheJournalsHead() throws {
        let whole = try World.fiveRecords()
        let head = try #require(World.read(whole).records.last?.head)
        var lines = World.lines(whole)
        lines[5] = World.forged(lines[5], #""discarded":2"#, #""discarded":0"#)
        let history = try History.open(storage: World.storage(lines))
        #expect(
            throws: JournalError.damaged(
                file: World.first, what: "record 5 is not the one that the journal noted")
        ) { try history.verify(journalHead: head) }
    }

    @Test func theJournalsHeadTellsWhatIsMissing() throws {
        let whole = try World.fiveRecords()
        let heads = World.read(whole).records.map(\.head)
        let history = try History.open(storage: whole)
        for head in heads { try history.verify(journalHead: head) }
        try history.verify(journalHead: nil)

        let shorter = try History.open(storage: World.storage(World.lines(whole).dropLast()))
        try shorter.verify(journalHead: heads[3])
        #expect(
            throws: JournalError.damaged(
                file: World.first,
                what: "it ends at record 4, and the journal knows of 5: records are missing")
        ) { try shorter.verify(journalHead: heads[4]) }

        let empty = try History.open(storage: MemoryStorage())
        #expect(
            throws: JournalError.damaged(
                file: World.first, what: "it has no records, and the journal knows of 1")
        ) { try empty.verify(journalHead: heads[0]) }
    }

    @Test func aTornMiddleOfAnUnansweredWriteIsCutOff() throws {
        let whole = try World.fiveRecords()
        let heads = World.read(whole).records.map(\.head)
        var bytes = whole.bytes(World.first)
        let feeds = bytes.indices.filter { bytes[$0] == 10 }
        // A page within record 4 never reached the disk; record 5 and its line feed did.
        for place in (feeds[3] + 100)..<(feeds[3] + 150) { bytes[place] = 0 }
        let known = World.read(MemoryStorage([World.first: bytes]), answered: 3)
        #expect(known.error == nil)
        #expect(known.records.map(\.head) == Array(heads[..<3]))
        let unknown = World.read(MemoryStorage([World.first: bytes]), answered: 4)
        #expect(
            unknown.error == .damaged(file: World.first, what: "line 5: its hash is not that of its bytes"))
    }

    @Test func aNewerFormatIsRefused() throws {
        var lines = World.lines(try World.fiveRecords())
        lines[0] = World.forged(lines[0], #""version":1"#, #""version":2"#)
        #expect(World.read(World.storage(lines)).error == .unknownVersion(file: World.first, version: 2))
    }

    @Test func aRecordThatTheVisitorRefusesIsDamage() throws {
        let storage = try World.fiveRecords()
        #expect(throws: JournalError.damaged(file: World.first, what: "line 2: no")) {
            _ = try History.open(storage: storage) { _ throws(FormatFault) in throw FormatFault("no") }
        }
    }
}
