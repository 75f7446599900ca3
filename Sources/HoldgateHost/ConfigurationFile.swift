import FoundationEssentials
import Wire

/// A configuration file cut into its members.
///
/// The cut is made here, because Foundation's decoder takes repeated keys and doesn't say where a mistake is.
/// What the members' values are is Foundation's to say.
struct ConfigurationFile {
    struct Member: Hashable {
        let name: String
        /// The line that the name stands in, from 1.
        let line: Int
        /// An object here is empty: `members(within:path:)` has what is in it.
        let value: JSONValue
        /// The value as it stands there, and the line in which that begins.
        let text: [UInt8]
        let textLine: Int
    }

    /// The members of an object that is a member's value; nil if it is none.
    static func members(within member: Member, path: String) throws(ConfigurationError) -> [Member]? {
        guard case .object = member.value else { return nil }
        var file = ConfigurationFile(bytes: member.text, path: path)
        file.line = member.textLine
        return try file.object()
    }

    /// The members of the one object in `bytes`, which is JSON5, in their order.
    static func members(of bytes: [UInt8], path: String) throws(ConfigurationError) -> [Member] {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ConfigurationError(.syntax, .file(path: path, line: 1), "\(path): is not UTF-8")
        }
        var file = ConfigurationFile(bytes: bytes, path: path)
        return try file.object()
    }

    private let bytes: [UInt8]
    private let path: String
    private var at = 0
    private var line = 1
    private let decoder = JSONDecoder()

    private init(bytes: [UInt8], path: String) {
        self.bytes = bytes
        self.path = path
        decoder.allowsJSON5 = true
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { at = 3 }
    }

    private mutating func object() throws(ConfigurationError) -> [Member] {
        try skipBlanks()
        guard take("{") else { throw error("the file must hold one object: { … }") }
        var members: [Member] = []
        try skipBlanks()
        while !take("}") {
            let member = try member()
            if let first = members.first(where: { $0.name == member.name }) {
                throw ConfigurationError(
                    .repeated, .file(path: path, line: member.line),
                    "\(path):\(member.line): \(quoted(member.name)) was given in line \(first.line) already")
            }
            members.append(member)
            try skipBlanks()
            if take(",") {
                try skipBlanks()
            } else if peek() != UInt8(ascii: "}") {
                throw error("the object is not closed: } is missing")
            }
        }
        try skipBlanks()
        guard at == bytes.count else { throw error("there is more after the object's end") }
        return members
    }

    private mutating func member() throws(ConfigurationError) -> Member {
        let start = line
        let name = try name()
        try skipBlanks()
        guard take(":") else { throw error("expected a colon after \(quoted(name))") }
        let textLine = line
        let text = try valueText()
        guard let value = try? decoder.decode(Value.self, from: Data(text)) else {
            throw ConfigurationError(
                .syntax, .file(path: path, line: start),
                "\(path):\(start): the value of \(quoted(name)) is not JSON")
        }
        return Member(
            name: name, line: start, value: value.json, text: Array(text), textLine: textLine)
    }

    /// A key: in quotation marks of either kind, or plain. Escapes stay as they are: no key has any.
    private mutating func name() throws(ConfigurationError) -> String {
        let start = at
        if let quote = peek(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            try skipString(quote)
            return String(decoding: bytes[(start + 1)..<(at - 1)], as: UTF8.self)
        }
        while let byte = peek(), isPlain(byte) { at += 1 }
        guard at > start else {
            throw error(at == bytes.count ? "the object is not closed: } is missing" : "expected a key")
        }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "\\"), 0x80...:
            true
        default: false
        }
    }

    /// Everything up to the comma or brace that ends the member.
    private mutating func valueText() throws(ConfigurationError) -> ArraySlice<UInt8> {
        let start = at
        var depth = 0
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"): try skipString(byte)
            case UInt8(ascii: "/"):
                if try !skipComment() { at += 1 }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return bytes[start..<at] }
                depth -= 1
                at += 1
            case UInt8(ascii: ","):
                if depth == 0 { return bytes[start..<at] }
                at += 1
            default: advance()
            }
        }
        throw error("the file ends within a value")
    }

    private mutating func skipString(_ quote: UInt8) throws(ConfigurationError) {
        let start = line
        at += 1
        while let byte = peek(), byte != quote, byte != UInt8(ascii: "\n") {
            at += 1
            if byte == UInt8(ascii: "\\"), peek() != nil { advance() }
        }
        guard peek() == quote else {
            throw ConfigurationError(
                .syntax, .file(path: path, line: start), "\(path):\(start): a quotation mark is not closed")
        }
        at += 1
    }

    private mutating func skipBlanks() throws(ConfigurationError) {
        while let byte = peek() {
            switch byte {
            case 0x09...0x0d, 0x20: advance()
            case UInt8(ascii: "/"):
                guard try skipComment() else { throw error("expected a comment after /") }
            default: return
            }
        }
    }

    /// False if no comment begins here.
    private mutating func skipComment() throws(ConfigurationError) -> Bool {
        guard at + 1 < bytes.count else { return false }
        if bytes[at + 1] == UInt8(ascii: "/") {
            while let byte = peek(), byte != UInt8(ascii: "\n") { at += 1 }
            return true
        }
        guard bytes[at + 1] == UInt8(ascii: "*") else { return false }
        let start = line
        at += 2
        while at + 1 < bytes.count {
            if bytes[at] == UInt8(ascii: "*"), bytes[at + 1] == UInt8(ascii: "/") {
                at += 2
                return true
            }
            advance()
        }
        throw ConfigurationError(
            .syntax, .file(path: path, line: start), "\(path):\(start): a comment is not closed")
    }

    private func peek() -> UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func advance() {
        if bytes[at] == UInt8(ascii: "\n") { line += 1 }
        at += 1
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: scalar) else { return false }
        at += 1
        return true
    }

    private func error(_ problem: String) -> ConfigurationError {
        ConfigurationError(.syntax, .file(path: path, line: line), "\(path):\(line): \(problem)")
    }

    private func quoted(_ name: String) -> String { ConfigurationError.shown(.string(name)) }
}

extension ConfigurationFile {
    /// What Foundation reads, as a `JSONValue`. Of an object it keeps nothing.
    private struct Value: Decodable {
        let json: JSONValue

        private enum NoKey: CodingKey {}

        init(from decoder: any Decoder) throws {
            if (try? decoder.container(keyedBy: NoKey.self)) != nil {
                json = .object([])
            } else if var elements = try? decoder.unkeyedContainer() {
                var values: [JSONValue] = []
                while !elements.isAtEnd { values.append(try elements.decode(Value.self).json) }
                json = .array(values)
            } else {
                json = try Self.scalar(decoder.singleValueContainer())
            }
        }

        private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
            if container.decodeNil() { return .null }
            if let bool = try? container.decode(Bool.self) { return .bool(bool) }
            if let whole = try? container.decode(Int64.self) { return .int(whole) }
            if let number = try? container.decode(Double.self) { return .double(number) }
            return .string(try container.decode(String.self))
        }
    }
}
