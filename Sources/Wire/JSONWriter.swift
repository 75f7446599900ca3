/// Writes JSON text, without white space, to the end of a buffer that is used again and again.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.member("ok", true)
/// writer.endObject()
/// // writer.bytes is {"ok":true}
/// ```
///
/// It puts the commas; that names and values alternate within objects is the caller's to see to.
public struct JSONWriter: Sendable {
    /// What has been written.
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// Forgets the text, and keeps the room for the next.
    public mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// What has been written, as a string.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    public mutating func beginObject() { begin(UInt8(ascii: "{")) }
    public mutating func endObject() { end(UInt8(ascii: "}")) }
    public mutating func beginArray() { begin(UInt8(ascii: "[")) }
    public mutating func endArray() { end(UInt8(ascii: "]")) }

    /// A member's name; its value is to be written next.
    public mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func null() { literal("null") }
    public mutating func value(_ value: Bool) { literal(value ? "true" : "false") }

    public mutating func value(_ value: Int64) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        digits(value.magnitude)
        needsComma = true
    }

    public mutating func value(_ value: Int) { self.value(Int64(value)) }

    public mutating func value(_ value: UInt64) {
        separate()
        digits(value)
        needsComma = true
    }

    /// The shortest text that reads back as the same value; it must be finite, as JSON has no other.
    public mutating func value(_ value: Double) {
        precondition(value.isFinite, "JSON has no infinity and no NaN")
        separate()
        bytes.append(contentsOf: value.description.utf8)
        needsComma = true
    }

    public mutating func value(_ value: String) {
        separate()
        quote(value)
        needsComma = true
    }

    /// JSON text that is known to be one valid value, written as it is.
    public mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    /// A line feed after a value, to part it from the next line's.
    public mutating func newline() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    private mutating func begin(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func literal(_ text: StaticString) {
        separate()
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        needsComma = true
    }

    private mutating func digits(_ value: UInt64) {
        // The largest has 20.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { place in
            var rest = value
            var start = place.count
            repeat {
                start -= 1
                place.initializeElement(
                    at: start, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: place[start...]))
        }
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.withContiguousStorageIfAvailable({ escape($0) }) == nil {
            Array(text.utf8).withUnsafeBufferPointer { escape($0) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends stretches that need no escape as a whole.
    private mutating func escape(_ text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        for index in text.indices where Self.needsEscape(text[index]) {
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<index]))
            escape(text[index])
            start = index + 1
        }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x08: escape(as: UInt8(ascii: "b"))
        case 0x09: escape(as: UInt8(ascii: "t"))
        case 0x0a: escape(as: UInt8(ascii: "n"))
        case 0x0c: escape(as: UInt8(ascii: "f"))
        case 0x0d: escape(as: UInt8(ascii: "r"))
        case 0..<0x20:
            escape(as: UInt8(ascii: "u"))
            bytes.append(0x30)
            bytes.append(0x30)
            bytes.append(hexDigit(byte >> 4))
            bytes.append(hexDigit(byte & 15))
        default: escape(as: byte)
        }
    }

    private mutating func escape(as letter: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(letter)
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension JSONWriter {
    public mutating func value(_ value: JSONValue) { value.write(into: &self) }

    public mutating func member(_ name: String, _ value: JSONValue) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Int) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: UInt64) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: String) {
        self.name(name)
        self.value(value)
    }
}

extension JSONValue {
    /// Appends this value's text to what `writer` has.
    public func write(into writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.value(value)
        case .int(let value): writer.value(value)
        case .uint(let value): writer.value(value)
        case .double(let value): writer.value(value)
        case .string(let value): writer.value(value)
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.write(into: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members { writer.member(member.name, member.value) }
            writer.endObject()
        case .raw(let text): writer.raw(text)
        }
    }

    /// This value as JSON text, without white space.
    public var text: String {
        var writer = JSONWriter()
        write(into: &writer)
        return writer.text
    }
}
