import Lifecycle
import Wire

/// A reply of `control` with `ok:true`, read but not interpreted.
public struct Answer: Hashable, Sendable {
    /// The reply's frame as it came: one JSON object.
    public let text: String
    public let value: JSONValue
    /// The host's state, transition and launch, as every reply has them.
    public let status: HostStatus

    public init(text: String, value: JSONValue, status: HostStatus) {
        self.text = text
        self.value = value
        self.status = status
    }

    /// A member that counts something; `invalidReply` where it is missing.
    func count(_ name: String) throws(HoldgateError) -> UInt64 {
        guard let count = value[name]?.asUInt64 else { throw Answer.invalid("\"\(name)\" is no count") }
        return count
    }

    func object(_ name: String) throws(HoldgateError) -> JSONValue {
        guard let object = value[name], object.asMembers != nil else {
            throw Answer.invalid("\"\(name)\" is no object")
        }
        return object
    }

    func array(_ name: String) throws(HoldgateError) -> [JSONValue] {
        guard let array = value[name]?.asArray else { throw Answer.invalid("\"\(name)\" is no array") }
        return array
    }

    static func invalid(_ what: String) -> HoldgateError {
        HoldgateError(
            .invalidReply, "the reply is not one of Holdgate's protocol 1: \(what). Is this the right address?")
    }
}

/// Any reply: an answer or the error that the host gave, and whose request it is for.
struct DecodedReply: Hashable, Sendable {
    /// The request's `id` as JSON text; nil where the reply names none.
    let id: String?
    let answer: Answer
    let error: WireError?

    /// Reads one reply; throws `invalidReply`.
    init(_ bytes: UnsafeRawBufferPointer, with parser: JSONParser) throws(HoldgateError) {
        let value: JSONValue
        do {
            value = try parser.parse(bytes)
        } catch {
            throw Answer.invalid(error.message)
        }
        guard let ok = value["ok"]?.asBool, let status = HostStatus(value) else {
            throw Answer.invalid("\"ok\", \"state\", \"seq\" or \"launch\" is missing")
        }
        let id = value["id"]
        self.id = id == nil || id == .null ? nil : id?.text
        answer = Answer(text: String(decoding: bytes, as: UTF8.self), value: value, status: status)
        error = ok ? nil : WireError(value["error"])
    }

    func get() throws(HoldgateError) -> Answer {
        guard let error else { return answer }
        throw HoldgateError(error, state: answer.status.state, reply: answer.text)
    }
}

extension HostStatus {
    init?(_ value: JSONValue) {
        guard let state = value["state"]?.asString.flatMap(LifecycleState.init(rawValue:)),
            let seq = value["seq"]?.asUInt64, let launch = value["launch"]?.asString.flatMap(LaunchID.init)
        else { return nil }
        self.init(state: state, seq: TransitionSeq(seq), launch: launch)
    }
}

extension WireError {
    /// A reply's `error`; one that says nothing is `internal`.
    init(_ value: JSONValue?) {
        self.init(
            ErrorCode(value?["code"]?.asString ?? ErrorCode.internalError.raw),
            value?["message"]?.asString ?? "the host gave no reason",
            retryable: value?["retryable"]?.asBool ?? false, index: value?["index"]?.asInt)
    }
}
