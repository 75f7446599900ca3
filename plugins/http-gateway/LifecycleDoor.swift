import Access
import HTTPServer
import HoldgateClient

/// `POST /v1/lifecycle/{start|hold|kill}` and what webhooks mean: decisions in.
struct LifecycleDoor: Sendable {
    private let holdgate: Holdgate
    /// Before the name of who asked, in the history.
    private let source: String
    private let workers = Workers(name: "http-lifecycle", limit: 256)

    init(_ holdgate: Holdgate, source: String) {
        self.holdgate = holdgate
        self.source = source
    }

    /// What is asked for, and under which conditions.
    struct Order: Hashable, Sendable {
        var action: LifecycleAction
        var leaseMs: Int64?
        var waitMs: Int64?
        var gatedEvents: GatedPolicy?
        var reason: String?
        /// Makes it idempotent.
        var key: String?
        var expect: Expectation?
    }

    func handle(
        _ action: LifecycleAction, _ request: HTTPRequest, from asker: Asker, reply: HTTPReply
    ) throws(Problem) {
        try perform(try Self.order(action, request), from: asker, reply: reply)
    }

    /// - Parameter key: for what has no header of its own.
    func perform(_ order: Order, from asker: Asker, reply: HTTPReply) throws(Problem) {
        if let missing = asker.missing(order.action.role) { throw missing }
        let name = "\(source)/\(asker.name ?? "anonymous")"
        let holdgate = holdgate
        let isTaken = workers.run {
            let answer = Result { () throws(HoldgateError) in
                try holdgate.performBlocking(order.command(source: name))
            }
            reply.send(Self.response(answer, hadCondition: order.expect != nil))
        }
        if !isTaken {
            var problem = Problem(429, ErrorCode.overloaded.raw, "too many commands wait; ask again")
            problem.retryable = true
            throw problem
        }
    }

    private static func response(
        _ answer: Result<LifecycleAnswer, HoldgateError>, hadCondition: Bool
    ) -> HTTPResponse {
        switch answer {
        case .success(let answer):
            return .json(
                200, answer.answer.text, headers: [HTTPHead.Field("ETag", StateDoor.tag(answer.status))])
        case .failure(let error):
            // The hold stands, and the drain goes on: the host's own words say so.
            if error.code == .timeout, let reply = error.reply { return .json(202, reply) }
            var problem = Problem(error)
            if error.code == .conflict, hadCondition { problem.status = 412 }
            return problem.response
        }
    }

    static func order(_ action: LifecycleAction, _ request: HTTPRequest) throws(Problem) -> Order {
        var order = Order(action: action)
        order.expect = try expectation(request.head)
        order.key = try IdempotencyKey.read(request.head, bytes: WireBounds.nameBytes)
        guard !request.body.isEmpty else { return order }
        try checkType(request.head)
        let body: JSONValue
        do throws(WireError) {
            body = try JSONValue.parse(request.body)
        } catch {
            throw Problem(400, error.code.raw, error.message)
        }
        guard let members = body.asMembers else { throw argument("the body is no JSON object") }
        for member in members { try take(member, into: &order) }
        return order
    }

    private static func checkType(_ head: HTTPHead) throws(Problem) {
        guard let text = head.header("content-type"), let type = MediaType(text) else { return }
        guard type.isJSON, type.isUTF8 else {
            throw Problem(415, "unsupportedMediaType", "\(text) is not read here: send application/json")
        }
    }

    private static func take(_ member: JSONValue.Member, into order: inout Order) throws(Problem) {
        switch (member.name, order.action) {
        case ("leaseMs", .start): order.leaseMs = try duration(member)
        case ("waitMs", .hold): order.waitMs = try duration(member)
        case ("gatedEvents", .hold):
            guard let policy = member.value.asString.flatMap(GatedPolicy.init(rawValue:)) else {
                throw argument("gatedEvents is none of queue, discard and refuse")
            }
            order.gatedEvents = policy
        case ("reason", _):
            guard let reason = member.value.asString, reason.utf8.count <= WireBounds.reasonBytes else {
                throw argument("reason is no string of up to \(WireBounds.reasonBytes) bytes")
            }
            order.reason = reason
        default: throw argument("\"\(member.name)\" is no member of \(order.action.rawValue)")
        }
    }

    private static func duration(_ member: JSONValue.Member) throws(Problem) -> Int64 {
        // To JSON Schema, and so to the document, 5.0 is a whole number.
        let whole = member.value.asInt64 ?? member.value.asDouble.flatMap { Int64(exactly: $0) }
        guard let ms = whole, (1...WireBounds.durationMs).contains(ms) else {
            throw argument("\(member.name) is no whole number of milliseconds above 0")
        }
        return ms
    }

    /// `If-Match`, with what `GET /v1/state` said as `ETag`.
    static func expectation(_ head: HTTPHead) throws(Problem) -> Expectation? {
        let all = head.all("if-match")
        // An empty one is a condition that went missing: to do without it might open a gate.
        guard !all.isEmpty, all != ["*"] else { return nil }
        let given = all.joined(separator: ",")
        guard let expectation = StateDoor.expectation(tag: given) else {
            var problem = argument("If-Match is not the ETag that /v1/state gave, \"LAUNCH-SEQ\"")
            problem.status = 412
            problem.code = "preconditionFailed"
            throw problem
        }
        return expectation
    }

    private static func argument(_ detail: String) -> Problem {
        Problem(400, ErrorCode.invalidArgument.raw, detail)
    }
}

extension LifecycleDoor.Order {
    func command(source: String) -> Command<LifecycleAnswer> {
        let command: Command<LifecycleAnswer> =
            switch action {
            case .start: .startOperation(lease: leaseMs.map { .milliseconds($0) })
            case .hold: .holdOperation(wait: waitMs.map { .milliseconds($0) }, gatedEvents: gatedEvents)
            case .kill: .kill
            }
        return command.with(source: source, reason: reason, key: key, expect: expect)
    }
}
