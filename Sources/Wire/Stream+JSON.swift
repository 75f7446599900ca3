import Lifecycle

// Each of these is one frame, written and read as one JSON object; readers ignore unknown members and throw
// `invalidMessage`.

extension StreamHeader {
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("launch", launch.raw)
        writer.member("run", run)
        writer.member("seq", seq)
        if let prev { writer.member("prev", prev) }
        if let heldMs { writer.member("heldMs", max(0, heldMs)) }
        writer.endObject()
    }

    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> StreamHeader {
        var object = try ObjectReader(parser.parse(bytes), code: .invalidMessage)
        return StreamHeader(
            launch: try object.launch(), run: try object.required(object.nameString("run"), "run"),
            seq: try object.required(object.uint64("seq"), "seq"), prev: try object.uint64("prev"),
            heldMs: try object.int64("heldMs", in: 0...Int64.max))
    }
}

extension StateBody {
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(into: &writer)
        writer.endObject()
    }

    func writeMembers(into writer: inout JSONWriter) {
        writer.member("state", state.rawValue)
        if let previous { writer.member("previous", previous.rawValue) }
        writer.member("command", command)
        if let source { writer.member("source", source) }
        if let reason { writer.member("reason", reason) }
        writer.member("time", Timestamp.text(ms: wallMs))
        writer.member("pending", pending)
        if let undelivered { writer.member("undelivered", undelivered) }
        if snapshot { writer.member("snapshot", true) }
    }

    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> StateBody {
        var object = try ObjectReader(parser.parse(bytes), code: .invalidMessage)
        return try StateBody(&object)
    }

    init(_ object: inout ObjectReader) throws(WireError) {
        self.init(
            state: try object.required(object.choice("state", LifecycleState.self), "state"),
            previous: try object.choice("previous", LifecycleState.self),
            command: try object.required(
                object.string("command", bytes: 1...WireBounds.nameBytes), "command"),
            source: try object.string("source", bytes: 0...Int.max),
            reason: try object.string("reason", bytes: 0...Int.max),
            wallMs: try object.required(object.time("time"), "time"),
            pending: try object.required(object.uint64("pending"), "pending"),
            undelivered: try object.uint64("undelivered"), snapshot: try object.bool("snapshot") ?? false)
    }
}

extension DrainBody {
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("total", total)
        writer.member("remaining", remaining)
        writer.endObject()
    }

    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> DrainBody {
        var object = try ObjectReader(parser.parse(bytes), code: .invalidMessage)
        return DrainBody(
            total: try object.required(object.uint64("total"), "total"),
            remaining: try object.required(object.uint64("remaining"), "remaining"))
    }
}

extension HeartbeatBody {
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("state", state.rawValue)
        writer.member("time", Timestamp.text(ms: wallMs))
        writer.name("heads")
        writer.beginObject()
        writer.member("state", stateHead)
        writer.member("event", eventHead)
        writer.endObject()
        writer.endObject()
    }

    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> HeartbeatBody {
        var object = try ObjectReader(parser.parse(bytes), code: .invalidMessage)
        let state = try object.required(object.choice("state", LifecycleState.self), "state")
        let wallMs = try object.required(object.time("time"), "time")
        guard let members = object.value("heads")?.asMembers else {
            throw object.error("heads", "is missing or not an object")
        }
        var heads = ObjectReader(members: members, code: .invalidMessage)
        return HeartbeatBody(
            state: state, wallMs: wallMs, stateHead: try heads.required(heads.uint64("state"), "state"),
            eventHead: try heads.required(heads.uint64("event"), "event"))
    }
}

extension PluginBody {
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("plugin", plugin)
        writer.member("change", change.rawValue)
        if let reason { writer.member("reason", reason) }
        writer.endObject()
    }

    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> PluginBody {
        var object = try ObjectReader(parser.parse(bytes), code: .invalidMessage)
        return PluginBody(
            plugin: try object.required(object.nameString("plugin"), "plugin"),
            change: try object.required(object.choice("change", Change.self), "change"),
            reason: try object.string("reason", bytes: 0...Int.max))
    }
}

extension AppBody {
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(into: &writer)
        writer.endObject()
    }

    func writeMembers(into writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("phase", phase.rawValue)
        writer.member("time", Timestamp.text(ms: wallMs))
    }

    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> AppBody {
        var object = try ObjectReader(parser.parse(bytes), code: .invalidMessage)
        return try AppBody(&object)
    }

    init(_ object: inout ObjectReader) throws(WireError) {
        self.init(
            app: try object.required(object.nameString("app"), "app"),
            phase: try object.required(object.choice("phase", AppPhase.self), "phase"),
            wallMs: try object.required(object.time("time"), "time"))
    }
}
