import Foundation
import Ledger
import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct StatisticsTests {
    private static let document = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/protocol.md")

    /// The cells of the table after the marker; heading and rule left out.
    private static func table(_ marker: String) throws -> [[String]] {
        let lines = try String(contentsOf: document, encoding: .utf8).components(separatedBy: "\n")
        let start = try #require(lines.firstIndex(of: "<!-- \(marker) -->"))
        return lines[(start + 1)...].prefix { $0.hasPrefix("|") }.dropFirst(2).map {
            $0.dropFirst().dropLast().components(separatedBy: "|")
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func theTableInTheProtocolHasEveryMemberInOrder() throws {
        var desk = Desk()
        let names = desk.stats.map(\.name)
        let rows = try Self.table("stats-table")
        #expect(rows.map { $0[0] } == names.map { "`\($0)`" })
        #expect(Set(rows.map { $0[2] }) == ["counter", "gauge"])
        #expect(Set(names).count == names.count)
        for (name, row) in zip(names, rows) {
            #expect(name.hasSuffix("Ms") == (row[1] == "ms"), "\(name)")
            #expect(name.lowercased().hasSuffix("bytes") == (row[1] == "bytes") || name == "bytesAccepted")
        }
    }

    @Test func everyCounterIsInTheReply() {
        var desk = Desk()
        let shown = Set(desk.stats.map(\.name))
        let counters = Mirror(reflecting: Statistics()).children.compactMap(\.label)
        #expect(counters.filter { !shown.contains($0) } == ["histograms"])
    }

    @Test func theTableOfHistogramsHasTheBoundsOfTheCode() throws {
        let rows = try Self.table("histograms-table").map { [$0[0], $0[2]] }
        let named = Histograms().named
        #expect(
            rows
                == named.map {
                    ["`\($0.name)`", $0.histogram.bounds.map(String.init).joined(separator: ", ")]
                }
        )
    }

    @Test func aHistogramCountsAtTheFirstBoundThatIsNoSmaller() {
        var histogram = Histogram(bounds: [1, 10, 100])
        for value: UInt64 in [0, 1, 2, 10, 11, 100, 101, 5000] { histogram.observe(value) }
        #expect(histogram.counts == [2, 2, 2, 2])
        #expect(histogram.sum == 5225)
        #expect(histogram.json.text == #"{"bounds":[1,10,100],"counts":[2,2,2,2],"sum":5225}"#)
    }

    @Test func discardsAreCountedByReasonAndInSum() {
        var desk = Desk(collectors: ["c"]) { $0.gatedMaxAgeMs = 5000 }
        desk.hello("c")
        desk.hold()
        _ = desk.emit(2)
        desk.pass(6000)
        desk.disk()
        desk.hold(.discard)
        _ = desk.emit(3)
        desk.start()
        _ = desk.emit(4)
        #expect(desk.stat("queuedEvents") == 4)
        _ = desk.ask(.kill)
        #expect(desk.stat("eventsDiscardedAged") == 2)
        #expect(desk.stat("eventsDiscardedPolicy") == 3)
        #expect(desk.stat("eventsDiscardedKilled") == 4)
        #expect(desk.stat("eventsDiscarded") == 9)
        #expect(desk.stat("queuedEvents") == 0 && desk.stat("queueAgeMs") == 0)
    }

    @Test func transitionsAreCountedByTarget() {
        var desk = Desk()
        desk.hold()
        desk.start()
        desk.hold()
        _ = desk.ask(.kill)
        #expect(desk.stat("transitionsOperating") == 1)
        #expect(desk.stat("transitionsHoldRequested") == 2)
        #expect(desk.stat("transitionsOnHold") == 2)
        #expect(desk.stat("transitionsKilled") == 1)
        #expect(desk.stat("transitions") == 6)
    }

    @Test func theStateTellsHowLongItLastsAndItsLeaseHowLongItStillDoes() {
        var desk = Desk(.initializeWithHoldingOperations)
        desk.pass(10)
        desk.start(leaseMs: 500)
        desk.pass(200)
        #expect(desk.stat("stateSinceMs") == 200)
        #expect(desk.stat("leaseRemainingMs") == 300)
        desk.pass(300)
        desk.disk()
        #expect(desk.stat("leaseRemainingMs") == 0)
        #expect(desk.stat("stateSinceMs") == 0)
    }

    @Test func aDrainIsShownWhileItLastsAndMeasuredWhenItHasEnded() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        _ = desk.emit(3)
        desk.handOver()
        desk.hold()
        #expect(desk.stat("drainTotal") == 3 && desk.stat("drainRemaining") == 3)
        desk.ack(1)
        #expect(desk.stat("drainTotal") == 3 && desk.stat("drainRemaining") == 2)
        desk.pass(30)
        desk.ack(3)
        desk.disk()
        #expect(desk.engine.status.state == .onHold)
        #expect(desk.stat("drainTotal") == 0 && desk.stat("drainRemaining") == 0)
        let drains = desk.engine.statistics.histograms.drainMs
        #expect(drains.sum == 30 && drains.counts.reduce(0, +) == 1)
    }

    @Test func aDrainThatAStartEndsIsNotMeasured() {
        var desk = Desk(collectors: ["c"])
        _ = desk.emit(3)
        desk.hold()
        desk.pass(10)
        desk.start()
        #expect(desk.engine.statistics.histograms.drainMs == Histograms().drainMs)
        #expect(desk.stat("drainTotal") == 0)
    }

    @Test func theQueuesAgeIsThatOfTheOldestEventThatSomebodyNeeds() {
        var desk = Desk(collectors: ["c"])
        desk.hello("c")
        #expect(desk.stat("queueAgeMs") == 0)
        _ = desk.emit(2)
        desk.handOver()
        desk.pass(700)
        _ = desk.emit(1)
        desk.pass(50)
        #expect(desk.stat("queueAgeMs") == 750)
        desk.ack(2)
        #expect(desk.stat("queueAgeMs") == 50)
        desk.handOver()
        desk.ack(3)
        #expect(desk.stat("queueAgeMs") == 0)
        desk.hold()
        desk.disk()
        _ = desk.emit(1)
        desk.pass(20)
        #expect(desk.stat("gatedEvents") == 1 && desk.stat("queueAgeMs") == 20)
    }

    @Test func eventsThatAreNotTakenAreCountedWithTheirBlocks() {
        var desk = Desk(collectors: ["c"]) { $0.queueLimitBytes = 1024 }
        _ = desk.emit(5, bytes: 2000)
        _ = desk.emit(1, batch: 1)
        _ = desk.emit(7, batch: 3)
        desk.hold(.refuse)
        _ = desk.emit(2)
        #expect(desk.stat("blocksRefused") == 3)
        #expect(desk.stat("eventsRefused") == 14)
        #expect(desk.stat("eventsAccepted") == 1)
    }

    @Test func aBlockThatFoundTheDiskFullIsRefusedAndNotAccepted() {
        var desk = Desk(collectors: ["c"])
        _ = desk.sendBlock(4)
        desk.diskUntilBlock()
        desk.diskFull()
        desk.disk()
        #expect(desk.stat("eventsAccepted") == 0 && desk.stat("bytesAccepted") == 0)
        #expect(desk.stat("eventsRefused") == 4 && desk.stat("blocksRefused") == 1)
        #expect(desk.stat("storageFull") == 1)
        _ = desk.emit(1)
        #expect(desk.stat("eventsAccepted") == 1)
    }

    @Test func callbackRequestsEndAnsweredOrFailed() {
        var desk = Desk()
        _ = desk.call("nobody")
        desk.serve("s")
        _ = desk.call()
        _ = desk.call()
        _ = desk.call()
        desk.answer(1)
        desk.receive(.result(id: 2, .failure(WireError(.internalError, "no"))))
        #expect(desk.stat("requestsInFlight") == 1)
        desk.hold()
        desk.disk()
        _ = desk.call()
        #expect(desk.stat("callbackRequests") == 5)
        #expect(desk.stat("callbackRequestsAnswered") == 1)
        #expect(desk.stat("callbackRequestsFailed") == 4)
        #expect(desk.stat("requestsInFlight") == 0)
    }

    @Test func whatTheReactorTellsIsShown() {
        var desk = Desk()
        desk.engine.note(HostGauges(connections: 3, deadLetters: 2))
        desk.engine.noteCut(4)
        desk.engine.noteSyncFailure()
        desk.engine.noteCommit(CommitCost(durationUs: 70, byteCount: 300, eventCount: 2))
        desk.engine.noteCommit(CommitCost(durationUs: 80, byteCount: 100, eventCount: 0))
        #expect(desk.stat("connections") == 3 && desk.stat("deadLetters") == 2)
        #expect(desk.stat("connectionsCut") == 4 && desk.stat("syncFailures") == 1)
        #expect(desk.stat("commits") == 2 && desk.stat("commitBytes") == 400)
        let histograms = desk.engine.statistics.histograms
        #expect(histograms.commitUs.sum == 150 && histograms.commitUs.counts[1] == 2)
        #expect(histograms.commitBytes.sum == 400)
        #expect(histograms.commitEvents.counts[0...2] == [1, 0, 1])
    }

    @Test func pluginsAreCountedByWhatBecameOfThem() {
        var desk = Desk()
        func plugin(_ name: String, _ process: SupervisedPlugin.Process, _ restarts: UInt64)
            -> SupervisedPlugin
        {
            SupervisedPlugin(
                name: name, version: "1", process: process, pid: nil, restarts: restarts, may: [])
        }
        desk.engine.supervise([plugin("a", .running, 2), plugin("b", .crashLooping, 5)])
        desk.serve("s")
        for _ in 1...4 {
            desk.pass(1000)
            desk.disk()
        }
        #expect(desk.stat("pluginRestarts") == 7 && desk.stat("pluginsCrashLooping") == 1)
        #expect(desk.stat("plugins") == 1 && desk.stat("pluginsSilent") == 1)
    }

    @Test func aCollectorThatIsEvictedIsCounted() {
        var desk = Desk(collectors: ["c"]) { $0.collectorMaxLagBytes = 150 }
        for _ in 1...2 { _ = desk.emit() }
        desk.pass(1000)
        desk.disk()
        #expect(desk.stat("collectorsEvicted") == 1 && desk.stat("durableCollectors") == 0)
    }
}

extension Desk {
    /// The members of `stats`, as they are now.
    var stats: [JSONValue.Member] {
        mutating get { ask(.stats)?["stats"]?.asMembers ?? [] }
    }

    mutating func stat(_ name: String) -> UInt64? {
        stats.first { $0.name == name }?.value.asUInt64
    }
}
