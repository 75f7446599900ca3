import Ledger
import Lifecycle
import Wire

/// The history's bytes: how a line is written, and what makes one verify.
///
/// Each line is a JSON object that ends in `"prev":"…","hash":"…"}`. `hash` is the SHA-256 of the line's
/// bytes before `,"hash"`, `prev` is the hash of the line before, over all files; 64 zeros before the first
/// line of all. The first line of each file is its header and part of the chain:
///
///     {"format":"holdgate-history","version":1,"file":1,"n":0,"prev":"000…","hash":"…"}
///
/// `file` is the file's number and `n` the last record before it, so that records alone are counted from 1.
/// With `jq` and `sha256sum` alone (docs/history.md has the whole loop), for each line:
///
///     jq -r .hash <<<"$line"; printf %s "${line%,\"hash\":*}" | sha256sum
enum HistoryFormat {
    static let format = "holdgate-history"
    static let version: UInt64 = 1
    static let noHash = String(repeating: "0", count: SHA256.digitCount)
    /// A longer line is damage. Peers' members are bounded by a message's 16 MiB.
    static let maxLineBytes = 32 << 20

    // MARK: Files

    private static let prefix = "history-"
    private static let suffix = ".ndjson"

    static func fileName(_ number: UInt64) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: max(0, 8 - digits.count)) + digits + suffix
    }

    /// Nil for other files.
    static func fileNumber(_ name: String) -> UInt64? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        guard let number = UInt64(name.dropFirst(prefix.count).dropLast(suffix.count)) else { return nil }
        return number > 0 && fileName(number) == name ? number : nil
    }

    // MARK: Writing

    /// A line with its line feed, and its hash.
    typealias Sealed = (line: String, hash: String)

    static func header(file: UInt64, n: UInt64, prev: String) -> Sealed {
        seal([
            .init("format", .string(format)), .init("version", .uint(version)), .init("file", .uint(file)),
            .init("n", .uint(n)), .init("prev", .string(prev)),
        ])
    }

    static func line(_ draft: HistoryDraft, n: UInt64, prev: String) -> Sealed {
        var members: [JSONValue.Member] = [
            .init("n", .uint(n)), .init("time", .string(Timestamp.text(ms: draft.wallMs))),
            .init("launch", .string(draft.launch.raw)), .init("gate", .array(draft.gate.map { .string($0) })),
            .init("seq", .uint(draft.seq.raw)), .init("state", .string(draft.state.rawValue)),
            .init("previous", draft.previous.map { .string($0.rawValue) } ?? .null),
            .init("command", .string(draft.command)), .init("through", .uint(draft.through.raw)),
            .init("source", draft.source.map { .string($0) } ?? .null),
            .init("reason", draft.reason.map { .string($0) } ?? .null),
        ]
        if !draft.isTransition { members.append(.init("changed", .bool(false))) }
        members += draft.extra
        members.append(.init("prev", .string(prev)))
        return seal(members)
    }

    private static func seal(_ members: [JSONValue.Member]) -> Sealed {
        var text = JSONValue.object(members).text
        text.removeLast()
        let hash = SHA256.hex(of: text)
        text += ",\"hash\":\"\(hash)\"}\n"
        precondition(text.utf8.count <= maxLineBytes, "a record is bounded by a message")
        return (text, hash)
    }

    // MARK: Reading

    enum Line: Hashable {
        case header(file: UInt64, n: UInt64, prev: String, hash: String)
        case record(HistoryRecord)
    }

    /// Checks a line's own hash and reads it. The line feed is left out of `bytes`.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> Line {
        guard let (body, hash) = split(bytes) else { throw FormatFault("it does not end in its hash") }
        guard SHA256.hex(of: body) == hash else { throw FormatFault("its hash is not that of its bytes") }
        let fields = try JSONFields(parsing: bytes)
        guard fields["format"] != nil else { return .record(try record(fields, hash: hash)) }
        try fields.checkFormat(format, version: version)
        return .header(
            file: try fields.need("file", fields.uint), n: try fields.need("n", fields.uint),
            prev: try fields.need("prev", fields.string), hash: hash)
    }

    /// The line's bytes before `,"hash"`, and the hash that it states; nil when it does not end in one.
    static func split(_ bytes: UnsafeRawBufferPointer) -> (body: UnsafeRawBufferPointer, hash: String)? {
        let label = Array(",\"hash\":\"".utf8)
        let tailCount = label.count + SHA256.digitCount + 2
        guard bytes.count > tailCount else { return nil }
        let tail = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - tailCount)...])
        guard tail.starts(with: label), tail.suffix(2).elementsEqual("\"}".utf8) else { return nil }
        let digits = tail.dropFirst(label.count).dropLast(2)
        guard digits.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) else { return nil }
        let body = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - tailCount)])
        return (body, String(decoding: digits, as: UTF8.self))
    }

    private static let ownMembers: Set = [
        "n", "time", "launch", "gate", "seq", "state", "previous", "command", "through", "source", "reason",
        "changed", "prev", "hash",
    ]

    private static func record(_ fields: JSONFields, hash: String) throws(FormatFault) -> HistoryRecord {
        guard let wallMs = Timestamp.parse(try fields.need("time", fields.string)) else {
            throw FormatFault("`time` is no time")
        }
        guard let launch = LaunchID(try fields.need("launch", fields.string)) else {
            throw FormatFault("`launch` is no launch's id")
        }
        var gate: [String] = []
        for name in try fields.need("gate", fields.array) {
            guard case .string(let name) = name else { throw FormatFault("`gate` is no path of names") }
            gate.append(name)
        }
        guard let state = try state(fields, "state") else { throw FormatFault("`state` is missing") }
        let draft = HistoryDraft(
            wallMs: wallMs, launch: launch, gate: gate,
            seq: TransitionSeq(try fields.need("seq", fields.uint)),
            state: state, previous: try Self.state(fields, "previous"),
            command: try fields.need("command", fields.string),
            through: JournalSeq(try fields.need("through", fields.uint)),
            source: try fields.string("source"), reason: try fields.string("reason"),
            extra: fields.members.filter { !ownMembers.contains($0.name) })
        guard try (fields.bool("changed") ?? true) == draft.isTransition else {
            throw FormatFault("`changed` does not go with `state` and `previous`")
        }
        return HistoryRecord(
            draft: draft, n: try fields.need("n", fields.uint), prev: try fields.need("prev", fields.string),
            hash: hash)
    }

    private static func state(_ fields: JSONFields, _ name: String) throws(FormatFault) -> LifecycleState? {
        guard let raw = try fields.string(name) else { return nil }
        guard let state = LifecycleState(rawValue: raw) else {
            throw FormatFault("`\(name)` is no state: `\(raw)`")
        }
        return state
    }
}
