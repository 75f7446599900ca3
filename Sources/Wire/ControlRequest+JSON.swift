import Lifecycle

/// A request, or what is wrong with it, and the `id` where that could be read: the error reply echoes it.
public struct DecodedRequest: Sendable {
    public let id: String?
    public let result: Result<ControlRequest, WireError>
}

extension ControlRequest {
    /// Reads a request's one frame. `WireBounds` has the bounds of its members.
    ///
    /// `invalidMessage`: no JSON object, or a member twice. `unsupportedVersion`: `v` other than 1.
    /// `unknownCommand`. `invalidArgument`: a member that the command doesn't have, or one out of bounds.
    /// `tooLarge`: the frame, or the patch of `configure`.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser, limits: WireLimits = WireLimits()
    ) -> DecodedRequest {
        var id: String?
        do throws(WireError) {
            guard bytes.count <= limits.maxFrameBytes else {
                throw WireError(.tooLarge, "the request has more than \(limits.maxFrameBytes) bytes")
            }
            var object = try ObjectReader(parser.parse(bytes), code: .invalidArgument)
            id = try JSONValue.idText(object.value("id"), code: .invalidArgument)
            try object.checkVersion()
            let request = try ControlRequest(id: id, object, limits: limits)
            return DecodedRequest(id: id, result: .success(request))
        } catch {
            return DecodedRequest(id: id, result: .failure(error))
        }
    }

    private init(id: String?, _ object: ObjectReader, limits: WireLimits) throws(WireError) {
        var object = object
        let name = try object.required(object.string("command", bytes: 0...WireBounds.nameBytes), "command")
        guard let command = try ControlCommand(name: name, arguments: &object, limits: limits) else {
            throw WireError(.unknownCommand, "no command \(quoted(name)): \"commands\" lists those there are")
        }
        self.init(command, id: id)
        gate = try object.names("gate", count: 0...WireBounds.gateDepth) ?? []
        source = try object.string("source", bytes: 0...WireBounds.sourceBytes)
        reason = try object.string("reason", bytes: 0...WireBounds.reasonBytes)
        if command.isLifecycle {
            key = try object.nameString("key")
            expect = try Self.expectation(object.value("expect"))
        }
        try object.refuseOthers(of: command.name)
    }

    private static func expectation(_ value: JSONValue?) throws(WireError) -> Expectation? {
        guard let value else { return nil }
        guard let members = value.asMembers else {
            throw WireError(.invalidArgument, "\"expect\" is not an object")
        }
        var object = ObjectReader(members: members, code: .invalidArgument)
        let expectation = Expectation(
            launch: try object.string("launch", bytes: 1...WireBounds.nameBytes),
            state: try object.choice("state", LifecycleState.self), seq: try object.uint64("seq"))
        try object.refuseOthers(of: "expect")
        return expectation
    }

    /// Writes the request as `decode` reads it, members that are nil left out.
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("v", 1)
        if let id { writer.member("id", JSONValue.raw(id)) }
        writer.member("command", command.name)
        command.writeArguments(into: &writer)
        if !gate.isEmpty { writer.member("gate", JSONValue.array(gate.map { .string($0) })) }
        if let source { writer.member("source", source) }
        if let reason { writer.member("reason", reason) }
        if let key { writer.member("key", key) }
        if let expect {
            writer.name("expect")
            expect.write(into: &writer)
        }
        writer.endObject()
    }

    /// What makes two requests under one key the same: command, arguments, gate and `expect`, in one fixed form.
    public var fingerprint: String {
        var same = ControlRequest(command, gate: gate)
        same.expect = expect
        var writer = JSONWriter()
        same.write(into: &writer)
        return writer.text
    }
}

extension Expectation {
    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        if let launch { writer.member("launch", launch) }
        if let state { writer.member("state", state.rawValue) }
        if let seq { writer.member("seq", seq) }
        writer.endObject()
    }
}

