import Glibc
import HoldgateClient
import Simulator
import Testing

@testable import geofence

private let launch = LaunchID(high: 1, low: 2)
private let home = Geofences(regions: [
    Region(id: "home", center: GeoPoint(latitude: 0, longitude: 0)!, radiusM: 1000),
    Region(id: "town", center: GeoPoint(latitude: 0, longitude: 0)!, radiusM: 20_000),
])

private func line(_ latitude: Double, subject: String = "a") -> String {
    #"{"type":"location.reading","subject":"\#(subject)","data":{"latitude":\#(latitude),"longitude":0}}"#
}

private func delivery(_ lines: [String], first: UInt64) -> Delivery {
    let range = SeqRange(first: JournalSeq(first), count: UInt64(lines.count))
    let header = DeliverHeader(
        launch: launch, ranges: [range], under: [.init(range: range, transition: TransitionSeq(1))])
    let text = lines.joined(separator: "\n")
    return Delivery(header: header, frames: [EventsFrame(copying: Array(text.utf8))])
}

private func ids(_ batches: [Memory.Batch]) throws -> [String] {
    try batches.flatMap(\.events).map { try JSONValue.parse($0)["id"]?.asString ?? "" }
}

@Suite struct KeeperTests {
    @Test func crossingsAreEventsOfTheirReading() throws {
        var keeper = Keeper(Memory(run: "r"))
        keeper.watch(home)
        let outcome = keeper.take([delivery([line(0), line(0.1), line(91), line(0.1)], first: 5)])
        #expect(
            outcome.rejects == [
                Reject(seq: JournalSeq(7), reason: "data.latitude is 91.0: not within -90 to 90")
            ])
        #expect(
            outcome.batches.flatMap(\.events) == [
                #"{"specversion":"1.0","id":"5-home","source":"/geofence","type":"geofence.enter","subject":"a","data":{"region":"home","latitude":0.0,"longitude":0.0,"distanceM":0.0}}"#,
                #"{"specversion":"1.0","id":"5-town","source":"/geofence","type":"geofence.enter","subject":"a","data":{"region":"town","latitude":0.0,"longitude":0.0,"distanceM":0.0}}"#,
                #"{"specversion":"1.0","id":"6-home","source":"/geofence","type":"geofence.exit","subject":"a","data":{"region":"home","latitude":0.1,"longitude":0.0,"distanceM":11119.508}}"#,
            ])
        #expect(keeper.memory.through == JournalSeq(8))
        #expect(keeper.memory.inside == ["a": ["town"]])
    }

    @Test func theMemoryReadsBackAsItWas() throws {
        var memory = Memory(run: "run")
        memory.launch = launch
        memory.through = JournalSeq(.max - 1)
        memory.inside = ["": ["a", "b\"\\"], "sübject": ["c"]]
        let reading = Reading(seq: JournalSeq(3), point: GeoPoint(latitude: 1, longitude: 2)!)
        memory.add((0..<2500).map { Crossing(kind: .enter, region: "\($0)", distanceM: 0, reading: reading) })
        #expect(memory.outbox.map(\.events.count) == [1000, 1000, 500])
        #expect(try Memory(text: Array(memory.text.utf8)) == memory)
        for bad in [
            "", "{}", #"{"format":"holdgate-geofence","version":2}"#, String(memory.text.dropLast(9)),
        ] {
            #expect(throws: MemoryError.self) { try Memory(text: Array(bad.utf8)) }
        }
    }

    /// What there was no room for is among the dead letters, even if the plugin crashes before its refusal is read.
    @Test func whatThereWasNoRoomForIsRefusedAgainAfterACrash() throws {
        var full = Memory(run: "r")
        for number in 0..<Monitor.subjectLimit { full.inside["s\(number)"] = ["home"] }
        var keeper = Keeper(full)
        keeper.watch(home)
        let readings = [line(0, subject: "late"), line(0.1, subject: "s1"), line(91)]
        let first = keeper.take([delivery(readings, first: 5)])
        #expect(first.rejects.map(\.seq.raw) == [5, 7])
        #expect(first.batches.count == 1 && keeper.memory.through == JournalSeq(7))
        var next = Keeper(try Memory(text: Array(keeper.memory.text.utf8)))
        #expect(next.memory == keeper.memory)
        next.watch(home)
        let again = next.take([delivery(readings, first: 5)])
        #expect(again.rejects == first.rejects && again.batches == [])
        next.forget()
        #expect(next.memory.refused == [])
    }

    @Test func afterAKillNothingIsKnownAndNoNumberComesTwice() {
        var keeper = Keeper(Memory(run: "r"))
        keeper.watch(home)
        keeper.adopt(launch)
        let before = keeper.take([delivery([line(0)], first: 1)]).batches.map(\.number)
        keeper.forget()
        #expect(keeper.memory.inside.isEmpty && keeper.memory.outbox.isEmpty && keeper.memory.launch == nil)
        keeper.watch(home)
        let after = keeper.take([delivery([line(0)], first: 2)]).batches.map(\.number)
        #expect(before == [1] && after == [2])
    }

    /// A plugin that crashes anywhere, its disk, and a host that redelivers and takes numbers once.
    private struct Crashing {
        var random: SplitMix64
        var disk: [UInt8]?
        var cursor = 0
        var taken: [String] = []
        var lastBatch: UInt64 = 0
        let lines: [String]

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            var lines: [String] = []
            for _ in 0..<120 {
                let subject = random.chance(50) ? "a" : "b"
                lines.append(line(Double.random(in: -0.4...0.4, using: &random), subject: subject))
            }
            self.lines = lines
        }

        mutating func send(_ batch: Memory.Batch) throws {
            guard batch.number > lastBatch else { return }
            #expect(batch.number == lastBatch + 1 || lastBatch == 0)
            lastBatch = batch.number
            taken += try ids([batch])
        }

        /// One life, until it crashes or all is done.
        mutating func live(crashPercent: Int) throws {
            var keeper = Keeper(try disk.map { text in try Memory(text: text) } ?? Memory(run: "r"))
            keeper.watch(home)
            var waiting = keeper.memory.outbox
            while cursor < lines.count || !waiting.isEmpty {
                while !waiting.isEmpty, random.chance(50) || cursor == lines.count {
                    try send(waiting[0])
                    if random.chance(crashPercent) { return }
                    keeper.settle([waiting.removeFirst().number])
                }
                let end = min(lines.count, cursor + Int.random(in: 1...9, using: &random))
                guard cursor < end else { continue }
                let outcome = keeper.take([delivery(Array(lines[cursor..<end]), first: UInt64(cursor + 1))])
                if random.chance(crashPercent) { return }
                if !outcome.batches.isEmpty { disk = Array(keeper.memory.text.utf8) }
                if random.chance(crashPercent) { return }
                waiting += outcome.batches
                cursor = end
                if random.chance(crashPercent) { return }
                // An acknowledgement that the host forgot in a crash of its own: it delivers again.
                if random.chance(crashPercent) {
                    cursor = max(0, cursor - 15)
                    return
                }
            }
        }
    }

    @Test(arguments: UInt64(0)...199) func eachCrossingIsToldOnceWhateverCrashes(seed: UInt64) throws {
        var calm = Crashing(seed: seed)
        try calm.live(crashPercent: 0)
        var stormy = Crashing(seed: seed)
        var lives = 0
        while stormy.cursor < stormy.lines.count || lives < 5 {
            try stormy.live(crashPercent: 8)
            lives += 1
        }
        try stormy.live(crashPercent: 0)
        #expect(stormy.taken == calm.taken)
        #expect(!calm.taken.isEmpty)
    }
}

@Suite struct StateFileTests {
    @Test func theFileIsReplacedWholeAndErasedWhole() throws {
        let directory = "/tmp/geofence-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        defer { rmdir(directory) }
        let file = try StateFile(in: directory)
        #expect(try file.read() == nil)
        try file.write("first, and longer")
        try file.write("second")
        #expect(try file.read() == Array("second".utf8))
        #expect(throws: FileError.self) { try StateFile(in: directory) }
        try file.erase()
        #expect(try file.read() == nil)
        try file.erase()
    }
}
