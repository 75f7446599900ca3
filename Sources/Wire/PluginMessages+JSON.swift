import Lifecycle

extension PluginMessage {
    /// Reads the first frame of a message from a plugin; unknown members are ignored. `WireBounds` has the bounds.
    ///
    /// Throws `invalidMessage`, and `unsupportedVersion` for a `hello` of another version.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> PluginMessage {
        let value = try parser.parse(bytes)
        var object = try ObjectReader(value, code: .invalidMessage)
        let type = try object.required(object.string("type", bytes: 0...WireBounds.nameBytes), "type")
        switch type {
        case "hello": return .hello(try Hello(&object))
        case "ack": return try ack(&object)
        case "result":
            let id = try object.required(object.uint64("id"), "id")
            switch (object.value("value"), object.value("error")) {
            case (let value?, nil): return .result(id: id, .success(value))
            case (nil, let error?): return .result(id: id, .failure(try WireError(error)))
            case (nil, nil), (.some, .some):
                throw WireError(.invalidMessage, "a result has either \"value\" or \"error\"")
            }
        case "heartbeat": return .heartbeat
        case "bye": return .bye
        default: throw WireError(.invalidMessage, "no message type \(quoted(type)) from a plugin")
        }
    }

    private static func ack(_ object: inout ObjectReader) throws(WireError) -> PluginMessage {
        let through = try object.required(object.uint64("through"), "through")
        var rejects: [Reject] = []
        let elements = try object.array("rejects")
        guard elements.count <= WireBounds.rejectCount else {
            throw WireError(
                .tooLarge,
                "an ack has at most \(WireBounds.rejectCount) rejects, and nothing was taken: acknowledge in several "
                    + "steps")
        }
        for element in elements {
            guard let pair = element.asArray, pair.count == 2, let seq = pair[0].asUInt64, seq > 0,
                let reason = pair[1].asString, reason.utf8.count <= WireBounds.reasonBytes
            else {
                throw object.error(
                    "rejects", "is not [[seq, reason], …] with reasons up to \(WireBounds.reasonBytes) bytes")
            }
            guard seq <= through else {
                throw WireError(
                    .invalidArgument, "\"rejects\" has \(seq), which is not among those up to \"through\"")
            }
            rejects.append(Reject(seq: JournalSeq(seq), reason: reason))
        }
        return .ack(through: JournalSeq(through), rejects: rejects)
    }

    /// Writes the message's first frame.
    public func write(into writer: inout JSONWriter) {
        switch self {
        case .hello(let hello): hello.write(into: &writer)
        case .ack(let through, let rejects):
            writer.beginObject()
            writer.member("type", "ack")
            writer.member("through", through.raw)
            if !rejects.isEmpty {
                writer.member(
                    "rejects",
                    JSONValue.array(rejects.map { .array([.uint($0.seq.raw), .string($0.reason)]) }))
            }
            writer.endObject()
        case .result(let id, let result):
            writer.beginObject()
            writer.member("type", "result")
            writer.member("id", id)
            switch result {
            case .success(let value): writer.member("value", value)
            case .failure(let error):
                writer.name("error")
                error.write(into: &writer)
            }
            writer.endObject()
        case .heartbeat: writeBare("heartbeat", into: &writer)
        case .bye: writeBare("bye", into: &writer)
        }
    }
}

extension PluginMessage.Hello {
    init(_ object: inout ObjectReader) throws(WireError) {
        try object.checkVersion()
        self.init(
            name: try object.required(object.nameString("name"), "name"),
            version: try object.required(object.nameString("version", bytes: 0...128), "version"))
        if let value = object.value("collect") {
            guard let members = value.asMembers else { throw object.error("collect", "is not an object") }
            collect = try CollectRequest(members)
        }
        services =
            try object.names("services", count: 0...WireBounds.helloNames, bytes: 1...WireBounds.serviceBytes)
            ?? []
    }

    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", "hello")
        writer.member("v", 1)
        writer.member("name", name)
        writer.member("version", version)
        if let collect {
            writer.name("collect")
            writer.beginObject()
            writer.member("types", JSONValue.array(collect.types.map { .string($0) }))
            writer.member("windowBytes", collect.windowBytes)
            writer.member("durable", collect.durable)
            writer.endObject()
        }
        if !services.isEmpty { writer.member("services", JSONValue.array(services.map { .string($0) })) }
        writer.endObject()
    }
}

extension CollectRequest {
    fileprivate init(_ members: [JSONValue.Member]) throws(WireError) {
        self.init()
        var object = ObjectReader(members: members, code: .invalidMessage)
        if let types = try object.names(
            "types", count: 1...WireBounds.helloNames, bytes: 0...WireBounds.typeBytes)
        {
            _ = try TypeFilter(types)
            self.types = types
        }
        if let window = try object.int("windowBytes", in: 1...WireBounds.windowBytes) { windowBytes = window }
        if let durable = try object.bool("durable") { self.durable = durable }
    }
}

/// `{"type":…}`.
func writeBare(_ type: String, into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("type", type)
    writer.endObject()
}

extension ObjectReader {
    /// An array's elements; none where the member isn't given.
    mutating func array(_ name: String) throws(WireError) -> [JSONValue] {
        guard let value = value(name) else { return [] }
        guard let elements = value.asArray else { throw error(name, "is not an array") }
        return elements
    }
}
