import Lifecycle

extension HostMessage {
    /// Writes the message's first frame.
    public func write(into writer: inout JSONWriter) {
        switch self {
        case .welcome(let status, let run, let cursor, let heartbeatMs):
            writer.beginObject()
            writer.member("type", "welcome")
            writer.member("launch", status.launch.raw)
            writer.member("run", run)
            writer.member("state", status.state.rawValue)
            writer.member("seq", status.seq.raw)
            if let cursor { writer.member("cursor", cursor.raw) }
            writer.member("heartbeatMs", heartbeatMs)
            writer.endObject()
        case .refused(let error): Self.write("refused", error, into: &writer)
        case .error(let error): Self.write("error", error, into: &writer)
        case .deliver(let header): header.write(into: &writer)
        case .state(let body, let seq, let launch):
            writer.beginObject()
            writer.member("type", "state")
            writer.member("launch", launch.raw)
            writer.member("seq", seq.raw)
            body.writeMembers(into: &writer)
            writer.endObject()
        case .request(let id, let service, let arguments, let timeoutMs):
            writer.beginObject()
            writer.member("type", "request")
            writer.member("id", id)
            writer.member("service", service)
            writer.member("arguments", arguments)
            writer.member("timeoutMs", timeoutMs)
            writer.endObject()
        case .app(let body):
            writer.beginObject()
            writer.member("type", "app")
            body.writeMembers(into: &writer)
            writer.endObject()
        case .heartbeat: writeBare("heartbeat", into: &writer)
        case .goodbye: writeBare("goodbye", into: &writer)
        case .helloWanted: writeBare("hello?", into: &writer)
        }
    }

    private static func write(_ type: String, _ error: WireError, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", type)
        writer.name("error")
        error.write(into: &writer)
        writer.endObject()
    }

    /// Reads the first frame of a message from the host; throws `invalidMessage`. Nil: a type that this version
    /// doesn't know, to be ignored.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> HostMessage? {
        var object = try ObjectReader(parser.parse(bytes), code: .invalidMessage)
        let type = try object.required(object.string("type", bytes: 0...WireBounds.nameBytes), "type")
        switch type {
        case "welcome":
            return .welcome(
                status: try HostStatus(&object),
                run: try object.required(object.nameString("run"), "run"),
                cursor: try object.uint64("cursor").map { JournalSeq($0) },
                heartbeatMs: try object.required(
                    object.int("heartbeatMs", in: 1...Int(WireBounds.durationMs)), "heartbeatMs"))
        case "refused": return .refused(try WireError(object.required(object.value("error"), "error")))
        case "error": return .error(try WireError(object.required(object.value("error"), "error")))
        case "deliver": return .deliver(try DeliverHeader(&object))
        case "state":
            let seq = try object.required(object.uint64("seq"), "seq")
            let launch = try object.launch()
            return .state(try StateBody(&object), seq: TransitionSeq(seq), launch: launch)
        case "request":
            return .request(
                id: try object.required(object.uint64("id"), "id"),
                service: try object.required(
                    object.nameString("service", bytes: 1...WireBounds.serviceBytes), "service"),
                arguments: object.value("arguments") ?? .object([]),
                timeoutMs: try object.required(
                    object.int64("timeoutMs", in: 0...WireBounds.durationMs), "timeoutMs"))
        case "app": return .app(try AppBody(&object))
        case "heartbeat": return .heartbeat
        case "goodbye": return .goodbye
        case "hello?": return .helloWanted
        default: return nil
        }
    }
}

extension DeliverHeader {
    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", "deliver")
        writer.member("launch", launch.raw)
        Self.write("ranges", ranges.map { [$0.first.raw, $0.count] }, into: &writer)
        Self.write(
            "under", under.map { [$0.range.first.raw, $0.range.count, $0.transition.raw] }, into: &writer)
        if !held.isEmpty {
            // A clock that was set back makes no age negative.
            Self.write(
                "held", held.map { [$0.range.first.raw, $0.range.count, UInt64(max(0, $0.ms))] },
                into: &writer)
        }
        writer.member("redelivered", redelivered)
        writer.endObject()
    }

    private static func write(_ name: String, _ rows: [[UInt64]], into writer: inout JSONWriter) {
        writer.name(name)
        writer.beginArray()
        for row in rows {
            writer.beginArray()
            for number in row { writer.value(number) }
            writer.endArray()
        }
        writer.endArray()
    }

    fileprivate init(_ object: inout ObjectReader) throws(WireError) {
        let ranges = try object.ranges("ranges", extra: 0)
        guard !ranges.isEmpty else { throw object.error("ranges", "is missing or empty") }
        let under = try object.ranges("under", extra: 1)
        let held = try object.ranges("held", extra: 1)
        self.init(
            launch: try object.launch(), ranges: ranges.map(\.range),
            under: under.map { Under(range: $0.range, transition: TransitionSeq($0.extra)) },
            held: held.map { Held(range: $0.range, ms: Int64(clamping: $0.extra)) },
            redelivered: try object.bool("redelivered") ?? false)
    }
}

extension ObjectReader {
    /// Rows of `[first seq, count]`, or of three numbers with `extra` 1.
    fileprivate mutating func ranges(
        _ name: String, extra: Int
    ) throws(WireError) -> [(range: SeqRange, extra: UInt64)] {
        var rows: [(range: SeqRange, extra: UInt64)] = []
        for element in try array(name) {
            guard let numbers = element.asArray?.compactMap(\.asUInt64), numbers.count == 2 + extra,
                element.asArray?.count == numbers.count, numbers[0] > 0, numbers[1] > 0,
                !numbers[0].addingReportingOverflow(numbers[1]).overflow
            else { throw error(name, "has a row that is not a range of events") }
            let range = SeqRange(first: JournalSeq(numbers[0]), count: numbers[1])
            rows.append((range, extra == 1 ? numbers[2] : 0))
        }
        return rows
    }
}
