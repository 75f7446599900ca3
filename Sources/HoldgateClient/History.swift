import CSodium
import Lifecycle
import Wire

/// One record of the host's history, as its file has it.
public struct HistoryRecord: Hashable, Sendable {
    /// The line's exact text, which its hash is over.
    public let text: String
    public let value: JSONValue
    /// The record's number; grows by one a record, across launches.
    public let n: UInt64
    /// The hash before, and the record's own: 64 hexadecimal digits.
    public let previousHash: String
    public let hash: String

    /// - Throws: `invalidReply` where a member is missing.
    init(text: String, value: JSONValue) throws(HoldgateError) {
        guard let n = value["n"]?.asUInt64, let previous = value["prev"]?.asString,
            let hash = value["hash"]?.asString
        else { throw Answer.invalid("a history record has no \"n\", \"prev\" or \"hash\"") }
        self.text = text
        self.value = value
        self.n = n
        previousHash = previous
        self.hash = hash
    }

    /// The records of a reply to `history`. Texts are cut out of the reply as it came.
    static func records(of answer: Answer) throws(HoldgateError) -> [HistoryRecord] {
        let values = try answer.array("records")
        let texts = RawElements.of(member: "records", in: answer.text)
        guard texts.count == values.count else { throw Answer.invalid("\"records\" can't be read") }
        var records: [HistoryRecord] = []
        for (text, value) in zip(texts, values) {
            records.append(try HistoryRecord(text: text, value: value))
        }
        return records
    }

    /// Whether `hash` is the SHA-256 of the text before `,"hash"`.
    public var isIntact: Bool {
        let marker = Array(",\"hash\"".utf8)
        let bytes = Array(text.utf8)
        guard bytes.count >= marker.count else { return false }
        var start = bytes.count - marker.count
        while start >= 0, !bytes[start...].starts(with: marker) { start -= 1 }
        guard start >= 0 else { return false }
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        _ = bytes.withUnsafeBufferPointer { crypto_hash_sha256(&digest, $0.baseAddress, UInt64(start)) }
        return digest.map { byte in hex(byte) }.joined() == hash
    }

    private func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}

/// Follows the chain of hashes from record to record.
public struct HistoryChain: Hashable, Sendable {
    public private(set) var count = 0
    /// The last record's number and hash; nil before the first.
    public private(set) var head: Head?

    public struct Head: Hashable, Sendable {
        public let n: UInt64
        public let hash: String
    }

    public init() {}

    /// What is wrong with `record` as the next one; nil where it follows.
    ///
    /// The first may have any number, unless it is 1 and names a hash before it that isn't all zeros.
    public mutating func append(_ record: HistoryRecord) -> String? {
        guard record.isIntact else {
            return "record \(record.n) was changed: its hash is not that of its bytes"
        }
        if let head {
            guard record.n == head.n + 1 else {
                return "record \(record.n) follows \(head.n): some are missing"
            }
            guard record.previousHash == head.hash else {
                return "record \(record.n) does not follow record \(head.n): its \"prev\" is another hash"
            }
        }
        head = Head(n: record.n, hash: record.hash)
        count += 1
        return nil
    }
}

/// Cuts the elements of a top-level array out of JSON text that is known to be valid.
package enum RawElements {
    /// The exact texts of the elements of the array `member`; empty without one.
    package static func of(member name: String, in text: String) -> [String] {
        let bytes = Array(text.utf8)
        let quoted = Array(JSONValue.string(name).text.utf8)
        var cursor = Cursor(bytes: bytes)
        guard cursor.enter(UInt8(ascii: "{")) else { return [] }
        while let key = cursor.next() {
            cursor.skip(UInt8(ascii: ":"))
            if bytes[key].elementsEqual(quoted) {
                guard cursor.enter(UInt8(ascii: "[")) else { return [] }
                var elements: [String] = []
                while let element = cursor.next() {
                    elements.append(String(decoding: bytes[element], as: UTF8.self))
                }
                return elements
            }
            _ = cursor.next()
        }
        return []
    }

    private struct Cursor {
        let bytes: [UInt8]
        var at = 0

        mutating func skipSpace() {
            while at < bytes.count, [0x20, 0x0a, 0x0d, 0x09, UInt8(ascii: ",")].contains(bytes[at]) {
                at += 1
            }
        }

        mutating func skip(_ byte: UInt8) {
            skipSpace()
            if at < bytes.count, bytes[at] == byte { at += 1 }
        }

        mutating func enter(_ bracket: UInt8) -> Bool {
            skipSpace()
            guard at < bytes.count, bytes[at] == bracket else { return false }
            at += 1
            return true
        }

        /// The next value's bytes; nil at the closing bracket of what it is in.
        mutating func next() -> Range<Int>? {
            skipSpace()
            let start = at
            var depth = 0
            while at < bytes.count {
                switch bytes[at] {
                case UInt8(ascii: "\""):
                    skipString()
                    if depth == 0 { return start..<at }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return at > start ? start..<at : nil }
                    depth -= 1
                    if depth == 0 {
                        at += 1
                        return start..<at
                    }
                case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x0a, 0x0d, 0x09:
                    if depth == 0 { return start..<at }
                default: break
                }
                at += 1
            }
            return nil
        }

        private mutating func skipString() {
            at += 1
            while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
                at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
            }
            at += 1
        }
    }
}
