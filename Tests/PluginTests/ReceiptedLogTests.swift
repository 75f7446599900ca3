import HoldgateClient
import Testing

@testable import file_collector

private let launch = LaunchID(high: 1, low: 2)

private func line(_ seq: UInt64) -> [UInt8] {
    Array("{\"seq\":\(seq),\"x\":\"\(String(repeating: "y", count: Int(seq % 40)))\"}".utf8)
}

/// Events `first` to `last`, cut into frames of some lines; transition 2 let them out.
private func delivery(_ seqs: [ClosedRange<UInt64>], linesPerFrame: Int = 3, endsFrames: Bool = true)
    -> Delivery
{
    let all = seqs.flatMap { Array($0) }
    var frames: [EventsFrame] = []
    for start in stride(from: 0, to: all.count, by: linesPerFrame) {
        var bytes: [UInt8] = []
        for seq in all[start..<min(start + linesPerFrame, all.count)] { bytes += line(seq) + [10] }
        if !endsFrames { bytes.removeLast() }
        frames.append(EventsFrame(copying: bytes))
    }
    let ranges = seqs.map { SeqRange(first: JournalSeq($0.lowerBound), count: UInt64($0.count)) }
    let under = ranges.map { DeliverHeader.Under(range: $0, transition: TransitionSeq(2)) }
    return Delivery(header: DeliverHeader(launch: launch, ranges: ranges, under: under), frames: frames)
}

/// All events in the files, in order, and checks that the receipts cover them exactly and name them rightly.
private func events(in directory: FaultyDirectory) throws -> [UInt64] {
    let parser = JSONParser()
    var found: [UInt64] = []
    for name in try directory.names() where name.hasSuffix(".ndjson") {
        let bytes = directory.content(name)
        var end = 0
        let receipts = directory.content(String(name.dropLast(6)) + "receipts")
        for text in receipts.split(separator: 10) {
            let receipt = try #require(Array(text).withUnsafeBytes { Receipt(line: $0, with: parser) })
            #expect(receipt.offset == UInt64(end))
            try #require(
                end + Int(receipt.bytes) <= bytes.count, "\(name) has receipts for more than it holds")
            let block = Array(bytes[end..<(end + Int(receipt.bytes))])
            let seqs = receipt.ranges.flatMap { range in (0..<range.count).map { range.first.raw + $0 } }
            #expect(block == seqs.flatMap { line($0) + [10] })
            let covered = receipt.under.flatMap { each in
                (0..<each.range.count).map { each.range.first.raw + $0 }
            }
            #expect(covered.sorted() == seqs.sorted())
            found += seqs
            end += Int(receipt.bytes)
        }
        #expect(end == bytes.count, "\(name) has bytes without a receipt")
    }
    return found
}

@Suite struct ReceiptedLogTests {
    @Test func deliveriesAreAppendedWithAReceiptEach() throws {
        let directory = FaultyDirectory()
        let log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        try log.take([delivery([1...2]), delivery([3...3, 7...8])], wallMs: 0)
        let first = line(1).count + line(2).count + 2
        let second = line(3).count + line(7).count + line(8).count + 3
        let receipts = """
            {"offset":0,"bytes":\(first),"group":0,"ranges":[[1,2]],"launch":"\(launch)","under":[[1,2,2]],\
            "time":"1970-01-01T00:00:00.000Z"}
            {"offset":\(first),"bytes":\(second),"group":0,"ranges":[[3,1],[7,2]],"launch":"\(launch)",\
            "under":[[3,1,2],[7,2,2]],"time":"1970-01-01T00:00:00.000Z"}

            """
        #expect(String(decoding: directory.content("events-00000001.receipts"), as: UTF8.self) == receipts)
        #expect(try events(in: directory) == [1, 2, 3, 7, 8])
    }

    @Test func linesWithoutALastFeedGetOne() throws {
        let directory = FaultyDirectory()
        let log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        try log.take([delivery([1...7], linesPerFrame: 2, endsFrames: false)], wallMs: 0)
        #expect(try events(in: directory) == Array(1...7))
    }

    @Test func largeFramesAreWrittenAsTheyAre() throws {
        let directory = FaultyDirectory()
        let log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        try log.take([delivery([1...5000], linesPerFrame: 1000), delivery([5001...5002])], wallMs: 0)
        #expect(try events(in: directory) == Array(1...5002))
    }

