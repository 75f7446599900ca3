import HoldgateClient
import Testing

@testable import http_gateway

@Suite struct DocumentTests {
    private let document: JSONValue

    init() throws { document = try JSONValue.parse(OpenAPI.document) }

    @Test func theDocumentHasTheRoutesAndTheirMethods() throws {
        let paths = try #require(document["paths"]?.asMembers)
        #expect(Set(paths.map(\.name)) == Set(Route.patterns.map(\.pattern)))
        for route in Route.patterns {
            let methods = try #require(document["paths"]?[route.pattern]?.asMembers).map {
                $0.name.uppercased()
            }
            // HEAD is GET's.
            #expect(methods == route.methods.filter { $0 != "HEAD" }, "\(route.pattern)")
        }
    }

    @Test func everyPatternLeadsToItsRoute() {
        for route in Route.patterns {
            #expect(Route(path: route.pattern.replacing("{name}", with: "name")) == route)
        }
        for path in [
            "", "/", "/v1", "/v1/events/", "/v1/lifecycle/", "/v1/lifecycle/open", "/v1/webhooks/",
            "/v1/webhooks/a/b",
        ] {
            #expect(Route(path: path) == nil, "\(path)")
        }
    }

    @Test func everyStatusOfAProblemHasATitle() throws {
        let text = String(decoding: OpenAPI.document, as: UTF8.self)
        for (status, title) in Problem.titles
        where status != 404 && status != 405 && status != 500 && status != 422 {
            #expect(text.contains("\"\(status)\""), "\(status) \(title)")
        }
    }
}
