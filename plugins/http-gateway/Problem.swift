import HTTPServer
import HoldgateClient

/// Why a request is not done, as RFC 9457's `application/problem+json`.
struct Problem: Error, Sendable {
    var status: Int
    /// The host's code, or one of the gateway's own: `unauthorized`, `notFound`, `methodNotAllowed`,
    /// `unsupportedMediaType`, `preconditionFailed`, `replayed`.
    var code: String
    /// For people.
    var detail: String
    var retryable = false
    /// The bad event's place in the request, from 0.
    var index: Int?
    /// The gate's last answered state.
    var state: LifecycleState?
    var isOutcomeUnknown = false
    var headers: [HTTPHead.Field] = []

    init(_ status: Int, _ code: String, _ detail: String, headers: [HTTPHead.Field] = []) {
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers
    }

    /// Seconds after which asking again makes sense.
    static let retryAfterSeconds = 1

    var response: HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", "about:blank")
        writer.member("title", Self.titles[status] ?? "Error")
        writer.member("status", status)
        writer.member("detail", detail)
        writer.member("code", code)
        writer.member("retryable", retryable)
        if let index { writer.member("index", index) }
        if let state { writer.member("state", state.rawValue) }
        if isOutcomeUnknown { writer.member("outcome", "unknown") }
        writer.endObject()
        writer.newline()
        var headers = [HTTPHead.Field("Content-Type", "application/problem+json")] + headers
        if retryable { headers.append(HTTPHead.Field("Retry-After", String(Self.retryAfterSeconds))) }
        return HTTPResponse(status, headers: headers, body: .bytes(writer.bytes))
    }

    static let titles: [Int: String] = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed",
        409: "Conflict", 412: "Precondition Failed", 413: "Content Too Large", 415: "Unsupported Media Type",
        421: "Misdirected Request", 422: "Unprocessable Content", 429: "Too Many Requests",
        500: "Internal Server Error", 503: "Service Unavailable",
    ]
}

extension Problem {
    /// What the host, or the way to it, said.
    init(_ error: HoldgateError) {
        self.init(Self.status(of: error.code, retryable: error.retryable), error.code.raw, error.message)
        retryable = error.retryable
        index = error.index
        state = error.state
        isOutcomeUnknown = error.isOutcomeUnknown
    }

    private static func status(of code: ErrorCode, retryable: Bool) -> Int {
        switch code {
        case .invalidMessage, .invalidArgument, .unsupportedVersion, .unknownCommand, .unknownGate: 400
        case .forbidden: 403
        case .conflict, .notOperating, .outOfOrder, .superseded: 409
        case .tooLarge: 413
        case .overloaded: 429
        // No host, one that stops, a full disk, or a failure: the same again may go well.
        case .noAnswer, .shuttingDown, .storageFull, .internalError, .timeout, .unavailable, .closed,
            .cancelled,
            .serviceUnavailable, .unknownService:
            503
        default: retryable ? 503 : 500
        }
    }
}

extension HTTPResponse {
    /// JSON text with a line feed after it.
    static func json(_ status: Int, _ text: String, headers: [HTTPHead.Field] = []) -> HTTPResponse {
        HTTPResponse(status, "application/json", text + "\n", headers: headers)
    }
}
