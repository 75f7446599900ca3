import Access
import HTTPServer
import HoldgateClient
import Platform

/// The routes, and who may take them. What is behind each is its door's.
final class Gateway: HTTPHandler {
    struct Configuration: Sendable {
        /// Bytes of a request with events; a frame of `ingest` has no more.
        var eventsBytes = WireLimits().maxFrameBytes
        /// Clients of `/v1/stream`.
        var streams = 256
        var crossOrigin = CrossOrigin()
        var anonymous = Permissions.none
    }

    struct Doors: Sendable {
        let events: EventsDoor
        let lifecycle: LifecycleDoor
        let state: StateDoor
        let history: HistoryDoor
        let feed: HistoryFeed
        let metrics: MetricsDoor
    }

    /// Bytes of a request without events.
    static let commandBytes = 64 << 10

    let configuration: Configuration
    private let doors: Doors
    private let access: Locked<AccessFile>
    private let webhooks = Webhooks(startMs: Clock.wallMs())
    private let counts = HTTPMetrics()
    private let pages = Workers(name: "http-pages", limit: 8)
    private let connectionCount = Locked<@Sendable () -> Int>({ 0 })

    init(_ configuration: Configuration, _ access: AccessFile, _ doors: Doors) {
        self.configuration = configuration
        self.access = Locked(access)
        self.doors = doors
    }

    /// Whom requests from now on are taken for.
    func replace(_ access: AccessFile) { self.access.withLock { $0 = access } }

    /// For metrics: the server's count.
    func count(connections: @escaping @Sendable () -> Int) { connectionCount.withLock { $0 = connections } }

    private var authorization: Authorization {
        Authorization(access: access.withLock { $0 }, anonymous: configuration.anonymous)
    }

    // MARK: HTTPHandler

    func begin(_ head: HTTPHead) -> HTTPIntake {
        do throws(Problem) {
            if let refusal = configuration.crossOrigin.refuses(head) { throw refusal }
            guard let route = Route(path: head.path) else {
                throw Problem(
                    404, "notFound", "nothing is served at \(head.path); /openapi.json says what is")
            }
            if head.method == "OPTIONS" {
                return .answer(finished(configuration.crossOrigin.preflight(head, route), head))
            }
            guard route.methods.contains(head.method) else {
                throw Problem(
                    405, "methodNotAllowed",
                    "\(route.pattern) takes \(route.methods.joined(separator: " and "))",
                    headers: [HTTPHead.Field("Allow", (route.methods + ["OPTIONS"]).joined(separator: ", "))])
            }
            return .read(limit: try intake(route, head))
        } catch {
            return .answer(finished(error.response, head))
        }
    }

    /// Bytes of the body; whoever may not ask is told before it is read.
    private func intake(_ route: Route, _ head: HTTPHead) throws(Problem) -> Int {
        switch route {
        case .health, .ready, .openAPI: return Self.commandBytes
        case .metrics, .state, .history, .stream: try require(.observe, head)
        case .events:
            try require(.produce, head)
            return configuration.eventsBytes
        case .lifecycle(let action):
            // A signature is over the body.
            if head.header("webhook-signature") == nil { try require(action.role, head) }
        case .webhook(let name):
            guard access.withLock({ $0.webhooks.contains { $0.name == name } }) else {
                throw Problem(404, "notFound", "there is no webhook \(name)")
            }
        }
        return Self.commandBytes
    }

    private func require(_ role: Role, _ head: HTTPHead) throws(Problem) {
        if let missing = try authorization.asker(head).missing(role) { throw missing }
    }

    func handle(_ request: HTTPRequest, reply: HTTPReply) {
        let head = request.head
        let reply = HTTPReply { [self] response in reply.send(finished(response, head)) }
        guard let route = Route(path: head.path) else { preconditionFailure("begin() let a path in") }
        do throws(Problem) {
            try handle(route, request, reply)
        } catch {
            reply.send(error.response)
        }
    }

