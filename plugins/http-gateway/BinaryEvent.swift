import HTTPServer
import HoldgateClient

/// An event in binary mode: its attributes in `ce-` headers, its data the body.
enum BinaryEvent {
    /// The event in JSON.
    static func line(_ request: HTTPRequest, _ type: MediaType?) throws(Problem) -> [UInt8] {
        var writer = JSONWriter(capacity: request.body.count + 512)
        var seen: Set<String> = []
        writer.beginObject()
        for field in request.head.headers {
            let header = field.name.lowercased()
            guard header.hasPrefix("ce-") else { continue }
            let name = String(header.dropFirst(3))
            guard isName(name), name != "data", name != "datacontenttype" else {
                throw EventsBody.bad("\(field.name) names no attribute of an event", index: 0)
            }
            guard seen.insert(name).inserted else {
                throw EventsBody.bad("\(field.name) is given twice", index: 0)
            }
            writer.member(name, try decoded(field.value, field.name))
        }
        if let text = request.head.header("content-type") { writer.member("datacontenttype", text) }
        if !request.body.isEmpty || type != nil { try write(request.body, type, into: &writer) }
        writer.endObject()
        return writer.bytes
    }

    private static func write(
        _ data: [UInt8], _ type: MediaType?, into writer: inout JSONWriter
    ) throws(Problem) {
        if type?.isJSON ?? true {
            guard !data.isEmpty else { return }
            // Written as it is, so it must be one value: what stands beside it would be the event's.
            do throws(WireError) {
                _ = try JSONValue.parse(data, maxNesting: JSONParser.nestingCeiling)
            } catch {
                throw EventsBody.bad("the data: \(error.message)", index: 0)
            }
            writer.name("data")
            writer.raw(String(decoding: data, as: UTF8.self))
        } else if let type, type.essence.hasPrefix("text/"), type.isUTF8,
            let text = String(validating: data, as: UTF8.self)
        {
            writer.member("data", text)
        } else {
            writer.member("data_base64", Base64.encode(data))
        }
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    /// A header's value, its `%` escapes resolved: they must give UTF-8.
    private static func decoded(_ value: String, _ name: String) throws(Problem) -> String {
        var text = value.utf8[...]
        if text.count > 1, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") {
            text = text.dropFirst().dropLast()
        }
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let escaped = hex(rest.prefix(2)) else {
                throw EventsBody.bad("\(name) has a % that no two hexadecimal digits follow", index: 0)
            }
            bytes.append(escaped)
            rest = rest.dropFirst(2)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw EventsBody.bad("\(name) is not UTF-8 once its escapes are resolved", index: 0)
        }
        return text
    }

    private static func hex(_ digits: ArraySlice<UInt8>) -> UInt8? {
        var value: UInt8 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | (digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | (digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | (digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return value
    }
}
