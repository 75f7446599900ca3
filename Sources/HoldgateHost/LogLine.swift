import Engine
import Platform
import Wire

/// One line of the log as bytes. Values may come from peers: whatever they hold, a line stays one line, and
/// nothing in it moves a terminal's cursor or hides from the eye.
struct LogLine {
    let wallMs: Int64
    let level: LogLevel
    let message: String
    let fields: [JSONValue.Member]

    /// Scalars of one string; what follows is cut off.
    static let maxStringScalars = 1024
    /// Bytes of the fields of one line; those that follow are counted, not written.
    static let maxFieldBytes = 16 << 10

    /// With its line feed.
    func bytes(_ format: LogFormat) -> [UInt8] {
        var line = ""
        switch format {
        case .text: writeText(&line)
        case .json: writeJSON(&line)
        }
        line += "\n"
        return Array(line.utf8)
    }

    private var time: String {
        Timestamp.text(ms: wallMs)
    }

    private func writeText(_ line: inout String) {
        line += "\(time) \(level.rawValue) \(Self.escaped(message))"
        append(to: &line) { " \(Self.plain($0))=\(Self.text($1))" }
    }

    private func writeJSON(_ line: inout String) {
        line += "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"message\":\(Self.quoted(message))"
        append(to: &line) { ",\(Self.quoted(Self.reserved.contains($0) ? $0 + "_" : $0)):\(Self.json($1))" }
        line += "}"
    }

    private static let reserved: Set = ["time", "level", "message"]

    private func append(to line: inout String, _ piece: (String, JSONValue) -> String) {
        var used = 0
        for (index, field) in fields.enumerated() {
            let text = piece(field.name, field.value)
            used += text.utf8.count
            guard used <= Self.maxFieldBytes else {
                line += piece("fieldsLeftOut", .int(Int64(fields.count - index)))
                return
            }
            line += text
        }
    }
}

extension LogLine {
    /// JSON text in one line, ASCII control characters and all that is invisible escaped.
    static func json(_ value: JSONValue) -> String {
        switch value {
        case .null, .bool, .int, .uint: value.text
        case .double(let number): number.isFinite ? value.text : quoted(number.description)
        // Text that somebody else wrote may have line feeds between its tokens.
        case .string(let text), .raw(let text): quoted(text)
        case .array(let elements): "[" + elements.map { json($0) }.joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { quoted($0.name) + ":" + json($0.value) }.joined(separator: ",") + "}"
        }
    }

    /// A value of the text form: as JSON, but strings go without quotation marks where nothing is lost.
    static func text(_ value: JSONValue) -> String {
        switch value {
        case .string(let text), .raw(let text): plain(text)
        case .null, .bool, .int, .uint, .double, .array, .object: json(value)
        }
    }

    private static func plain(_ text: String) -> String {
        let isPlain =
            text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
                    && byte != UInt8(ascii: "\\")
            } && (1...maxStringScalars).contains(text.utf8.count) && text.first != "[" && text.first != "{"
        return isPlain ? text : quoted(text)
    }

    private static func quoted(_ text: String) -> String { "\"\(escaped(text, quotes: true))\"" }

    /// `text` with `\uXXXX` for what is invisible, cut.
    private static func escaped(_ text: String, quotes: Bool = false) -> String {
        var result = String.UnicodeScalarView()
        for (index, scalar) in text.unicodeScalars.enumerated() {
            if index == maxStringScalars {
                result.append("…")
                break
            }
            switch scalar {
            case "\"" where quotes, "\\" where quotes: result.append(contentsOf: ["\\", scalar])
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\r": result.append(contentsOf: "\\r".unicodeScalars)
            case "\t": result.append(contentsOf: "\\t".unicodeScalars)
            case _ where isVisible(scalar): result.append(scalar)
            default: for unit in UTF16.encode(scalar)! { result.append(contentsOf: hex(unit).unicodeScalars) }
            }
        }
        return String(result)
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7f }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
            return false
        default: return true
        }
    }

    private static func hex(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
