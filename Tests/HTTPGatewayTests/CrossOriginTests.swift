import HTTPServer
import Testing

@testable import http_gateway

@Suite struct CrossOriginTests {
    private func head(host: String = "localhost:8080", origin: String? = nil, _ more: (String, String)...)
        -> HTTPHead
    {
        var headers = [HTTPHead.Field("Host", host)]
        if let origin { headers.append(HTTPHead.Field("Origin", origin)) }
        return HTTPHead(
            method: "POST", path: "/v1/events", headers: headers + more.map { HTTPHead.Field($0.0, $0.1) })
    }

    private let shop = CrossOrigin(origins: ["https://shop.example"], hosts: CrossOrigin.loopbackHosts)

    @Test(
        arguments: [
            ("https://shop.example", nil), (nil, nil), ("https://shop.example:444", 403),
            ("http://shop.example", 403),
            ("https://evil.example", 403), ("null", 403), ("", 403),
        ] as [(String?, Int?)])
    func pagesOfOtherOriginsMayNotAsk(origin: String?, status: Int?) {
        #expect(shop.refuses(head(origin: origin))?.status == status)
    }

    @Test(
        arguments: [
            ("localhost", nil), ("LOCALHOST:1", nil), ("127.0.0.1:8080", nil), ("[::1]:8080", nil),
            ("[::1]", nil),
            ("evil.example", 421), ("evil.example:8080", 421), ("127.0.0.1.evil.example", 421), ("", 421),
        ] as [(String, Int?)])
    func aNameThatWasMadeToMeanThisMachineIsNotTaken(host: String, status: Int?) {
        #expect(shop.refuses(head(host: host))?.status == status)
        #expect(CrossOrigin().refuses(head(host: host)) == nil)
    }

    @Test func whoMayAskIsToldSo() {
        let names = { (fields: [HTTPHead.Field]) in fields.map { "\($0.name): \($0.value)" } }
        #expect(names(CrossOrigin().headers(for: head(origin: "https://a.example"))) == [])
        #expect(names(shop.headers(for: head())) == ["Vary: Origin"])
        #expect(
            names(shop.headers(for: head(origin: "https://shop.example"))) == [
                "Vary: Origin", "Access-Control-Allow-Origin: https://shop.example",
                "Access-Control-Allow-Credentials: true", "Access-Control-Expose-Headers: ETag, Retry-After",
            ])
        let all = CrossOrigin(origins: ["*"])
        #expect(
            names(all.headers(for: head(origin: "https://a.example")))[1].hasSuffix(": https://a.example"))
    }

    @Test func aPreflightNamesMethodsAndTheHeadersThatAreRead() {
        let asked = head(
            origin: "https://shop.example",
            ("Access-Control-Request-Headers", "Content-Type, ce-id,x-other , idempotency-key"))
        let response = shop.preflight(asked, .events)
        #expect(response.status == 204)
        #expect(
            response.headers == [
                HTTPHead.Field("Access-Control-Allow-Methods", "POST"),
                HTTPHead.Field("Access-Control-Max-Age", "600"),
                HTTPHead.Field("Access-Control-Allow-Headers", "content-type, ce-id, idempotency-key"),
            ])
    }
}
