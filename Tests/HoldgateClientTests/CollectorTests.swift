import Platform
import Testing
import Wire

@testable import HoldgateClient

private let welcome = HostMessage.welcome(
    status: status(.operating), run: "r", cursor: JournalSeq(4), heartbeatMs: 1000)

@Suite struct PluginCoreTests {
    private func heard(_ core: inout PluginCore, _ message: HostMessage, _ now: Int64) -> [PluginCore
        .Effect]
    {
        var effects: [PluginCore.Effect] = []
        core.heard(message, now: now, into: &effects)
        return effects
    }

    private func tick(_ core: inout PluginCore, _ now: Int64) -> [PluginCore.Effect] {
        var effects: [PluginCore.Effect] = []
        core.tick(now: now, into: &effects)
        return effects
    }

    private func opened(_ now: Int64) -> PluginCore {
        var core = PluginCore(now: now)
        var effects: [PluginCore.Effect] = []
        core.opened(now: now, into: &effects)
        #expect(effects == [.sendHello])
        return core
    }

    @Test func threeSilentHeartbeatsMakeItConnectAnew() {
        var core = opened(0)
        #expect(heard(&core, welcome, 10) == [.attached(cursor: JournalSeq(4), status: status(.operating))])
        #expect(tick(&core, 999) == [])
        #expect(tick(&core, 1000) == [.sendHeartbeat])
        #expect(heard(&core, .heartbeat, 1500) == [])
        #expect(tick(&core, 2100) == [.sendHeartbeat])
        #expect(tick(&core, 4499) == [.sendHeartbeat])
        #expect(tick(&core, 4500) == [.reconnect])
    }

    @Test func anUnansweredHelloIsMadeOnAFreshSocket() {
        var core = opened(0)
        #expect(core.deadline == 3000)
        #expect(tick(&core, 2999) == [])
        #expect(tick(&core, 3000) == [.reconnect])
    }

    @Test func deliveriesCountOnlyOnceWelcomed() {
        let header = DeliverHeader(
            launch: testLaunch, ranges: [SeqRange(first: JournalSeq(5), count: 1)], under: [])
        var core = opened(0)
        #expect(heard(&core, .deliver(header), 1) == [])
        _ = heard(&core, welcome, 2)
        #expect(heard(&core, .deliver(header), 3) == [.deliver(header)])
        #expect(heard(&core, .helloWanted, 4) == [.sendHello])
        #expect(heard(&core, .helloWanted, 5) == [])
        #expect(heard(&core, .deliver(header), 6) == [])
    }

    @Test func supersededEndsIt() {
        var core = opened(0)
        let error = WireError(.superseded, "newer")
        #expect(heard(&core, .refused(error), 1) == [.ended(error)])
        #expect(core.deadline == nil)
        #expect(heard(&core, welcome, 2) == [])
        #expect(tick(&core, 100_000) == [])
    }

    @Test func goodbyeMakesItWaitForTheNextHost() {
        var core = opened(0)
        _ = heard(&core, welcome, 1)
        #expect(heard(&core, .goodbye, 2) == [.reconnect])
        var effects: [PluginCore.Effect] = []
        core.opened(now: 3, into: &effects)
        #expect(effects == [.sendHello])
    }
}

@Suite struct AcknowledgementTests {
    private let header = DeliverHeader(
        launch: testLaunch, ranges: [SeqRange(first: JournalSeq(5), count: 3)], under: [])

    private func attached() -> PluginCore {
        var core = PluginCore(now: 0)
        var effects: [PluginCore.Effect] = []
        core.opened(now: 0, into: &effects)
        core.heard(welcome, now: 0, into: &effects)
        return core
    }

    private func acknowledge(
        _ core: inout PluginCore, _ seq: UInt64, of launch: LaunchID = testLaunch
    ) -> [PluginCore.Effect] {
        var effects: [PluginCore.Effect] = []
        core.acknowledged(through: JournalSeq(seq), of: launch, rejects: [], into: &effects)
        return effects
    }

