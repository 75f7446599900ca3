import Platform
import Testing
import Wire

@testable import HoldgateClient

private let welcome = HostMessage.welcome(
    status: status(.operating), run: "r", cursor: nil, heartbeatMs: 60_000)

/// A core that has been welcomed, and what it said since.
private final class Served {
    var core = PluginCore(now: 0)
    var effects: [PluginCore.Effect] = []

    init() {
        core.opened(now: 0, into: &effects)
        core.heard(welcome, now: 0, into: &effects)
        effects = []
    }

    /// What the message made it do.
    func heard(_ message: HostMessage, _ now: Int64) -> [PluginCore.Effect] {
        defer { effects = [] }
        core.heard(message, now: now, into: &effects)
        return effects
    }

    func ask(_ id: UInt64, _ now: Int64, timeoutMs: Int64 = 100) -> PluginCore.Ticket? {
        let message = HostMessage.request(
            id: id, service: "s", arguments: .object([]), timeoutMs: timeoutMs)
        guard case .serve(let ticket, _, _, _)? = heard(message, now).first else { return nil }
        return ticket
    }

    func answer(_ ticket: PluginCore.Ticket, _ text: String, _ now: Int64) -> [PluginCore.Effect] {
        defer { effects = [] }
        core.answered(ticket, .success(.string(text)), now: now, into: &effects)
        return effects
    }
}

@Suite struct PluginServiceTests {
    @Test func resultsMayOvertakeEachOther() throws {
        let plugin = Served()
        let first = try #require(plugin.ask(7, 10))
        let second = try #require(plugin.ask(8, 20))
        #expect(plugin.answer(second, "b", 30) == [.sendResult(id: 8, .success(.string("b")))])
        #expect(plugin.answer(first, "a", 40) == [.sendResult(id: 7, .success(.string("a")))])
        #expect(plugin.answer(first, "twice", 50) == [])
    }

    @Test func aResultAfterTheDeadlineIsNotSent() throws {
        let plugin = Served()
        let ticket = try #require(plugin.ask(7, 10, timeoutMs: 100))
        #expect(plugin.core.isWanted(ticket, now: 109))
        #expect(!plugin.core.isWanted(ticket, now: 110))
        #expect(plugin.answer(ticket, "late", 110) == [])
    }

    @Test func aResultForAnEarlierAttachmentIsNotSent() throws {
        let plugin = Served()
        let before = try #require(plugin.ask(1, 10))
        #expect(plugin.heard(.helloWanted, 20) == [.sendHello])
        _ = plugin.heard(welcome, 30)
        let after = try #require(plugin.ask(1, 40))
        #expect(plugin.answer(before, "old", 50) == [])
        #expect(plugin.answer(after, "new", 60) == [.sendResult(id: 1, .success(.string("new")))])
        let last = try #require(plugin.ask(2, 70))
        #expect(plugin.heard(.goodbye, 80) == [.reconnect])
        #expect(plugin.answer(last, "gone", 90) == [])
    }

    @Test func aRequestBeforeTheWelcomeIsNobodys() {
        var core = PluginCore(now: 0)
        var effects: [PluginCore.Effect] = []
        core.opened(now: 0, into: &effects)
        core.heard(
            .request(id: 1, service: "s", arguments: .object([]), timeoutMs: 100), now: 1, into: &effects)
        #expect(effects == [.sendHello])
    }

    @Test func statesAndAppsAreHeard() {
        let plugin = Served()
        let app = AppBody(app: "shop", phase: .foreground, wallMs: 5)
        let body = StateBody(
            state: .onHold, previous: .holdRequested, command: "drained", wallMs: 6, pending: 0)
        #expect(plugin.heard(.app(app), 10) == [.app(app)])
        #expect(
            plugin.heard(.state(body, seq: TransitionSeq(3), launch: testLaunch), 20)
                == [.state(body, seq: TransitionSeq(3), launch: testLaunch)])
    }
}

/// A host's `plugin` that asks `questions` after each welcome, and supersedes once it has a result of each.
private final class AskingEndpoint: Sendable {
    struct State {
        var hellos: [JSONValue] = []
        var results: [JSONValue] = []
    }
    let state = Locked(State())
    private let questions: [HostMessage]

