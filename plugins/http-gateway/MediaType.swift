/// A `Content-Type`, as far as it matters here.
struct MediaType: Hashable, Sendable {
    /// `type/subtype` in small letters.
    let essence: String
    /// In small letters; nil where it isn't given.
    let charset: String?

    /// Nil where it is none.
    init?(_ text: String) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        let essence = Self.trimmed(parts[0]).lowercased()
        let names = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy({ Self.isToken($0) }) else { return nil }
        self.essence = essence
        var charset: String?
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, Self.trimmed(pair[0]).lowercased() == "charset" else { continue }
            charset = Self.trimmed(pair[1]).filter { $0 != "\"" }.lowercased()
        }
        self.charset = charset
    }

    /// Whether text of this type is UTF-8, of which US-ASCII is a part.
    var isUTF8: Bool { charset.map { ["utf-8", "utf8", "us-ascii"].contains($0) } ?? true }

    /// Whether its bodies are JSON texts.
    var isJSON: Bool { essence == "application/json" || essence == "text/json" || essence.hasSuffix("+json") }

    static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }

    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
                }
            }
    }
}