    private func heard(_ core: inout PluginCore, _ message: HostMessage) {
        var effects: [PluginCore.Effect] = []
        core.heard(message, now: 1, into: &effects)
    }

    @Test func whatWasHandedOverIsAcknowledgedLater() {
        var core = attached()
        #expect(acknowledge(&core, 5) == [])
        heard(&core, .deliver(header))
        #expect(acknowledge(&core, 5) == [.sendAck(through: JournalSeq(5), rejects: [])])
        #expect(acknowledge(&core, 7) == [.sendAck(through: JournalSeq(7), rejects: [])])
        #expect(acknowledge(&core, 8) == [])
        #expect(acknowledge(&core, 7, of: LaunchID(high: 9, low: 9)) == [])
    }

    @Test func whatAnEarlierAttachmentWasHandedIsNot() {
        var core = attached()
        heard(&core, .deliver(header))
        heard(&core, .helloWanted)
        #expect(acknowledge(&core, 7) == [])
        heard(&core, welcome)
        #expect(acknowledge(&core, 7) == [])
        heard(&core, .deliver(header))
        #expect(acknowledge(&core, 7) == [.sendAck(through: JournalSeq(7), rejects: [])])
    }

    @Test func aConnectionThatBreaksIsMadeAnewAtOnceButNotWhileGreeting() {
        var core = attached()
        var effects: [PluginCore.Effect] = []
        core.disconnected(now: 10, into: &effects)
        #expect(effects == [.reconnect])
        core.disconnected(now: 20, into: &effects)
        #expect(effects == [.reconnect])
        #expect(core.deadline == 3010)
    }
}

/// A host's `plugin`: welcomes, delivers what is after the cursor, notes acks.
private final class FakePluginEndpoint: Sendable {
    struct State {
        var hellos: [JSONValue] = []
        var acks: [JSONValue] = []
        var cursor: UInt64 = 0
        var supersedesAt: UInt64 = .max
    }
    let state = Locked(State())
    let total: UInt64

    init(total: UInt64) { self.total = total }

    func answer(_ frames: [[UInt8]]) -> [[[UInt8]]] {
        let message = value(frames[0])
        return state.withLock { state in
            if message["type"] == .string("hello") {
                state.hellos.append(message)
                let cursor = JournalSeq(state.cursor)
                let hello = HostMessage.welcome(
                    status: status(.operating), run: "r", cursor: cursor, heartbeatMs: 1000)
                return [[bytes { hello.write(into: &$0) }]] + deliveries(after: state.cursor)
            }
            if message["type"] == .string("ack") {
                state.acks.append(message)
                state.cursor = max(state.cursor, message["through"]?.asUInt64 ?? 0)
                if state.cursor >= state.supersedesAt {
                    let end = HostMessage.refused(WireError(.superseded, "newer"))
                    return [[bytes { end.write(into: &$0) }]]
                }
            }
            return []
        }
    }

    private func deliveries(after cursor: UInt64) -> [[[UInt8]]] {
        stride(from: cursor + 1, through: total, by: 2).map { first in
            let count = min(2, total - first + 1)
            let header = DeliverHeader(
                launch: testLaunch, ranges: [SeqRange(first: JournalSeq(first), count: count)], under: [])
            let lines = (first..<first + count).map { "{\"n\":\($0)}\n" }
            return [bytes { HostMessage.deliver(header).write(into: &$0) }] + lines.map { Array($0.utf8) }
        }
    }
}

@Suite struct CollectorTests {
    private func collector(_ endpoint: String) throws -> Collector {
        var options = Collector.Options(name: "c")
        options.endpoint = endpoint
        options.version = "7"
        options.collect = CollectRequest(types: ["a.*"], windowBytes: 1000, durable: true)
        return try Collector(options)
    }

