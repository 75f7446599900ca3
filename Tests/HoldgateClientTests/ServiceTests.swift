import Platform
import Testing
import Wire

@testable import HoldgateClient

/// A host that is operating and whose provider answers as `values` says; what it was asked is kept.
private final class FakeServices: Sendable {
    private let asked = Locked<[String]>([])
    private let router: FakeRouter

    init(_ values: [String: String], error: WireError? = nil, state: LifecycleState = .operating) throws {
        let asked = asked
        router = try FakeRouter { frames in
            let request = value(frames[0])
            let service = request["service"]?.asString ?? ""
            asked.withLock { $0.append("\(service) \(request["arguments"]?.text ?? "")") }
            if let error { return [reply(to: frames[0], status(state), error: error)] }
            let value = values[service].flatMap { try? JSONValue.parse($0) } ?? .null
            return [reply(to: frames[0], status(state), [.init("value", value)])]
        }
    }

    var holdgate: Holdgate { Holdgate(endpoint: router.endpoint, timeout: .seconds(60)) }
    var requests: [String] { asked.withLock { $0 } }
}

/// What a completion handler was given.
private func completed<Value: Sendable, Failure>(
    _ call: (@escaping @Sendable (Result<Value, Failure>) -> Void) -> Void
) async -> Result<Value, Failure> {
    await withCheckedContinuation { continuation in call { continuation.resume(returning: $0) } }
}

@Suite struct ServiceTests {
    private let closed = WireError(.notOperating, "held", retryable: true)
    private let held = NotOperatingError(state: .onHold)

