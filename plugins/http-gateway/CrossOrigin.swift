import HTTPServer

/// Which web pages may ask, by their origins, and under which names the gateway is asked.
struct CrossOrigin: Hashable, Sendable {
    /// `https://shop.example`; `*`: all.
    var origins: Set<String> = []
    /// What `Host` may say, without a port, in small letters; nil: anything.
    var hosts: Set<String>?

    /// The names of this machine for itself: a page elsewhere whose name was made to mean this machine has another.
    static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    /// Why a request is not taken; nil: it is.
    func refuses(_ head: HTTPHead) -> Problem? {
        if let hosts, let given = head.header("host"), !hosts.contains(Self.name(ofHost: given)) {
            return Problem(
                421, "misdirected",
                "this gateway is not asked under the name \(given); --host-name allows one")
        }
        guard let origin = head.header("origin"), !allows(origin) else { return nil }
        return Problem(403, "forbidden", "pages of \(origin) may not ask here; --origin allows them")
    }

    func allows(_ origin: String) -> Bool { origins.contains("*") || origins.contains(origin) }

    private static func name(ofHost host: String) -> String {
        var host = host.lowercased()
        if host.hasPrefix("[") {
            if let end = host.firstIndex(of: "]") { host = String(host[...end]) }
        } else if let colon = host.firstIndex(of: ":") {
            host = String(host[..<colon])
        }
        return host
    }

    /// What a browser must hear to hand a page the answer.
    func headers(for head: HTTPHead) -> [HTTPHead.Field] {
        guard !origins.isEmpty else { return [] }
        let vary = HTTPHead.Field("Vary", "Origin")
        guard let origin = head.header("origin"), allows(origin) else { return [vary] }
        return [
            vary, HTTPHead.Field("Access-Control-Allow-Origin", origin),
            // `sendBeacon` always sends with credentials; there are none here but a header's.
            HTTPHead.Field("Access-Control-Allow-Credentials", "true"),
            HTTPHead.Field("Access-Control-Expose-Headers", "ETag, Retry-After"),
        ]
    }

    /// The answer to a browser's question before the request.
    func preflight(_ head: HTTPHead, _ route: Route) -> HTTPResponse {
        var headers = [
            HTTPHead.Field("Access-Control-Allow-Methods", route.methods.joined(separator: ", ")),
            HTTPHead.Field("Access-Control-Max-Age", "600"),
        ]
        let wanted = (head.header("access-control-request-headers") ?? "").split(separator: ",")
            .map { MediaType.trimmed($0).lowercased() }
            .filter { Self.requestHeaders.contains($0) || $0.hasPrefix("ce-") }
        if !wanted.isEmpty {
            headers.append(HTTPHead.Field("Access-Control-Allow-Headers", wanted.joined(separator: ", ")))
        }
        return HTTPResponse(204, headers: headers)
    }

    private static let requestHeaders: Set = [
        "authorization", "content-type", "idempotency-key", "if-match", "last-event-id",
    ]
}
