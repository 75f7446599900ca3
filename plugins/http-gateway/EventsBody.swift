import HTTPServer
import HoldgateClient

/// A request's events, as the host's `ingest` takes them.
///
/// CloudEvents' HTTP binding has three modes, told apart by the content type and the `ce-` headers; newline-delimited JSON is
/// the fourth. What an event says is the host's to check: here the frames alone are looked at.
enum EventsBody {
    /// Empty: a batch without events.
    static func frame(_ request: HTTPRequest) throws(Problem) -> [UInt8] {
        let head = request.head
        if let encoding = head.header("content-encoding"), encoding.lowercased() != "identity" {
            throw Problem(
                415, "unsupportedMediaType",
                "the content encoding \(encoding) is not read here; send it plain",
                headers: [HTTPHead.Field("Accept-Encoding", "identity")])
        }
        let type = try mediaType(head)
        switch type?.essence {
        case "application/cloudevents-batch+json": return try batch(request.body)
        case "application/cloudevents+json": return try single(request.body)
        default: break
        }
        if head.headers.contains(where: { $0.name.lowercased().hasPrefix("ce-") }) {
            return try BinaryEvent.line(request, type)
        }
        switch type?.essence {
        case nil, "text/plain", "application/json", "application/octet-stream":
            // What `sendBeacon` and plain scripts say; what it is shows in the first character.
            let first = request.body.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }
            return first == UInt8(ascii: "[") ? try batch(request.body) : request.body
        case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
            return request.body
        case .some(let essence):
            throw Problem(
                415, "unsupportedMediaType",
                "\(essence) is not read here: send application/cloudevents+json, application/cloudevents-batch+json, "
                    + "application/x-ndjson, or an event in binary mode with ce- headers")
        }
    }

    private static func mediaType(_ head: HTTPHead) throws(Problem) -> MediaType? {
        guard let text = head.header("content-type") else { return nil }
        guard let type = MediaType(text) else {
            throw Problem(415, "unsupportedMediaType", "the content type is no media type")
        }
        guard type.isUTF8 || !(type.isJSON || type.essence.contains("json")) else {
            throw Problem(415, "unsupportedMediaType", "JSON is UTF-8, not \(type.charset ?? "")")
        }
        return type
    }

    private static func single(_ body: [UInt8]) throws(Problem) -> [UInt8] {
        var scanner = JSONObjects(body)
        let event = try scanner.object(0)
        guard scanner.isAtEnd else {
            throw bad("something stands after the event: application/cloudevents+json has one", index: 0)
        }
        return Array(body[event])
    }

    /// A JSON array's objects, one a line.
    private static func batch(_ body: [UInt8]) throws(Problem) -> [UInt8] {
        var scanner = JSONObjects(body)
        guard scanner.take(UInt8(ascii: "[")) else { throw bad("the batch is no JSON array", index: nil) }
        var lines: [UInt8] = []
        lines.reserveCapacity(body.count)
        if scanner.take(UInt8(ascii: "]")) {
            guard scanner.isAtEnd else { throw bad("something stands after the array", index: nil) }
            return []
        }
        var index = 0
        while true {
            let event = try scanner.object(index)
            lines += body[event]
            lines.append(UInt8(ascii: "\n"))
            index += 1
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "]")) else {
                throw bad("event \(index): the array is not closed, or a comma is missing", index: index)
            }
            guard scanner.isAtEnd else { throw bad("something stands after the array", index: nil) }
            return lines
        }
    }

    static func bad(_ detail: String, index: Int?) -> Problem {
        var problem = Problem(400, ErrorCode.invalidMessage.raw, detail)
        problem.index = index
        return problem
    }
}

/// Finds where objects end in JSON text, by strings and brackets alone: whether they are JSON the host says.
struct JSONObjects {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private mutating func skipSpace() {
        while at < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[at]) { at += 1 }
    }

    var isAtEnd: Bool {
        bytes[at...].allSatisfy { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard at < bytes.count, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    /// The next object's place.
    mutating func object(_ index: Int) throws(Problem) -> Range<Int> {
        skipSpace()
        guard at < bytes.count, bytes[at] == UInt8(ascii: "{") else {
            throw EventsBody.bad("event \(index): not a JSON object", index: index)
        }
        let (start, end) = (at, bytes.withUnsafeBufferPointer { Self.end(of: $0, from: at) })
        guard let end else {
            throw EventsBody.bad("event \(index): not JSON: the object is not closed", index: index)
        }
        at = end
        return start..<end
    }

    private static func end(of bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var depth = 0
        var at = start
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                at += 1
                while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
                    at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return at + 1 }
            default: break
            }
            at += 1
        }
        return nil
    }
}
