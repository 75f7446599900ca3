import CSodium
import Ledger
import Lifecycle
import Wire

/// An event that a collector will never take.
public struct DeadLetter: Hashable, Sendable {
    public var seq: JournalSeq
    public var collector: String
    public var reason: String
    /// When it was rejected, in milliseconds since 1970 (UTC).
    public var wallMs: Int64
    /// The event's line, as it was in the journal, without line feed.
    public var event: String
    public init(seq: JournalSeq, collector: String, reason: String, wallMs: Int64, event: String) {
        self.seq = seq
        self.collector = collector
        self.reason = reason
        self.wallMs = wallMs
        self.event = event
    }
}

/// Events to commit as one block under `batch`.
public struct DeadLetterRequeue: Hashable, Sendable {
    public let batch: ProducerBatch
    /// In the order of their seqs; without line feeds.
    public let lines: [String]
}

/// The lines of the dead letters' file.
///
/// - `{"format":"holdgate-dead-letters","version":1,"run":"…"}` comes first;
/// - a letter: `{"seq":…,"collector":…,"reason":…,"time":…,"event":{…}}`;
/// - `{"requeue":[seqs],"batch":N}`: these are about to be committed as the run's batch N;
/// - `{"settled":N}`: they were, and are no letters any more.
enum DeadLetterLine: Hashable {
    case header(run: String)
    case letter(DeadLetter)
    case requeue([JournalSeq], batch: UInt64)
    case settled(batch: UInt64)

    static let format = "holdgate-dead-letters"
    static let version: UInt64 = 1

    /// With its line feed.
    var text: String {
        let members: [JSONValue.Member] =
            switch self {
            case .header(let run):
                [
                    .init("format", .string(Self.format)), .init("version", .uint(Self.version)),
                    .init("run", .string(run)),
                ]
            case .letter(let letter):
                [
                    .init("seq", .uint(letter.seq.raw)), .init("collector", .string(letter.collector)),
                    .init("reason", .string(letter.reason)),
                    .init("time", .string(Timestamp.text(ms: letter.wallMs))),
                    .init("event", .raw(letter.event)),
                ]
            case .requeue(let seqs, let batch):
                [.init("requeue", .array(seqs.map { .uint($0.raw) })), .init("batch", .uint(batch))]
            case .settled(let batch):
                [.init("settled", .uint(batch))]
            }
        return JSONValue.object(members).text + "\n"
    }

    init(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) {
        let fields = try JSONFields(parsing: bytes)
        if fields["format"] != nil {
            try fields.checkFormat(Self.format, version: Self.version)
            self = .header(run: try fields.need("run", fields.string))
        } else if let items = try fields.array("requeue") {
            var seqs: [JournalSeq] = []
            for item in items { seqs.append(JournalSeq(try JSONFields.uint(item, "requeue"))) }
            self = .requeue(seqs, batch: try fields.need("batch", fields.uint))
        } else if let batch = try fields.uint("settled") {
            self = .settled(batch: batch)
        } else {
            self = .letter(try Self.letter(fields, bytes))
        }
    }

    private static func letter(
        _ fields: JSONFields, _ bytes: UnsafeRawBufferPointer
    ) throws(FormatFault) -> DeadLetter {
        guard let wallMs = Timestamp.parse(try fields.need("time", fields.string)) else {
            throw FormatFault("`time` is no time")
        }
        // The event as its bytes stand there: written again, its numbers might look different.
        let event = try fields.required("event")
        let text = String(decoding: bytes, as: UTF8.self)
        guard case .object = event, let start = eventStart(fields, in: text) else {
            throw FormatFault("`event` is no object")
        }
        return DeadLetter(
            seq: JournalSeq(try fields.need("seq", fields.uint)),
            collector: try fields.need("collector", fields.string),
            reason: try fields.need("reason", fields.string), wallMs: wallMs,
            event: String(text[start...].dropLast()))
    }

    /// Where the event begins: `event` is the last member, and those before it are written again to count
    /// them.
    private static func eventStart(_ fields: JSONFields, in text: String) -> String.Index? {
        guard fields.members.last?.name == "event" else { return nil }
        let before = JSONValue.object(Array(fields.members.dropLast())).text.dropLast() + ",\"event\":"
        guard text.utf8.starts(with: before.utf8), text.utf8.last == UInt8(ascii: "}") else { return nil }
        return text.utf8.index(text.startIndex, offsetBy: before.utf8.count)
    }
}

extension DeadLetters {
    /// 128 random bits as text.
    public static func randomRun() -> String {
        var words: [UInt64] = [0, 0]
        randombytes_buf(&words, 16)
        return LaunchID(high: words[0], low: words[1]).raw
    }
}