    init(_ questions: [HostMessage]) { self.questions = questions }

    func answer(_ frames: [[UInt8]]) -> [[[UInt8]]] {
        let message = value(frames[0])
        switch message["type"]?.asString {
        case "hello":
            // A plugin that waited too long for its welcome begins anew, and whatever it was asked is lost.
            state.withLock { $0.hellos.append(message) }
            return ([welcome] + questions).map { each in [bytes { each.write(into: &$0) }] }
        case "result":
            let isLast = state.withLock { state in
                // Asked twice, it may answer twice.
                guard !state.results.contains(message) else { return false }
                state.results.append(message)
                return state.results.count == questions.count
            }
            let end = HostMessage.refused(WireError(.superseded, "newer"))
            return isLast ? [[bytes { end.write(into: &$0) }]] : []
        default: return []
        }
    }
}

@Suite struct PluginTests {
    private func question(_ id: UInt64, _ service: String) -> HostMessage {
        .request(
            id: id, service: service, arguments: .object([.init("n", .uint(id))]), timeoutMs: 3_600_000)
    }

    private func configuration(_ endpoint: String, _ services: [String: Service]) -> Plugin.Configuration {
        var configuration = Plugin.Configuration(name: "p", version: "3", services: services)
        configuration.endpoint = endpoint
        return configuration
    }

    @Test func eachRequestGetsItsResult() async throws {
        let asking = AskingEndpoint([
            question(1, "quick"), question(2, "failing"), question(3, "unheard"), question(4, "slow"),
        ])
        let host = try FakeRouter { asking.answer($0) }
        let plugin = try Plugin(
            configuration(
                host.endpoint,
                [
                    "quick": .blocking { .success($0.arguments) },
                    "failing": .blocking { _ in .failure(WireError(ErrorCode("noMorePages"), "no")) },
                    "slow": .asynchronous { request in
                        await Task.yield()
                        return request.remaining > .seconds(60)
                            ? .success(request.arguments) : .success(.null)
                    },
                ]))
        #expect(try await plugin.run() == .superseded)
        let state = asking.state.withLock { $0 }
        #expect(
            Set(state.hellos.map(\.text)) == [
                #"{"type":"hello","v":1,"name":"p","version":"3","services":["failing","quick","slow"]}"#
            ])
        #expect(
            state.results.map(\.text) == [
                #"{"type":"result","id":1,"value":{"n":1}}"#,
                #"{"type":"result","id":2,"error":{"code":"noMorePages","message":"no","retryable":false}}"#,
                #"{"type":"result","id":3,"error":{"code":"unknownService","#
                    + #""message":"p does not provide unheard","retryable":false}}"#,
                #"{"type":"result","id":4,"value":{"n":4}}"#,
            ])
    }

    @Test func aPluginThatOnlyListensIsStoppedFromElsewhere() async throws {
        let host = try FakeRouter { _ in [[bytes { welcome.write(into: &$0) }]] }
        let plugin = try Plugin(configuration(host.endpoint, [:]))
        let ending = try await plugin.run(notice: { notice in
            if notice == .attached(cursor: nil, status(.operating)) { plugin.stop() }
        })
        #expect(ending == .stopped)
    }

    /// Silence alone would tell in three minutes.
    @Test(.timeLimit(.minutes(1))) func aHostThatIsCutOffIsMissedAtOnce() throws {
        let host = try FakeRouter { _ in [[bytes { welcome.write(into: &$0) }]] }
        let plugin = try Plugin(configuration(host.endpoint, [:]))
        var notices: [Plugin.Notice] = []
        let ending = try plugin.run(notice: { notice in
            notices.append(notice)
            if notice == .detached { plugin.stop() } else { host.close() }
        })
        #expect(ending == .stopped)
        #expect(notices == [.attached(cursor: nil, status(.operating)), .detached])
    }

    @Test func namesAreChecked() {
        let error = #expect(throws: HoldgateError.self) { try Plugin(.init(name: "")) }
        #expect(error?.code == .invalidArgument)
        let services = ["": Service.blocking { _ in .success(.null) }]
        let other = #expect(throws: HoldgateError.self) { try Plugin(.init(name: "p", services: services)) }
        #expect(other?.code == .invalidArgument)
    }
}
