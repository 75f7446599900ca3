import Access
import HTTPServer
import HoldgateClient
import Testing

@testable import http_gateway

@Suite struct AccessFileTests {
    private static let hash = SHA256.hex(Array("secret".utf8))
    private static let good = """
        # who
        token page hold,start sha256:\(hash) the page's backend

        webhook cmp hold,revoke whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
        on cmp /type consent.withdrawn kill
        on cmp /data/0/a~1b~0 1 hold a comment
        """

    @Test func aFileIsTokensAndWebhooksWithTheirRules() throws {
        let file = try AccessFile(text: Self.good.replacing("\n", with: "\r\n"))
        #expect(
            file.tokens == [
                AccessFile.Token(
                    name: "page", permissions: Permissions(.hold, .start),
                    digest: SHA256.digest(Array("secret".utf8)))
            ])
        #expect(file.webhooks.map(\.name) == ["cmp"])
        #expect(file.webhooks[0].secret.count == 24)
        #expect(
            file.webhooks[0].rules == [
                AccessFile.Rule(pointer: ["type"], value: "consent.withdrawn", action: .kill),
                AccessFile.Rule(pointer: ["data", "0", "a/b~"], value: "1", action: .hold),
            ])
    }

    @Test(arguments: [
        "tokn a hold sha256:\(hash)", "token a hold", "token a/b hold sha256:\(hash)",
        "token a nothing sha256:\(hash)", "token a collect sha256:\(hash)",
        "token a observe:state sha256:\(hash)",
        "token a hold sha256:\(hash.dropLast())", "token a hold sha256:\(hash.dropLast())g",
        "token a hold sha256:\(hash.dropLast(2))+1", "token a hold md5:\(hash)",
        "token a hold sha256:\(hash)\ntoken b start sha256:\(hash)", "webhook a hold whsec_",
        "webhook a hold whsec_!!!!", "webhook a hold MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "webhook a hold whsec_AAAA", "on cmp /a b hold", "\(good)\non cmp /a b start",
        "\(good)\non cmp a b hold",
        "\(good)\non cmp /a b open", "\(good)\non cmp /a hold",
        "\(good)\nwebhook cmp hold whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ])
    func aBadLineIsNamed(text: String) {
        let error = #expect(throws: AccessError.self) { try AccessFile(text: text) }
        let last = text.split(separator: "\n", omittingEmptySubsequences: false).count
        #expect(error?.description.hasPrefix("line \(last): ") == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        (#"{"type":"consent.withdrawn"}"#, true), (#"{"type":"other"}"#, false), ("{}", false), ("1", false),
        (#"{"type":{"type":"consent.withdrawn"}}"#, false),
    ])
    func aRuleLooksAtOneMember(body: String, matches: Bool) throws {
        let rule = AccessFile.Rule(pointer: ["type"], value: "consent.withdrawn", action: .kill)
        #expect(rule.matches(try JSONValue.parse(body)) == matches)
    }

    @Test(arguments: [
        (#"{"a":[{"b":true}]}"#, "true"), (#"{"a":[{"b":7}]}"#, "7"), (#"{"a":[{"b":"7"}]}"#, "7"),
        (#"{"a":[{"b":null}]}"#, "null"),
    ])
    func aRuleReachesIntoArraysAndOtherValues(body: String, value: String) throws {
        let rule = AccessFile.Rule(pointer: ["a", "0", "b"], value: value, action: .hold)
        #expect(rule.matches(try JSONValue.parse(body)))
        let past = AccessFile.Rule(pointer: ["a", "1", "b"], value: value, action: .hold)
        #expect(!past.matches(try JSONValue.parse(body)))
    }
}

@Suite struct AuthorizationTests {
    private let authorization: Authorization

    init() throws {
        let access = try AccessFile(text: "token page hold,start sha256:\(SHA256.hex(Array("secret".utf8)))")
        authorization = Authorization(access: access, anonymous: Permissions(.produce))
    }

    private func head(_ values: String...) -> HTTPHead {
        HTTPHead(method: "GET", path: "/", headers: values.map { HTTPHead.Field("Authorization", $0) })
    }

    @Test func aTokenIsItsName() throws {
        #expect(
            try authorization.asker(head("bearer secret"))
                == Asker(name: "page", permissions: Permissions(.hold, .start)))
        #expect(try authorization.asker(head()) == Asker(name: nil, permissions: Permissions(.produce)))
    }

    @Test(arguments: [
        ["Bearer secret2"], ["Bearer "], ["Bearer"], ["Basic c2VjcmV0"], ["secret"], [""],
        ["Bearer secret", "Bearer secret"], ["Bearer secret secret"],
    ])
    func whatIsNoTokenIsNotTakenForNobody(values: [String]) {
        let head = HTTPHead(
            method: "GET", path: "/", headers: values.map { HTTPHead.Field("Authorization", $0) })
        let problem = #expect(throws: Problem.self) { try authorization.asker(head) }
        #expect(problem?.status == 401)
    }

    @Test func aMissingRoleIsNamed() throws {
        let page = try authorization.asker(head("Bearer secret"))
        #expect(page.missing(.start) == nil)
        let forbidden = page.missing(.revoke)
        #expect(forbidden?.status == 403 && forbidden?.detail.contains("revoke") == true)
        let nobody = try authorization.asker(head())
        #expect(nobody.missing(.produce) == nil && nobody.missing(.hold)?.status == 401)
    }
}

@Suite struct WebhooksTests {
    private let webhooks = Webhooks(startMs: 1_000_000_000_000)
    private let its: [AccessFile.Webhook]
    private static let now: Int64 = 1_000_000_400_000
    private static let body = Array(#"{"type":"consent.given"}"#.utf8)

    init() throws {
        let text = """
            webhook a hold whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
            webhook b start whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD
            """
        its = try AccessFile(text: text).webhooks
    }

    private func head(
        _ id: String = "msg_1", _ timestamp: Int64 = now / 1000, by webhook: Int = 0, body: [UInt8] = body,
        change: (String) -> String = { $0 }
    ) -> HTTPHead {
        let message = [Array("\(id).\(timestamp).".utf8), body]
        let code = SHA256.authentication(of: message, key: its[webhook].secret)
        return HTTPHead(
            method: "POST", path: "/",
            headers: [
                HTTPHead.Field("Webhook-Id", id), HTTPHead.Field("webhook-timestamp", String(timestamp)),
                HTTPHead.Field("webhook-signature", change("v1,\(Base64.encode(code))")),
            ])
    }

    private func verify(_ head: HTTPHead, body: [UInt8] = body, now: Int64 = now) throws -> Webhooks.Verified
    {
        try webhooks.verify(head, body: body, among: its, nowMs: now)
    }

    private func status(_ head: HTTPHead, body: [UInt8] = body, now: Int64 = now) -> Int? {
        #expect(throws: Problem.self) { try verify(head, body: body, now: now) }?.status
    }

    /// The vector of the Standard Webhooks libraries.
    @Test func theSignatureIsThatOfStandardWebhooks() throws {
        let body = Array(#"{"test": 2432232314}"#.utf8)
        let message = [Array("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.".utf8), body]
        let code = SHA256.authentication(of: message, key: its[0].secret)
        #expect(Base64.encode(code) == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func aSignatureSaysWhoseItIs() throws {
        #expect(try verify(head()).webhook.name == "a")
        #expect(try verify(head("2", by: 1)).asker == Asker(name: "b", permissions: Permissions(.start)))
        let several = head("3") { "v2,x v1,AAAA \($0)" }
        #expect(try verify(several).id == "3")
    }

    @Test func aSignatureOfSomethingElseIsRefused() {
        #expect(status(head(), body: Self.body + [32]) == 401)
        #expect(status(head { "v2" + $0.dropFirst(2) }) == 401)
        #expect(status(head { String($0.dropLast(5)) }) == 401)
        #expect(status(head { _ in "" }) == 401)
        #expect(status(HTTPHead(method: "POST", path: "/")) == 401)
        let other = Webhooks(startMs: 0)
        let problem = #expect(throws: Problem.self) {
            try other.verify(head(by: 1), body: Self.body, among: [its[0]], nowMs: Self.now)
        }
        #expect(problem?.status == 401)
    }

    @Test(arguments: [(-300, nil), (300, nil), (-301, 401), (301, 401)] as [(Int64, Int?)])
    func aTimestampCountsForFiveMinutes(offset: Int64, expected: Int?) {
        let head = head("1", Self.now / 1000 + offset)
        let found = Result { try verify(head) }
        if case .failure(let error) = found {
            #expect((error as? Problem)?.status == expected)
        } else {
            #expect(expected == nil)
        }
    }

    @Test func aSignatureIsTakenOnceUnlessItIsForgotten() throws {
        let verified = try verify(head())
        #expect(status(head()) == 409)
        webhooks.forget(verified)
        #expect(try verify(head()) == verified)
        // Signed anew it is another attempt at the same message.
        let again = try verify(head("msg_1", Self.now / 1000 + 1))
        #expect(again.key == verified.key)
        #expect(try verify(head("msg_2")).key != verified.key)
    }

    @Test func aSignatureFromBeforeTheStartIsRefused() {
        #expect(status(head("1", 999_999_999), now: 1_000_000_000_000) == 401)
        #expect(throws: Never.self) { try verify(head("1", 1_000_000_000), now: 1_000_000_000_000) }
    }
}