    private func handle(_ route: Route, _ request: HTTPRequest, _ reply: HTTPReply) throws(Problem) {
        switch route {
        case .health: reply.send(.json(200, #"{"ok":true}"#))
        case .ready: doors.state.ready(reply)
        case .openAPI:
            reply.send(
                HTTPResponse(
                    200, headers: [HTTPHead.Field("Content-Type", "application/json")],
                    body: .bytes(OpenAPI.document)))
        case .metrics:
            let (counts, feed, connections) = (counts, doors.feed, connectionCount.withLock { $0 })
            doors.metrics.show(
                request.head,
                own: { counts.add(to: &$0, connections: connections(), streams: feed.listenerCount) },
                reply: reply)
        case .state: doors.state.show(reply)
        case .history: try doors.history.show(request.head, reply: reply)
        case .stream: try stream(request.head, reply)
        case .events: try doors.events.handle(request, from: authorization.asker(request.head), reply: reply)
        case .lifecycle(let action): try lifecycle(action, request, reply)
        case .webhook(let name): try webhook(name, request, reply)
        }
    }

    private func stream(_ head: HTTPHead, _ reply: HTTPReply) throws(Problem) {
        var place: UInt64?
        if let given = head.header("last-event-id"), !given.isEmpty {
            guard let number = UInt64(given) else {
                throw Problem(
                    400, ErrorCode.invalidArgument.raw,
                    "Last-Event-ID is no number of a record of the history")
            }
            place = number
        }
        guard doors.feed.listenerCount < configuration.streams else {
            var problem = Problem(
                429, ErrorCode.overloaded.raw, "\(configuration.streams) clients follow the stream already")
            problem.retryable = true
            throw problem
        }
        guard head.method == "GET" else {
            return reply.send(HTTPResponse(200, headers: Self.streamHeaders))
        }
        let stream = EventStream(doors.feed, after: place, workers: pages)
        reply.send(HTTPResponse(200, headers: Self.streamHeaders, body: .stream(stream)))
    }

    private static let streamHeaders = [
        HTTPHead.Field("Content-Type", "text/event-stream"), HTTPHead.Field("Cache-Control", "no-store"),
        // A proxy that gathers the answer first would hand on nothing.
        HTTPHead.Field("X-Accel-Buffering", "no"),
    ]

    private func lifecycle(
        _ action: LifecycleAction, _ request: HTTPRequest, _ reply: HTTPReply
    ) throws(Problem) {
        guard request.head.header("webhook-signature") != nil else {
            let asker = try authorization.asker(request.head)
            return try doors.lifecycle.handle(action, request, from: asker, reply: reply)
        }
        let all = access.withLock { $0.webhooks }
        try signed(request, among: all, reply) { verified, _ throws(Problem) in
            try LifecycleDoor.order(action, request)
        }
    }

    private func webhook(_ name: String, _ request: HTTPRequest, _ reply: HTTPReply) throws(Problem) {
        let its = access.withLock { $0.webhooks.filter { $0.name == name } }
        try signed(request, among: its, reply) { verified, body throws(Problem) in
            guard let rule = verified.webhook.rules.first(where: { $0.matches(body) }) else { return nil }
            return LifecycleDoor.Order(action: rule.action, reason: "webhook \(verified.id)")
        }
    }

    /// - Parameter order: what the request asks for; nil: nothing that is done here.
    private func signed(
        _ request: HTTPRequest, among webhooks: [AccessFile.Webhook], _ reply: HTTPReply,
        _ order: (Webhooks.Verified, JSONValue) throws(Problem) -> LifecycleDoor.Order?
    ) throws(Problem) {
        let memory = self.webhooks
        let verified = try memory.verify(
            request.head, body: request.body, among: webhooks, nowMs: Clock.wallMs())
        do throws(Problem) {
            let body = (try? JSONValue.parse(request.body)) ?? .null
            guard var order = try order(verified, body) else {
                return reply.send(.json(200, #"{"ignored":true}"#))
            }
            order.key = verified.key
            let again = HTTPReply { response in
                if response.status >= 429 { memory.forget(verified) }
                reply.send(response)
            }
            try doors.lifecycle.perform(order, from: verified.asker, reply: again)
        } catch {
            memory.forget(verified)
            throw error
        }
    }

    func tooLarge(_ head: HTTPHead, limit: Int) -> HTTPResponse {
        let problem = Problem(
            413, ErrorCode.tooLarge.raw, "a body here has at most \(limit) bytes: send fewer events at a time"
        )
        return finished(problem.response, head)
    }

    func overloaded(_ head: HTTPHead) -> HTTPResponse {
        var problem = Problem(429, ErrorCode.overloaded.raw, "too much is being read; ask again")
        problem.retryable = true
        return finished(problem.response, head)
    }

    func stopping(_ head: HTTPHead) -> HTTPResponse {
        var problem = Problem(503, ErrorCode.shuttingDown.raw, "the gateway stops")
        problem.retryable = true
        problem.isOutcomeUnknown = head.method == "POST"
        return finished(problem.response, head)
    }

    func finished(_ head: HTTPHead, status: Int, microseconds: Int64) {
        counts.finished(
            Route(path: head.path)?.pattern ?? "other", status: status, microseconds: microseconds)
    }

    /// What every answer has.
    private func finished(_ response: HTTPResponse, _ head: HTTPHead) -> HTTPResponse {
        var response = response
        response.headers += configuration.crossOrigin.headers(for: head)
        response.headers.append(HTTPHead.Field("X-Content-Type-Options", "nosniff"))
        return response
    }
}