    @Test func permissionsAreReadAndSet() async throws {
        let yes = #"{"granted":true}"#
        let no = #"{"granted":false}"#
        let fake = try FakeServices([
            "emailPermission.get": yes, "emailPermission.set": no, "smsPermission.get": no,
            "smsPermission.set": yes, "whatsAppPermission.get": yes, "whatsAppPermission.set": no,
        ])
        let holdgate = fake.holdgate
        #expect(try await holdgate.getEmailPermission())
        #expect(try await !holdgate.setEmailPermission(false))
        #expect(try await !holdgate.getSMSPermission())
        #expect(try await holdgate.setSMSPermission(true))
        #expect(try await holdgate.getWhatsAppPermission())
        #expect(try await !holdgate.setWhatsAppPermission(false))
        #expect(await completed { holdgate.getEmailPermission($0) } == .success(true))
        #expect(await completed { holdgate.setSMSPermission(true, $0) } == .success(true))
        #expect(
            fake.requests == [
                "emailPermission.get {}", #"emailPermission.set {"granted":false}"#, "smsPermission.get {}",
                #"smsPermission.set {"granted":true}"#, "whatsAppPermission.get {}",
                #"whatsAppPermission.set {"granted":false}"#, "emailPermission.get {}",
                #"smsPermission.set {"granted":true}"#,
            ])
    }

    @Test func aClosedGateIsACaseOfItsOwn() async throws {
        let fake = try FakeServices([:], error: closed, state: .onHold)
        let holdgate = fake.holdgate
        let page = try InboxPage(JSONValue.parse(#"{"items":[],"isLast":true,"cursor":"c"}"#))
        await #expect(throws: PermissionError.notOperating(held)) { try await holdgate.getSMSPermission() }
        await #expect(throws: FetchCouponError.notOperating(held)) { try await holdgate.fetchCoupons() }
        await #expect(throws: InboxError.notOperating(held)) { try await holdgate.fetchInbox() }
        await #expect(throws: InboxError.notOperating(held)) {
            try await holdgate.fetchNextInboxPage(after: page)
        }
        await #expect(throws: UserCategoryPreferenceError.notOperating(held)) {
            try await holdgate.setUserCategoryPreference("news", enabled: true)
        }
        #expect(
            await completed { holdgate.setWhatsAppPermission(true, $0) } == .failure(.notOperating(held)))
        #expect(await completed { holdgate.inboxCounts($0) } == .failure(.notOperating(held)))
    }

    /// A setter that a hold interrupts may have been carried out.
    @Test func aGateThatClosesUnderwayTellsThatTheOutcomeIsUnknown() async throws {
        let interrupted = WireError(.notOperating, "the gate closed", isOutcomeUnknown: true)
        let fake = try FakeServices([:], error: interrupted, state: .onHold)
        let unknown = NotOperatingError(state: .onHold, isOutcomeUnknown: true)
        #expect(!unknown.isRetryable)
        await #expect(throws: PermissionError.notOperating(unknown)) {
            try await fake.holdgate.setEmailPermission(true)
        }
        await #expect(throws: InboxError.notOperating(unknown)) {
            try await fake.holdgate.updateInbox(["m"], status: .read)
        }
    }

    @Test func couponsComeByPage() async throws {
        let fake = try FakeServices([
            "coupons.fetch": """
            {"coupons":[{"id":"1","code":"C","title":"T","message":"M","expires":"1970-01-01T00:00:01.000Z"},
            {"id":"2","code":"D","title":"U","message":"N","data":{"a":1},"new":0}],"page":0,"max":10,"total":2}
            """
        ])
        let page = try await fake.holdgate.fetchCoupons()
        #expect(page.coupons.map(\.id) == ["1", "2"])
        #expect(page.coupons.map(\.code) == ["C", "D"])
        #expect(page.coupons.map(\.expiresMs) == [1000, nil])
        #expect(page.coupons[1].data == .object([.init("a", .int(1))]))
        #expect(page.page == 0 && page.max == 10 && page.total == 2)
        _ = try await fake.holdgate.fetchCoupons(page: 3, max: 5)
        #expect(
            fake.requests == [
                #"coupons.fetch {"page":0,"max":10}"#, #"coupons.fetch {"page":3,"max":5}"#,
            ])
    }

    @Test func theInboxIsReadPageByPage() async throws {
        let item =
            #"{"id":"m","category":"news","title":"T","message":"M","status":"unread","#
            + #""time":"1970-01-01T00:00:02.000Z"}"#
        let fake = try FakeServices([
            "inbox.fetch": #"{"items":[\#(item)],"cursor":"next","isLast":false}"#,
            "inbox.next": #"{"items":[],"cursor":"end","isLast":true}"#,
            "inbox.counts": #"{"total":3,"read":1,"unread":2}"#, "inbox.update": #"{"updated":1}"#,
        ])
        let holdgate = fake.holdgate
        let first = try await holdgate.fetchInbox(
            InboxFilter(status: .unread, categories: ["news"]), pageSize: 1)
        #expect(first.items.map(\.id) == ["m"])
        #expect(first.items[0].status == .unread && first.items[0].timeMs == 2000)
        #expect(!first.isLast)
        let second = try await holdgate.fetchNextInboxPage(after: first)
        #expect(second.isLast && second.items.isEmpty)
        let counts = try await holdgate.inboxCounts()
        #expect(counts.read == 1 && counts.unread == 2 && counts.total == 3)
        #expect(try await holdgate.updateInbox(["m"], status: .read) == 1)
        #expect(
            fake.requests == [
                #"inbox.fetch {"status":"unread","categories":["news"],"pageSize":1}"#,
                #"inbox.next {"cursor":"next"}"#, "inbox.counts {}",
                #"inbox.update {"items":["m"],"status":"read"}"#,
            ])
    }

    @Test func thePageAfterTheLastIsAnErrorOfItsOwn() async throws {
        let fake = try FakeServices([:], error: WireError(.noMorePages, "that was all"))
        let page = try InboxPage(JSONValue.parse(#"{"items":[],"isLast":true,"cursor":"c"}"#))
        await #expect(throws: InboxError.noMorePages) {
            try await fake.holdgate.fetchNextInboxPage(after: page)
        }
    }

    @Test func unknownNamesAreErrorsOfTheirOwn() async throws {
        let items = try FakeServices([:], error: WireError(.unknownItem, "no m"))
        await #expect(throws: InboxError.unknownItem("no m")) {
            try await items.holdgate.updateInbox(["m"], status: .read)
        }
        let categories = try FakeServices([:], error: WireError(.unknownCategory, "no x"))
        await #expect(throws: UserCategoryPreferenceError.unknownCategory("no x")) {
            try await categories.holdgate.setUserCategoryPreference("x", enabled: true)
        }
    }

    @Test func categoryPreferencesAreAlwaysAll() async throws {
        let all = #"{"categories":[{"id":"news","name":"News","enabled":false}]}"#
        let fake = try FakeServices(["categoryPreferences.get": all, "categoryPreferences.set": all])
        let read = try await fake.holdgate.getUserCategoryPreferences()
        #expect(read.map(\.id) == ["news"])
        #expect(read.map(\.isEnabled) == [false])
        #expect(try await fake.holdgate.setUserCategoryPreference("news", enabled: false) == read)
        #expect(
            fake.requests == [
                "categoryPreferences.get {}",
                #"categoryPreferences.set {"category":"news","enabled":false}"#,
            ])
    }

    @Test func whatTheProviderMustNotAnswerIsNamed() async throws {
        let fake = try FakeServices(["emailPermission.get": #"{"granted":1}"#])
        let error = await #expect(throws: PermissionError.self) {
            try await fake.holdgate.getEmailPermission()
        }
        guard case .failed(let cause)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause.code == .invalidReply)
        #expect(cause.message == #"the provider's "granted" is not true or false"#)
    }

    @Test func aLostProviderLeavesTheOutcomeOpen() async throws {
        let lost = WireError(.serviceUnavailable, "lost", isOutcomeUnknown: true)
        let fake = try FakeServices([:], error: lost)
        let error = await #expect(throws: HoldgateError.self) {
            try await fake.holdgate.request("any.service")
        }
        #expect(error?.code == .serviceUnavailable)
        #expect(error?.isOutcomeUnknown == true)
        #expect(fake.requests == ["any.service {}"])
    }

    @Test func isOperatingIsAsked() async throws {
        let open = try FakeServices([:])
        #expect(try await open.holdgate.isOperating)
        let shut = try FakeServices([:], state: .onHold)
        #expect(try await !shut.holdgate.isOperating)
    }
}
