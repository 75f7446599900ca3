import HTTPServer
import HoldgateClient
import Testing

@testable import http_gateway

@Suite struct EventsBodyTests {
    private static let event = #"{"specversion":"1.0","id":"1","source":"/a","type":"t"}"#

    private func request(
        _ type: String?, _ body: String, headers: [(String, String)] = []
    ) -> HTTPRequest {
        let type = type.map { [HTTPHead.Field("content-type", $0)] } ?? []
        let head = HTTPHead(
            method: "POST", path: "/v1/events",
            headers: type + headers.map { HTTPHead.Field($0.0, $0.1) })
        return HTTPRequest(head, body: Array(body.utf8))
    }

    private func text(_ request: HTTPRequest) throws -> String {
        String(decoding: try EventsBody.frame(request), as: UTF8.self)
    }

    @Test(arguments: [
        "application/cloudevents+json", "application/cloudevents+json; charset=UTF-8",
        "Application/CloudEvents+JSON;charset=\"utf-8\"",
    ])
    func aStructuredEventIsOneLineAsItIs(type: String) throws {
        #expect(try text(request(type, " \n\(Self.event)\r\n")) == Self.event)
    }

    @Test func aBatchIsALineAnEventAsItIs() throws {
        let odd = #"{"a":"]},{[\"\\","b":[{},[]] }"#
        let body = "[ \(Self.event) ,\n\(odd)\t, {}]\n "
        let lines = [Self.event, odd, "{}"].map { $0 + "\n" }.joined()
        #expect(try text(request("application/cloudevents-batch+json", body)) == lines)
        #expect(try text(request("application/cloudevents-batch+json", " [ ] ")) == "")
    }

    @Test(arguments: [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "text/plain;charset=UTF-8",
        "application/json", "application/octet-stream", nil,
    ])
    func linesGoThroughAsTheyAre(type: String?) throws {
        let body = "\(Self.event)\n\n \(Self.event)\r\n"
        #expect(try text(request(type, body)) == body)
    }

    @Test(arguments: ["text/plain;charset=UTF-8", "application/json", nil])
    func anArrayWithoutATypeOfItsOwnIsABatch(type: String?) throws {
        #expect(try text(request(type, " [\(Self.event)]")) == Self.event + "\n")
    }

    @Test(arguments: [
        ("", nil), ("{", 0), ("[{}", 1), ("[{},]", 1), ("[,{}]", 0), ("[{}{}]", 1), ("[{} {}]", 1),
        ("[{},1]", 1), ("[{},[]]", 1), ("[\"{}\"]", 0), ("[{}] x", nil), ("[{}]]", nil), ("[{\"a\":\"]", 0),
        ("[{\"a\":\"\\\"}]", 0), ("{}", nil), ("[] []", nil), ("[{},{\"a\":[}]", 2),
    ])
    func whatIsNoArrayOfObjectsIsRefusedWithThePlace(body: String, index: Int?) throws {
        let problem = #expect(throws: Problem.self) {
            try text(request("application/cloudevents-batch+json", body))
        }
        #expect(problem?.status == 400 && problem?.code == "invalidMessage")
        if !body.isEmpty, body != "{" { #expect(problem?.index == index) }
    }

    @Test(arguments: ["", "[]", "1", "{", "\(EventsBodyTests.event)\n\(EventsBodyTests.event)", "{} x"])
    func whatIsNotOneObjectIsNoStructuredEvent(body: String) {
        let problem = #expect(throws: Problem.self) {
            try text(request("application/cloudevents+json", body))
        }
        #expect(problem?.status == 400 && problem?.index == 0)
    }

    @Test(
        arguments: [
            ("image/png", nil), ("nonsense", nil), ("application/cloudevents+json; charset=latin1", nil),
            ("application/cloudevents+avro", nil), ("application/x-ndjson", "gzip"),
        ] as [(String, String?)])
    func whatCannotBeReadIsRefused(type: String, encoding: String?) {
        let headers = encoding.map { [("content-encoding", $0)] } ?? []
        let problem = #expect(throws: Problem.self) {
            try text(request(type, Self.event, headers: headers))
        }
        #expect(problem?.status == 415)
    }

    // MARK: Binary mode

    private static let attributes = [
        ("ce-specversion", "1.0"), ("CE-Type", "t"), ("ce-source", "/a%20b"), ("Ce-Id", "\"Euro %E2%82%AC\""),
        ("ce-mine", "x\\y"), ("other", "1"),
    ]
    private static let prefix =
        #"{"specversion":"1.0","type":"t","source":"/a b","id":"Euro €","mine":"x\\y""#

    @Test(
        arguments: [
            (
                "application/json", " {\"b\": 1} ",
                #","datacontenttype":"application/json","data": {"b": 1} }"#
            ),
            ("application/vnd.a+json", "[1]", #","datacontenttype":"application/vnd.a+json","data":[1]}"#),
            ("text/plain", "a\"b", #","datacontenttype":"text/plain","data":"a\"b"}"#),
            (
                "text/plain; charset=latin1", "ab",
                #","datacontenttype":"text/plain; charset=latin1","data_base64":"YWI="}"#
            ),
            ("image/png", "abc", #","datacontenttype":"image/png","data_base64":"YWJj"}"#),
            (nil, "7", #","data":7}"#), (nil, "", "}"),
            ("application/json", "", #","datacontenttype":"application/json"}"#),
            (
                "application/cloudevents", "x",
                #","datacontenttype":"application/cloudevents","data_base64":"eA=="}"#
            ),
        ] as [(String?, String, String)])
    func headersAreAttributesAndTheBodyIsTheData(type: String?, body: String, rest: String) throws {
        #expect(try text(request(type, body, headers: Self.attributes)) == Self.prefix + rest)
    }

    @Test(arguments: [
        [("ce-id", "%")], [("ce-id", "%4")], [("ce-id", "%zz")], [("ce-id", "%ff")], [("ce-a-b", "1")],
        [("ce-", "1")], [("ce-data", "1")], [("ce-datacontenttype", "a/b")],
        [("ce-id", "1"), ("CE-ID", "2")],
        [("ce-é", "1")],
    ])
    func headersThatAreNoAttributesAreRefused(headers: [(String, String)]) {
        let problem = #expect(throws: Problem.self) { try text(request(nil, "1", headers: headers)) }
        #expect(problem?.status == 400 && problem?.index == 0)
    }

    @Test(arguments: ["{", "1 2", "1}", #"1,"type":"other""#, ""])
    func dataThatIsNotOneValueIsNotWrittenIntoTheEvent(body: String) throws {
        let request = request("application/json", body + " ", headers: Self.attributes)
        #expect(throws: Problem.self) { try text(request) }
    }

    @Test func structuredAndBatchGoBeforeHeaders() throws {
        let request = request("application/cloudevents+json", Self.event, headers: Self.attributes)
        #expect(try text(request) == Self.event)
    }
}
