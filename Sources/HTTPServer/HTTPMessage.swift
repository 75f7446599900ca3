// HTTP for plugins that open a door: what a request says, what a reply says, and a server that carries them over
// libmicrohttpd. Reading of bodies is bounded in bytes and time; a reply may come later and from any thread.
//
// `HTTPServer` is where to begin; `Exchange` is one request's way through it.

/// A request's first part: all that is known before its body.
public struct HTTPHead: Hashable, Sendable {
    /// As it came: `GET`, `POST`, …
    public let method: String
    /// Without the query, escapes resolved.
    public let path: String
    /// Parameters of the query in their order, escapes resolved; the value is empty where there is none.
    public let query: [Field]
    /// In the order in which they came.
    public let headers: [Field]

    /// A name and what it has.
    public struct Field: Hashable, Sendable {
        public let name: String
        public let value: String
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(method: String, path: String, query: [Field] = [], headers: [Field] = []) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
    }

    /// The first header of that name, whatever the case of its letters.
    public func header(_ name: String) -> String? {
        headers.first { Self.same($0.name, name) }?.value
    }

    /// All headers of that name.
    public func all(_ name: String) -> [String] {
        headers.filter { Self.same($0.name, name) }.map(\.value)
    }

    /// The parameter of that name; nil without one.
    public func parameter(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// Bytes that the body is said to have; nil where that is not known before its end.
    public var contentLength: UInt64? { header("content-length").flatMap { UInt64($0) } }

    private static func same(_ a: String, _ b: String) -> Bool {
        let (a, b) = (a.utf8, b.utf8)
        return a.count == b.count && zip(a, b).allSatisfy { lowered($0) == lowered($1) }
    }

    private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
}

/// A whole request.
public struct HTTPRequest: Hashable, Sendable {
    public let head: HTTPHead
    public let body: [UInt8]
    public init(_ head: HTTPHead, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }
}

/// What a request is answered with.
public struct HTTPResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        /// Without an end that is known before: server-sent events, for example.
        case stream(any HTTPStream)
    }

    public var status: Int
    public var headers: [HTTPHead.Field]
    public var body: Body

    public init(_ status: Int, headers: [HTTPHead.Field] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// With a text and its media type.
    public init(_ status: Int, _ type: String, _ text: String, headers: [HTTPHead.Field] = []) {
        self.init(
            status, headers: [HTTPHead.Field("Content-Type", type)] + headers, body: .bytes(Array(text.utf8)))
    }
}

/// A body that is made while it is sent.
public protocol HTTPStream: AnyObject, Sendable {
    /// Called once, before the first `read`: `wake` makes the server read again. It may be kept and called from any thread.
    func begin(wake: @escaping @Sendable () -> Void)
    /// Writes what is there into `space`, and never waits.
    func read(into space: UnsafeMutableRawBufferPointer) -> HTTPStreamStep
    /// The peer has gone, or the server stops.
    func ended()
}

public enum HTTPStreamStep: Hashable, Sendable {
    case bytes(Int)
    /// Nothing now: read again after `wake`.
    case wait
    case end
}

/// What becomes of a request once its head is read.
public enum HTTPIntake: Sendable {
    /// Answered without looking at its body.
    case answer(HTTPResponse)
    /// Its body is read, at most so many bytes; what is larger is answered with `tooLarge`.
    case read(limit: Int)
}

/// What a server's requests come to.
public protocol HTTPHandler: Sendable {
    /// Says what becomes of a request. On the server's thread: must not wait.
    func begin(_ head: HTTPHead) -> HTTPIntake
    /// Answers a request: `reply` is called once, now or later, from any thread. On the server's thread: must not wait.
    func handle(_ request: HTTPRequest, reply: HTTPReply)
    /// The body has more bytes than allowed.
    func tooLarge(_ head: HTTPHead, limit: Int) -> HTTPResponse
    /// The server has no room for another body now.
    func overloaded(_ head: HTTPHead) -> HTTPResponse
    /// The server stops while the request waits.
    func stopping(_ head: HTTPHead) -> HTTPResponse
    /// A request was answered, for counting.
    func finished(_ head: HTTPHead, status: Int, microseconds: Int64)
}
