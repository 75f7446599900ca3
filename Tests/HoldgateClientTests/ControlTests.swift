import Platform
import Testing

@testable import HoldgateClient

@Suite struct ControlTests {
    private let transition: [JSONValue.Member] = [
        .init("previous", .string("operating")), .init("changed", .bool(true)), .init("pending", .uint(3)),
    ]

    @Test func aLostReplyIsAskedForAgainUnderTheSameKey() throws {
        let seen = Locked<[JSONValue]>([])
        let transition = transition
        let host = try FakeRouter { frames in
            let count = seen.withLock { seen in
                seen.append(value(frames[0]))
                return seen.count
            }
            if count < 3 { return [] }
            return [
                reply(to: frames[0], status(.holdRequested, 2), transition + [.init("replayed", .bool(true))])
            ]
        }
        var request = Command.holdOperation(gatedEvents: .discard).with(source: "test", reason: "T-1").request
        request.id = "7"
        let connection = ControlConnection(endpoint: host.endpoint)
        let answer = try LifecycleAnswer(connection.exchange(request, timeoutMs: 60_000, attemptMs: 50))
        #expect(answer.status == status(.holdRequested, 2))
        #expect(answer.previous == .operating)
        #expect(answer.changed && answer.replayed)
        #expect(answer.pending == 3)
        let requests = seen.withLock { $0 }
        #expect(requests.count >= 3)
        #expect(requests.allSatisfy { $0 == requests[0] })
        #expect(requests[0]["key"]?.asString?.utf8.count == 32)
        #expect(requests[0]["command"] == .string("holdOperation"))
        #expect(requests[0]["gatedEvents"] == .string("discard"))
        #expect(requests[0]["source"] == .string("test"))
        #expect(requests[0]["reason"] == .string("T-1"))
    }

    @Test(arguments: [
        Command.forget("x"),
        // A copy that came late would put an older phase over a newer one.
        Command.report(app: "shop", .foreground),
        // Its key ends with the launch: a copy would end the next one, too.
        Command.endLaunch(restart: true),
    ]) func aCommandThatIsNotSafeToRepeatGoesOnce(command: Command<Answer>) throws {
        let count = Locked(0)
        let host = try FakeRouter { _ in
            count.withLock { $0 += 1 }
            return []
        }
        let holdgate = Holdgate(endpoint: host.endpoint, timeout: .milliseconds(300))
        let error = #expect(throws: HoldgateError.self) { try holdgate.performBlocking(command) }
        #expect(error?.code == .noAnswer)
        #expect(error?.retryable == false)
        #expect(count.withLock { $0 } == 1)
    }

    @Test func theEndOfANamedLaunchMayBeAskedForAgain() {
        let command = Command.endLaunch(restart: true)
        #expect(!command.request.isRepeatable)
        #expect(command.with(expect: Expectation(launch: testLaunch.raw)).request.isRepeatable)
        #expect(!command.with(expect: Expectation(state: .killed)).request.isRepeatable)
    }

    @Test func anAbsentHostEndsInNoAnswer() throws {
        let holdgate = Holdgate(endpoint: "tcp://127.0.0.1:1", timeout: .milliseconds(100))
        let error = #expect(throws: HoldgateError.self) { try holdgate.performBlocking(.ping) }
        #expect(error?.code == .noAnswer)
        #expect(error?.retryable == true)
    }

    @Test func aBadAddressIsSaidAtOnce() throws {
        let holdgate = Holdgate(endpoint: "nonsense", timeout: .seconds(60))
        let error = #expect(throws: HoldgateError.self) { try holdgate.performBlocking(.ping) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func aRefusalCarriesTheHostsStateAndReply() throws {
        let refusal = WireError(.notOperating, "held", retryable: true)
        let host = try FakeRouter { [reply(to: $0[0], status(.onHold, 4), error: refusal)] }
        let holdgate = Holdgate(endpoint: host.endpoint)
        let error = #expect(throws: HoldgateError.self) { try holdgate.performBlocking(.configure("{}")) }
        #expect(error?.notOperating == NotOperatingError(state: .onHold))
        #expect(error?.retryable == true)
        #expect(
            error?.reply.flatMap { try? JSONValue.parse($0)["error"]?["code"] } == .string("notOperating"))
    }

    @Test func aHostThatFailsIsAskedAgain() throws {
        let count = Locked(0)
        let host = try FakeRouter { frames in
            let first = count.withLock { count in
                count += 1
                return count == 1
            }
            let failure = WireError(.internalError, "the disk failed", retryable: true)
            return [reply(to: frames[0], status(.onHold), error: first ? failure : nil)]
        }
        let connection = ControlConnection(endpoint: host.endpoint)
        let answer = try connection.exchange(ControlRequest(.ping), timeoutMs: 60_000, attemptMs: 50)
        #expect(answer.status == status(.onHold))
        #expect(count.withLock { $0 } >= 2)
    }

    @Test func somethingElseThanAReplyIsInvalid() throws {
        let host = try FakeRouter { _ in [[Array("HTTP/1.1 400".utf8)]] }
        let error = #expect(throws: HoldgateError.self) {
            try Holdgate(endpoint: host.endpoint).performBlocking(.ping)
        }
        #expect(error?.code == .invalidReply)
    }

    @Test func callsAreAsynchronousAndCancellable() async throws {
        let host = try FakeRouter { frames in
            value(frames[0])["command"] == .string("ping") ? [reply(to: frames[0], status(.operating))] : []
        }
        let holdgate = Holdgate(endpoint: host.endpoint, timeout: .seconds(120))
        try await holdgate.ping()
        let task = Task { try await holdgate.state() }
        task.cancel()
        let error = await #expect(throws: HoldgateError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test func theStateIsReadWhole() throws {
        let host = try FakeRouter { frames in
            let drain = JSONValue.object([.init("total", .uint(9)), .init("remaining", .uint(4))])
            let members: [JSONValue.Member] = [
                .init("since", .string("2026-01-01T00:00:00.000Z")), .init("pending", .uint(4)),
                .init("gated", .uint(2)), .init("queuedBytes", .uint(99)), .init("drain", drain),
                .init("initializedWith", .string("initialize")),
            ]
            return [reply(to: frames[0], status(.holdRequested, 5), members)]
        }
        let report = try Holdgate(endpoint: host.endpoint).performBlocking(.state)
        #expect(report.status == status(.holdRequested, 5))
        #expect(report.pending == 4 && report.gated == 2 && report.queuedBytes == 99)
        #expect(report.drain?.remaining == 4)
        #expect(report.lease == nil)
    }
}
