import Engine
import HoldgateHost
import Journal
import Lifecycle
import Simulator
import Testing
import Wire

@testable import Simulation

@Suite struct RestartTests {
    private static func line(_ id: Int) -> String {
        "{\"specversion\":\"1.0\",\"id\":\"\(id)\",\"source\":\"s\",\"type\":\"t\"}"
    }

    private static func now(_ ms: Int64) -> Now { Now(monotonicMs: ms, wallMs: ms + 1_000_000) }

    private static func host(
        _ storage: FaultyStorage, _ ms: Int64, _ configuration: EngineConfiguration
    ) throws -> SimulatedHost {
        var journal = Log.Configuration()
        journal.segmentBytes = 8192
        var random = SplitMix64(seed: UInt64(ms) + 1)
        return try SimulatedHost(
            storage: storage, journal: journal, engine: configuration, options: LaunchOptions(),
            historyRotateBytes: 1 << 20, now: now(ms), random: { random.next() })
    }

    private static func work(_ host: SimulatedHost, _ ms: Int64) {
        while host.hasJobs || host.hasNotes {
            host.disk()
            host.takeNotes(now(ms))
        }
    }

    private static func emit(_ host: SimulatedHost, _ id: Int, _ ms: Int64) {
        _ = host.ingest(IngestHeader(), [line(id)], Requester(UInt64(id)), now(ms))
        work(host, ms)
    }

    @Test func aRestartMakesNoGatedEventOlderThanItIs() throws {
        let storage = FaultyStorage()
        var configuration = EngineConfiguration()
        configuration.gatedMaxAgeMs = 5000
        var host = try Self.host(storage, 0, configuration)
        Self.emit(host, 1, 0)
        Self.emit(host, 2, 4000)
        storage.restart()
        host = try Self.host(storage, 6000, configuration)
        host.tick(Self.now(7000))
        Self.work(host, 7000)
        host.control(ControlRequest(.startOperation(leaseMs: nil)), Requester(9), Self.now(7000))
        Self.work(host, 7000)
        host.outputs = []
        host.handOver(Self.now(7000), limit: 9)
        let streamed = host.outputs.compactMap {
            if case .streamed(let seq, _, _) = $0 { seq.raw } else { nil }
        }
        #expect(streamed == [2])
    }

    @Test func aDiscardOutlivesTheJournalsNoteOfIt() throws {
        let storage = FaultyStorage()
        let configuration = EngineConfiguration()
        var host = try Self.host(storage, 0, configuration)
        Self.emit(host, 1, 0)
        let hold = ControlRequest(.holdOperation(waitMs: nil, gatedEvents: .discard))
        host.control(hold, Requester(9), Self.now(1))
        // Its record is on disk; what it dropped is not noted in the journal.
        host.disk()
        storage.restart()
        host = try Self.host(storage, 2, configuration)
        host.control(ControlRequest(.startOperation(leaseMs: nil)), Requester(10), Self.now(3))
        Self.work(host, 3)
        host.outputs = []
        host.handOver(Self.now(3), limit: 9)
        #expect(host.outputs.isEmpty)
    }

    @Test func whatWasGatedComesOutAsGatedAfterARestart() throws {
        let storage = FaultyStorage()
        let configuration = EngineConfiguration()
        var host = try Self.host(storage, 0, configuration)
        Self.emit(host, 1, 10)
        storage.restart()
        host = try Self.host(storage, 20, configuration)
        host.control(ControlRequest(.startOperation(leaseMs: nil)), Requester(9), Self.now(50))
        Self.work(host, 50)
        Self.emit(host, 2, 60)
        host.handOver(Self.now(70), limit: 9)
        let held = host.outputs.compactMap { output -> [Int64?]? in
            if case .streamed(let seq, _, let heldMs) = output { [Int64(seq.raw), heldMs] } else { nil }
        }
        #expect(held.sorted { ($0[0] ?? 0) < ($1[0] ?? 0) } == [[1, 40], [2, nil]])
    }
}
