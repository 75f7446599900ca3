/// One POST.
public struct HTTPRequest: Sendable {
    public var url: String
    /// Names and values without line breaks.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(url: String, headers: [(name: String, value: String)], body: [UInt8]) {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// An answer.
public struct HTTPResponse: Sendable {
    public var status: Int
    /// Names in lower case, in the order in which they came.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// False: the body was longer than may be read, and this is its beginning.
    public var isComplete: Bool
    /// Where a redirect leads, as a whole URL.
    public var redirect: String?

    public init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        isComplete: Bool = true,
        redirect: String? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isComplete = isComplete
        self.redirect = redirect
    }

    /// The first header of that name, which is in lower case.
    public subscript(header: String) -> String? { headers.first { $0.name == header }?.value }
}

/// Why there is no answer.
public enum HTTPError: Error, Hashable, Sendable {
    /// It was called off.
    case cancelled
    /// The server could not be reached, or did not answer whole or in time. It may have taken the request.
    case failed(String)
    /// What was asked for can't be had.
    case settings(String)
}