    @Test func whatCameBeforeIsLeftOutLineByLine() throws {
        let directory = FaultyDirectory()
        var log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        try log.take([delivery([1...5]), delivery([9...10])], wallMs: 0)
        log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        try log.take([delivery([2...4]), delivery([4...7, 9...12])], wallMs: 0)
        #expect(try events(in: directory) == [1, 2, 3, 4, 5, 9, 10, 6, 7, 11, 12])
    }

    @Test func theSameDeliveryTwiceInAGroupIsWrittenOnce() throws {
        let directory = FaultyDirectory()
        let log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        try log.take([delivery([1...5]), delivery([1...6])], wallMs: 0)
        #expect(try events(in: directory) == Array(1...6))
    }

    @Test func filesRotateAndOlderReceiptsAreStillKnown() throws {
        let directory = FaultyDirectory()
        var log = try ReceiptedLog(directory, rotateBytes: 40)
        for seq: UInt64 in 1...9 { try log.take([delivery([seq...seq])], wallMs: 0) }
        #expect(try directory.names().filter { $0.hasSuffix(".ndjson") }.count > 3)
        log = try ReceiptedLog(directory, rotateBytes: 40)
        try log.take([delivery([1...10])], wallMs: 0)
        #expect(try events(in: directory) == Array(1...10))
    }

    @Test func aReceiptWithoutItsEventsIsDamage() throws {
        let directory = FaultyDirectory()
        let log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        try log.take([delivery([1...5])], wallMs: 0)
        try directory.open("events-00000001.ndjson").truncate(to: 3)
        #expect(throws: ReceiptedLog.Damage.self) { try ReceiptedLog(directory, rotateBytes: 1 << 20) }
    }

    @Test func aChangedReceiptBeforeASyncedOneIsDamage() throws {
        let directory = FaultyDirectory()
        let log = try ReceiptedLog(directory, rotateBytes: 1 << 20)
        for seq: UInt64 in 1...3 { try log.take([delivery([seq...seq])], wallMs: 0) }
        let receipts = try directory.open("events-00000001.receipts")
        var bytes = try receipts.read(10_000, at: 0)
        bytes[1] = 0
        try receipts.truncate(to: 0)
        try bytes.withUnsafeBytes { try receipts.append([$0]) }
        #expect(throws: ReceiptedLog.Damage.self) { try ReceiptedLog(directory, rotateBytes: 1 << 20) }
    }

    /// The process dies at every call in turn, and the disk loses any part of what was not synced.
    @Test(arguments: 0..<200) func aCrashAtAnyPointLosesAndRepeatsNothing(seed: Int) throws {
        var random = Seeded(state: UInt64(seed))
        for crashAt in 0..<12 {
            let directory = FaultyDirectory()
            var world = World(directory, rotateBytes: UInt64(100 + random.below(500)))
            try world.run(crashAt: crashAt, &random)
            #expect(try events(in: directory) == Array(1...world.total), "seed \(seed), call \(crashAt)")
        }
    }
}

/// A host that redelivers from its cursor, and a collector that dies now and then.
private struct World {
    let directory: FaultyDirectory
    let rotateBytes: UInt64
    let total: UInt64 = 40
    /// The last seq that the host knows to be taken.
    var cursor: UInt64 = 0

    init(_ directory: FaultyDirectory, rotateBytes: UInt64) {
        self.directory = directory
        self.rotateBytes = rotateBytes
    }

    mutating func run(crashAt: Int, _ random: inout Seeded) throws {
        var crashes = 0
        while cursor < total {
            // The first life is whole, then each dies at another call, and at last one lives.
            directory.callsLeft = crashes < 4 ? crashAt + random.below(6) : nil
            do {
                try live(&random)
            } catch is Crash {
                crashes += 1
                directory.loseUnsynced(&random)
                // The host had not written the last acks down.
                if random.chance(30) { cursor -= min(cursor, UInt64(random.below(20))) }
            }
        }
        directory.callsLeft = nil
        _ = try ReceiptedLog(directory, rotateBytes: rotateBytes)
    }

    private mutating func live(_ random: inout Seeded) throws {
        let log = try ReceiptedLog(directory, rotateBytes: rotateBytes)
        while cursor < total {
            var next = cursor + 1
            var group: [Delivery] = []
            for _ in 0...random.below(3) where next <= total {
                let last = min(total, next + UInt64(random.below(6)))
                group.append(delivery([next...last], linesPerFrame: 1 + random.below(4)))
                next = last + 1
            }
            try log.take(group, wallMs: 0)
            cursor = next - 1
        }
    }
}