extension ControlCommand {
    /// The command of that name or alias; nil without one.
    fileprivate init?(
        name: String, arguments: inout ObjectReader, limits: WireLimits
    ) throws(WireError) {
        switch name {
        case "startOperation", "start":
            self = .startOperation(leaseMs: try arguments.int64("leaseMs", in: 1...WireBounds.durationMs))
        case "holdOperation", "hold":
            let waitMs = try arguments.int64("waitMs", in: 0...WireBounds.durationMs)
            let policy = try arguments.choice("gatedEvents", GatedPolicy.self)
            self = .holdOperation(waitMs: waitMs, gatedEvents: policy)
        case "kill": self = .kill
        case "initialize": self = .initialize
        case "initializeWithHoldingOperations": self = .initializeWithHoldingOperations
        case "endLaunch": self = .endLaunch(restart: try arguments.bool("restart") ?? false)
        case "state": self = .state
        case "isOperating": self = .isOperating
        case "ping": self = .ping
        case "commands": self = .commands
        case "configuration": self = .configuration
        case "configure": self = .configure(patch: try Self.patch(&arguments, limits: limits))
        case "history":
            let page = try Self.page(&arguments)
            self = .history(after: page.after, limit: page.limit)
        case "plugins": self = .plugins
        case "forget": self = .forget(name: try arguments.required(arguments.nameString("name"), "name"))
        case "deadLetters":
            let page = try Self.page(&arguments)
            self = .deadLetters(after: page.after, limit: page.limit)
        case "requeue": self = .requeue(seqs: try Self.seqs(&arguments))
        case "stats": self = .stats
        case "request": self = try Self.request(&arguments)
        case "plugin":
            self = .plugin(
                name: try arguments.required(arguments.nameString("name"), "name"),
                try arguments.required(arguments.choice("action", PluginAction.self), "action"))
        case "appLifecycle":
            self = .appLifecycle(
                app: try arguments.required(arguments.nameString("app"), "app"),
                try arguments.required(arguments.choice("phase", AppPhase.self), "phase"))
        case "reload": self = .reload
        default: return nil
        }
    }

    private static func request(_ arguments: inout ObjectReader) throws(WireError) -> ControlCommand {
        let service = try arguments.required(
            arguments.nameString("service", bytes: 1...WireBounds.serviceBytes), "service")
        let object = arguments.value("arguments") ?? .object([])
        guard object.asMembers != nil else { throw arguments.error("arguments", "is not an object") }
        let timeoutMs = try arguments.int64("timeoutMs", in: 1...WireBounds.requestTimeoutMs)
        return .request(
            service: service, arguments: object, timeoutMs: timeoutMs ?? WireBounds.defaultRequestTimeoutMs)
    }

    private static func patch(
        _ arguments: inout ObjectReader, limits: WireLimits
    ) throws(WireError) -> String {
        let set = try arguments.required(arguments.value("set"), "set")
        guard set.asMembers != nil else { throw arguments.error("set", "is not an object") }
        let text = set.text
        guard text.utf8.count <= limits.maxConfigurationBytes else {
            throw WireError(.tooLarge, "\"set\" has more than \(limits.maxConfigurationBytes) bytes")
        }
        return text
    }

    private static func page(
        _ arguments: inout ObjectReader
    ) throws(WireError) -> (after: UInt64, limit: Int) {
        let after = try arguments.uint64("after") ?? 0
        let limit = try arguments.int("limit", in: 1...WireBounds.pageLimit) ?? WireBounds.defaultPageLimit
        return (after, limit)
    }

    private static func seqs(_ arguments: inout ObjectReader) throws(WireError) -> [UInt64] {
        let value = try arguments.required(arguments.value("seqs"), "seqs")
        guard let elements = value.asArray, (1...WireBounds.requeueCount).contains(elements.count) else {
            throw arguments.error("seqs", "is not an array of 1 to \(WireBounds.requeueCount) numbers")
        }
        var seqs: [UInt64] = []
        for element in elements {
            guard let seq = element.asUInt64, seq > 0 else {
                throw arguments.error("seqs", "has an element that is no whole number from 1 on")
            }
            seqs.append(seq)
        }
        return seqs
    }

    fileprivate func writeArguments(into writer: inout JSONWriter) {
        switch self {
        case .startOperation(let leaseMs):
            if let leaseMs { writer.member("leaseMs", leaseMs) }
        case .holdOperation(let waitMs, let gatedEvents):
            if let waitMs { writer.member("waitMs", waitMs) }
            if let gatedEvents { writer.member("gatedEvents", gatedEvents.rawValue) }
        case .endLaunch(let restart):
            if restart { writer.member("restart", true) }
        case .configure(let patch):
            writer.member("set", JSONValue.raw(patch))
        case .history(let after, let limit), .deadLetters(let after, let limit):
            writer.member("after", after)
            writer.member("limit", limit)
        case .forget(let name):
            writer.member("name", name)
        case .requeue(let seqs):
            writer.member("seqs", JSONValue.array(seqs.map { .uint($0) }))
        case .request(let service, let object, let timeoutMs):
            writer.member("service", service)
            writer.member("arguments", object)
            writer.member("timeoutMs", timeoutMs)
        case .plugin(let name, let action):
            writer.member("name", name)
            writer.member("action", action.rawValue)
        case .appLifecycle(let app, let phase):
            writer.member("app", app)
            writer.member("phase", phase.rawValue)
        case .kill, .initialize, .initializeWithHoldingOperations, .state, .isOperating, .ping, .commands,
            .configuration, .plugins, .stats, .reload:
            break
        }
    }
}
