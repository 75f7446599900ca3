import HTTPClient
import HoldgateClient

// How a post looks on the wire.
extension Sender.Post {
    static let contentType = "application/cloudevents-batch+json"
    /// Smaller bodies are not worth compressing.
    static let compressedBytes = 1024

    /// What an event adds to a body.
    static func byteCount(_ event: Event) -> Int { event.byteCount + 1 }

    /// Of the body, uncompressed.
    var byteCount: Int { events.reduce(1) { $0 + Self.byteCount($1) } }

    /// The events as they came, as one JSON array.
    var body: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        for event in events {
            bytes.append(UInt8(ascii: bytes.isEmpty ? "[" : ","))
            event.append(to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        return bytes
    }

    /// Which openings of the gate let these events out: `119-218=2, 230-249=4`.
    var under: String {
        var parts: [(first: JournalSeq, last: JournalSeq, under: TransitionSeq)] = []
        for event in events {
            if let last = parts.last, last.under == event.under {
                parts[parts.count - 1].last = event.seq
            } else {
                parts.append((event.seq, event.seq, event.under))
            }
        }
        return parts.map { "\($0.first)-\($0.last)=\($0.under)" }.joined(separator: ", ")
    }

    /// The same for the same events, and for no others: between the same two seqs there may be others once the
    /// collector's types have changed.
    func key(_ name: String, _ body: [UInt8]) -> String {
        let check = String(crc32(of: body), radix: 16)
        let range = "\(events[0].seq)-\(events[events.count - 1].seq)"
        return "\(Self.escape(name))/\(launch.raw)/\(range)/"
            + String(repeating: "0", count: 8 - check.utf8.count) + check
    }

    func headers(_ options: Options, token: String?, key: String, isCompressed: Bool) -> [(
        name: String, value: String
    )] {
        var headers = options.headers.map { (name: $0.name, value: $0.value) }
        headers.append(("Content-Type", Self.contentType))
        if isCompressed { headers.append(("Content-Encoding", "gzip")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        headers.append(("Idempotency-Key", key))
        headers.append(("Holdgate-Collector", Self.escape(options.name)))
        headers.append(("Holdgate-Launch", launch.raw))
        headers.append(("Holdgate-Under", under))
        return headers
    }

    /// Names may have any character; a header's value has visible ASCII.
    private static func escape(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }
}
