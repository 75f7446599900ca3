import CSimdJSON

/// Reads JSON text into values. It keeps its buffers from one text to the next; one owner, one thread.
///
/// Everything is checked: UTF-8, escapes, numbers, nesting, that one value stands there and nothing after it, and
/// that no object gives a member twice.
public final class JSONParser {
    /// No text may nest deeper than a parser can be told to allow: reading is recursive.
    public static let nestingCeiling = 256

    private let json: OpaquePointer
    public let maxNesting: Int

    /// - Parameter maxNesting: how many objects and arrays may stand within each other, 1 to `nestingCeiling`.
    public init(maxNesting: Int = 32) {
        precondition((1...Self.nestingCeiling).contains(maxNesting), "nesting out of bounds")
        guard let json = hg_json_create(maxNesting) else { preconditionFailure("out of memory") }
        self.json = json
        self.maxNesting = maxNesting
    }

    deinit { hg_json_destroy(json) }

    /// Reads one JSON value; throws `invalidMessage`.
    public func parse(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> JSONValue {
        var tape = hg_json_tape()
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard let start, !bytes.isEmpty else { throw error(HG_JSON_EMPTY) }
        let code = hg_json_parse(json, start, bytes.count, &tape)
        guard code == HG_JSON_OK else { throw error(code) }
        var reader = TapeReader(tape: tape)
        return try reader.value()
    }

    /// Reads one JSON value; throws `invalidMessage`.
    public func parse(_ text: String) throws(WireError) -> JSONValue {
        var text = text
        let result: Result<JSONValue, WireError> = text.withUTF8 { bytes in
            Result { () throws(WireError) in try parse(UnsafeRawBufferPointer(bytes)) }
        }
        return try result.get()
    }

    /// Reads one JSON value; throws `invalidMessage`.
    public func parse(_ bytes: [UInt8]) throws(WireError) -> JSONValue {
        let result: Result<JSONValue, WireError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(WireError) in try parse(bytes) }
        }
        return try result.get()
    }

    private func error(_ code: hg_json_error) -> WireError {
        WireError(
            code == HG_JSON_TOO_LARGE ? .tooLarge : .invalidMessage,
            JSONParser.explanation(of: code, maxNesting: maxNesting))
    }

    static func explanation(of code: hg_json_error, maxNesting: Int) -> String {
        switch code {
        case HG_JSON_EMPTY: "not JSON: the text is empty"
        case HG_JSON_UTF8: "not JSON: the text is not valid UTF-8"
        case HG_JSON_STRING:
            "not JSON: a string is not closed, has a bad escape, or a control character that is not escaped"
        case HG_JSON_NUMBER: "a number is malformed, or too large to be read"
        case HG_JSON_DEPTH: "objects and arrays are nested deeper than \(maxNesting)"
        case HG_JSON_TOO_LARGE: "the text is too large"
        case HG_JSON_MEMORY: "not enough memory to read the text"
        default: "not one JSON value, or something stands after it"
        }
    }
}

extension JSONValue {
    /// Reads one JSON value with a parser made for it; whoever reads often keeps a `JSONParser`.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, maxNesting: Int = 32
    ) throws(WireError) -> JSONValue {
        try JSONParser(maxNesting: maxNesting).parse(bytes)
    }

    /// Reads one JSON value with a parser made for it.
    public static func parse(_ text: String, maxNesting: Int = 32) throws(WireError) -> JSONValue {
        try JSONParser(maxNesting: maxNesting).parse(text)
    }

    /// Reads one JSON value with a parser made for it.
    public static func parse(_ bytes: [UInt8], maxNesting: Int = 32) throws(WireError) -> JSONValue {
        try JSONParser(maxNesting: maxNesting).parse(bytes)
    }
}

/// Walks simdjson's tape, which is valid as a whole: only repeated members are left to find.
private struct TapeReader {
    let tape: hg_json_tape
    /// The next word; word 0 is the root's.
    var index = 1

    init(tape: hg_json_tape) { self.tape = tape }

    mutating func value() throws(WireError) -> JSONValue {
        let word = tape.words[index]
        index += 1
        switch UInt8(truncatingIfNeeded: word >> 56) {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(string(word))
        case UInt8(ascii: "l"): return .int(Int64(bitPattern: number()))
        case UInt8(ascii: "u"): return .uint(number())
        case UInt8(ascii: "d"): return .double(Double(bitPattern: number()))
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "n"): return .null
        default: preconditionFailure("simdjson's tape has a word of an unknown kind")
        }
    }

    private mutating func number() -> UInt64 {
        defer { index += 1 }
        return tape.words[index]
    }

    private func string(_ word: UInt64) -> String {
        let place = tape.strings + Int(word & 0x00ff_ffff_ffff_ffff)
        let length = UnsafeRawPointer(place).loadUnaligned(as: UInt32.self)
        return String(decoding: UnsafeBufferPointer(start: place + 4, count: Int(length)), as: UTF8.self)
    }

    private mutating func array() throws(WireError) -> JSONValue {
        var elements: [JSONValue] = []
        while !takeEnd(UInt8(ascii: "]")) { elements.append(try value()) }
        return .array(elements)
    }

    private mutating func object() throws(WireError) -> JSONValue {
        var members: [JSONValue.Member] = []
        while !takeEnd(UInt8(ascii: "}")) {
            let name = string(tape.words[index])
            index += 1
            members.append(JSONValue.Member(name, try value()))
        }
        if let name = JSONValue.repeatedName(in: members) {
            throw WireError(.invalidMessage, "the member \(quoted(name)) is given twice")
        }
        return .object(members)
    }

    private mutating func takeEnd(_ kind: UInt8) -> Bool {
        guard UInt8(truncatingIfNeeded: tape.words[index] >> 56) == kind else { return false }
        index += 1
        return true
    }
}
