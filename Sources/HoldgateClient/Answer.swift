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
            .invalidReply,
            "the reply is not one of Holdgate's protocol 1: \(what). Is this the right address?")
    }
}

extension DecodedReply {
    /// Reads one reply; throws `invalidReply`.
    static func read(_ bytes: UnsafeRawBufferPointer, with parser: JSONParser) throws(HoldgateError)
        -> DecodedReply
    {
        do {
            return try parse(bytes, with: parser)
        } catch {
            throw Answer.invalid(error.message)
        }
    }

    /// The answer, or the host's error thrown; `text` is the frame that was read.
    func get(_ text: String) throws(HoldgateError) -> Answer {
        guard let error else { return Answer(text: text, value: members, status: status) }
        throw HoldgateError(error, state: status.state, reply: text)
    }
}
