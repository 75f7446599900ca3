import Lifecycle

extension ControlReply {
    /// Writes the reply's one frame; `id` is null without one.
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writeReplyStart(id: id, isOK: error == nil, into: &writer)
        status.writeMembers(into: &writer)
        for member in members { writer.member(member.name, member.value) }
        if let error {
            writer.name("error")
            error.write(into: &writer)
        }
        writer.endObject()
    }
}

extension IngestReply {
    /// Writes the reply's one frame; `id` is null without one.
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        var failure: WireError?
        switch outcome {
        case .taken(let accepted, let gated, let discarded, let kept, let last):
            writeReplyStart(id: id, isOK: true, into: &writer)
            writer.member("accepted", accepted)
            writer.member("gated", gated)
            writer.member("discarded", discarded)
            writer.member("duplicate", false)
            writer.member("kept", kept)
            if let last { writer.member("last", last.raw) }
        case .duplicate(let lastBatch):
            writeReplyStart(id: id, isOK: true, into: &writer)
            writer.member("accepted", 0)
            writer.member("gated", 0)
            writer.member("discarded", 0)
            writer.member("duplicate", true)
            writer.member("lastBatch", lastBatch)
        case .refused(let error, let lastBatch):
            writeReplyStart(id: id, isOK: false, into: &writer)
            if let lastBatch { writer.member("lastBatch", lastBatch) }
            failure = error
        }
        status.writeMembers(into: &writer)
        if let failure {
            writer.name("error")
            failure.write(into: &writer)
        }
        writer.endObject()
    }

    /// Reads a reply of `ingest`; throws `invalidMessage`.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> IngestReply {
        let reply = try DecodedReply.parse(bytes, with: parser)
        var object = try ObjectReader(reply.members, code: .invalidMessage)
        let lastBatch = try object.uint64("lastBatch")
        let outcome: Outcome
        if let error = reply.error {
            outcome = .refused(error, lastBatch: lastBatch)
        } else if try object.required(object.bool("duplicate"), "duplicate") {
            outcome = .duplicate(lastBatch: try object.required(lastBatch, "lastBatch"))
        } else {
            let counts = 0...Int(Int32.max)
            outcome = .taken(
                accepted: try object.required(object.int("accepted", in: counts), "accepted"),
                gated: try object.required(object.int("gated", in: counts), "gated"),
                discarded: try object.required(object.int("discarded", in: counts), "discarded"),
                kept: try object.required(object.bool("kept"), "kept"),
                last: try object.uint64("last").map { JournalSeq($0) })
        }
        return IngestReply(id: reply.id, outcome: outcome, status: reply.status)
    }
}

private func writeReplyStart(id: String?, isOK: Bool, into writer: inout JSONWriter) {
    writer.member("v", 1)
    writer.member("id", JSONValue.raw(id ?? "null"))
    writer.member("ok", isOK)
}

extension HostStatus {
    /// `state`, `isOperating`, `seq`, `launch`, into an object that is being written.
    func writeMembers(into writer: inout JSONWriter) {
        writer.member("state", state.rawValue)
        writer.member("isOperating", state.isOperating)
        writer.member("seq", seq.raw)
        writer.member("launch", launch.raw)
    }

    /// Reads `state`, `seq` and `launch`.
    init(_ object: inout ObjectReader) throws(WireError) {
        let state = try object.required(object.choice("state", LifecycleState.self), "state")
        let seq = try object.required(object.uint64("seq"), "seq")
        self.init(state: state, seq: TransitionSeq(seq), launch: try object.launch())
    }
}

extension ObjectReader {
    mutating func launch() throws(WireError) -> LaunchID {
        guard let launch = try LaunchID(required(string("launch", bytes: 0...WireBounds.nameBytes), "launch"))
        else { throw error("launch", "is not 32 lowercase hexadecimal digits") }
        return launch
    }
}

extension WireError {
    /// `{"code":…,"message":…,"retryable":…}`, and `index` and `outcome` where there is one.
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("code", code.raw)
        writer.member("message", message)
        writer.member("retryable", retryable)
        if let index { writer.member("index", index) }
        if isOutcomeUnknown { writer.member("outcome", "unknown") }
        writer.endObject()
    }

    /// Reads an `error` object; throws `invalidMessage` where it is none.
    public init(_ value: JSONValue) throws(WireError) {
        guard let members = value.asMembers else {
            throw WireError(.invalidMessage, "\"error\" is not an object")
        }
        var object = ObjectReader(members: members, code: .invalidMessage)
        let code = try object.required(object.string("code", bytes: 1...WireBounds.nameBytes), "code")
        self.init(
            ErrorCode(code), try object.string("message", bytes: 0...Int.max) ?? "",
            retryable: try object.bool("retryable") ?? false, index: try object.int("index", in: 0...Int.max),
            isOutcomeUnknown: try object.string("outcome", bytes: 0...WireBounds.nameBytes) == "unknown")
    }
}

/// A reply as a client reads it.
public struct DecodedReply: Hashable, Sendable {
    /// The request's `id` as JSON text; nil when it gave none.
    public let id: String?
    public let status: HostStatus
    /// Nil: `ok` is true.
    public let error: WireError?
    /// The whole reply, an object.
    public let members: JSONValue

    public var isOK: Bool { error == nil }
    public subscript(name: String) -> JSONValue? { members[name] }

    /// Reads a reply of `control` or `ingest`; throws `invalidMessage`. What it doesn't know, it keeps.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, with parser: JSONParser
    ) throws(WireError) -> DecodedReply {
        let value = try parser.parse(bytes)
        var object = try ObjectReader(value, code: .invalidMessage)
        try object.checkVersion()
        let id = try JSONValue.idText(object.value("id"), code: .invalidMessage)
        var error: WireError?
        if try !object.required(object.bool("ok"), "ok") {
            error = try WireError(object.required(object.value("error"), "error"))
        }
        return DecodedReply(id: id, status: try HostStatus(&object), error: error, members: value)
    }
}