    @Test func everyEventIsHandedOverWithItsSeqAndAcknowledged() throws {
        let plugin = FakePluginEndpoint(total: 9)
        plugin.state.withLock { $0.supersedesAt = 9 }
        let host = try FakeRouter { plugin.answer($0) }
        var seen: [String] = []
        let ending = try collector(host.endpoint).run { deliveries in
            for delivery in deliveries {
                delivery.forEachEvent { seq, line in
                    seen.append("\(seq) \(String(decoding: line, as: UTF8.self))")
                }
            }
            return deliveries.contains { $0.last == JournalSeq(9) }
                ? [Reject(seq: JournalSeq(9), reason: "no")] : []
        }
        #expect(ending == .superseded)
        #expect(seen == (1...9).map { "\($0) {\"n\":\($0)}" })
        let state = plugin.state.withLock { $0 }
        let hello =
            #"{"type":"hello","v":1,"name":"c","version":"7","collect":"#
            + #"{"types":["a.*"],"windowBytes":1000,"durable":true}}"#
        #expect(state.hellos.map(\.text) == [hello])
        #expect(state.acks.last?.text == #"{"type":"ack","through":9,"rejects":[[9,"no"]]}"#)
    }

    @Test func heartbeatsGoOnUntilItIsAcknowledgedFromElsewhere() throws {
        let plugin = FakePluginEndpoint(total: 4)
        plugin.state.withLock { $0.supersedesAt = 4 }
        let beats = Locked(0)
        let taken = Locked<[JournalSeq]>([])
        let core = Locked<Plugin?>(nil)
        let host = try FakeRouter { frames in
            if value(frames[0])["type"] == .string("heartbeat"),
                beats.withLock({
                    $0 += 1; return $0
                }) == 2
            {
                // From the host's thread: not before a second heartbeat has come.
                let seqs = taken.withLock { $0 }
                for seq in seqs { core.withLock { $0 }?.acknowledge(through: seq, of: testLaunch) }
            }
            return plugin.answer(frames)
        }
        var configuration = Plugin.Configuration(name: "c", collect: CollectRequest())
        configuration.endpoint = host.endpoint
        let waiting = try Plugin(configuration)
        core.withLock { $0 = waiting }
        let ending = try waiting.runDeferred { deliveries in
            for delivery in deliveries { taken.withLock { $0.append(delivery.last) } }
        }
        #expect(ending == .superseded)
        #expect(plugin.state.withLock { $0.acks.map(\.text) }.last == #"{"type":"ack","through":4}"#)
        #expect(beats.withLock { $0 } >= 2)
    }

    @Test func aHandlerThatThrowsAcknowledgesNothing() throws {
        struct Full: Error {}
        let plugin = FakePluginEndpoint(total: 2)
        let host = try FakeRouter { plugin.answer($0) }
        #expect(throws: Full.self) { try collector(host.endpoint).run { _ in throw Full() } }
        #expect(plugin.state.withLock { $0.acks } == [])
    }

    @Test func itComesBackToARestartedHost() throws {
        let plugin = FakePluginEndpoint(total: 4)
        let first = try FakeRouter { frames in
            let replies = plugin.answer(frames)
            let isAck = value(frames[0])["type"] == .string("ack")
            return isAck ? [[bytes { HostMessage.goodbye.write(into: &$0) }]] : Array(replies.prefix(2))
        }
        let endpoint = first.endpoint
        let second = Locked<FakeRouter?>(nil)
        let collector = try collector(endpoint)
        var seqs: [JournalSeq] = []
        let ending = try collector.run(
            notice: { notice in
                guard notice == .detached, second.withLock({ $0 == nil }) else { return }
                first.close()
                plugin.state.withLock { $0.supersedesAt = 4 }
                let next = try? FakeRouter(endpoint) { plugin.answer($0) }
                second.withLock { $0 = next }
            },
            handler: { deliveries in
                seqs += deliveries.map(\.last)
                return []
            })
        #expect(ending == .superseded)
        #expect(seqs == [JournalSeq(2), JournalSeq(4)])
    }

    @Test func stopEndsIt() async throws {
        let plugin = FakePluginEndpoint(total: 2)
        let host = try FakeRouter { plugin.answer($0) }
        let collector = try collector(host.endpoint)
        let ending = try await collector.run { _ in
            collector.stop()
            return []
        }
        #expect(ending == .stopped)
    }
}
