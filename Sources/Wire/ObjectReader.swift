/// Takes an object's members one by one, each with its type and bounds, and knows which nobody asked for.
struct ObjectReader {
    private let members: [JSONValue.Member]
    private var asked: [String] = []
    /// What wrong members are called: `invalidArgument` in a request, `invalidMessage` elsewhere.
    let code: ErrorCode

    init(members: [JSONValue.Member], code: ErrorCode) {
        self.members = members
        self.code = code
        asked.reserveCapacity(8)
    }

    /// Throws `invalidMessage` unless `value` is an object.
    init(_ value: JSONValue, code: ErrorCode) throws(WireError) {
        guard let members = value.asMembers else {
            throw WireError(.invalidMessage, "the message is not a JSON object")
        }
        self.init(members: members, code: code)
    }

    func error(_ name: String, _ problem: String) -> WireError {
        WireError(code, "\(quoted(name)) \(problem)")
    }

    mutating func value(_ name: String) -> JSONValue? {
        asked.append(name)
        return members.first { sameBytes($0.name, name) }?.value
    }

    func required<T>(_ value: T?, _ name: String) throws(WireError) -> T {
        guard let value else { throw error(name, "is missing") }
        return value
    }

    /// A string of `bytes` bytes in UTF-8.
    mutating func string(_ name: String, bytes: ClosedRange<Int>) throws(WireError) -> String? {
        guard let value = value(name) else { return nil }
        guard let string = value.asString else { throw error(name, "is not a string") }
        try checkLength(of: string, name, bytes)
        return string
    }

    /// A string that serves as a name: 1 to 128 bytes (or as given), without control characters.
    mutating func nameString(
        _ name: String, bytes: ClosedRange<Int> = 1...WireBounds.nameBytes
    ) throws(WireError) -> String? {
        guard let string = try string(name, bytes: bytes) else { return nil }
        try checkName(string, name)
        return string
    }

    /// An array of names.
    mutating func names(
        _ name: String, count: ClosedRange<Int>, bytes: ClosedRange<Int> = 1...WireBounds.nameBytes
    ) throws(WireError) -> [String]? {
        guard let value = value(name) else { return nil }
        guard let elements = value.asArray else { throw error(name, "is not an array of strings") }
        guard count.contains(elements.count) else {
            throw error(name, "has \(elements.count) elements: \(count.lowerBound) to \(count.upperBound) go")
        }
        var strings: [String] = []
        for element in elements {
            guard let string = element.asString else { throw error(name, "is not an array of strings") }
            try checkLength(of: string, name, bytes)
            try checkName(string, name)
            strings.append(string)
        }
        return strings
    }

    mutating func int64(_ name: String, in range: ClosedRange<Int64>) throws(WireError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let number = value.asInt64, range.contains(number) else {
            throw error(name, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func int(_ name: String, in range: ClosedRange<Int>) throws(WireError) -> Int? {
        let range = Int64(range.lowerBound)...Int64(range.upperBound)
        return try int64(name, in: range).map { Int($0) }
    }

    mutating func uint64(_ name: String) throws(WireError) -> UInt64? {
        guard let value = value(name) else { return nil }
        guard let number = value.asUInt64 else { throw error(name, "is not a whole number from 0 on") }
        return number
    }

    mutating func bool(_ name: String) throws(WireError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let bool = value.asBool else { throw error(name, "is neither true nor false") }
        return bool
    }

    mutating func time(_ name: String) throws(WireError) -> Int64? {
        guard let text = try string(name, bytes: 1...WireBounds.nameBytes) else { return nil }
        guard let ms = Timestamp.parse(text) else { throw error(name, "is no RFC 3339 time") }
        return ms
    }

    /// One of an enumeration's names.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _: Choice.Type
    ) throws(WireError) -> Choice? where Choice.RawValue == String {
        guard let value = value(name) else { return nil }
        guard let string = value.asString, let choice = Choice(rawValue: string) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw error(name, "is not one of: \(names)")
        }
        return choice
    }

    /// `v`: absent, or 1.
    mutating func checkVersion() throws(WireError) {
        guard let version = value("v"), version != .int(1) else { return }
        throw WireError(.unsupportedVersion, "this host speaks version 1 of the protocol (\"v\": 1)")
    }

    /// Throws at the first member that was not asked for.
    func refuseOthers(of owner: String) throws(WireError) {
        for member in members where !asked.contains(where: { sameBytes($0, member.name) }) {
            throw error(member.name, "is no member of \(owner)")
        }
    }

    private func checkLength(
        of string: String, _ name: String, _ bytes: ClosedRange<Int>
    ) throws(WireError) {
        guard !bytes.contains(string.utf8.count) else { return }
        throw error(
            name, "has \(string.utf8.count) bytes: \(bytes.lowerBound) to \(bytes.upperBound) are allowed")
    }

    private func checkName(_ string: String, _ name: String) throws(WireError) {
        guard string.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return }
        throw error(name, "has a control character")
    }
}

/// Bounds on what a message may say that are no keys of the configuration.
public enum WireBounds {
    /// Names of producers, runs, plugins, gates, and keys: 1 to this many bytes, no control characters.
    public static let nameBytes = 128
    /// A request's `id` as JSON text.
    public static let idBytes = 128
    public static let sourceBytes = 256
    public static let reasonBytes = 1024
    /// Names in a gate's path.
    public static let gateDepth = 16
    /// Ten years: what a duration in a request may be at most, in milliseconds.
    public static let durationMs: Int64 = 315_360_000_000
    /// `limit` of `history` and `deadLetters`: 1 to this, 100 if not given.
    public static let pageLimit = 1000
    public static let defaultPageLimit = 100
    /// `seqs` of one `requeue`.
    public static let requeueCount = 10_000
    /// `rejects` of one `ack`.
    public static let rejectCount = 10_000
    /// A type in a `hello`: the longest that `maxEventTypeBytes` may allow, and a `*`.
    public static let typeBytes = 1025
    /// Types and services of a `hello`.
    public static let helloNames = 1024
    public static let serviceBytes = 256
    /// `timeoutMs` of `request`: 1 to an hour, 5 seconds if not given.
    public static let requestTimeoutMs: Int64 = 3_600_000
    public static let defaultRequestTimeoutMs: Int64 = 5000
    public static let windowBytes = 1 << 40
    /// Frames of an envelope, its empty one included, and bytes of each.
    public static let envelopeFrames = 8
    public static let envelopeFrameBytes = 255
}

extension JSONValue {
    /// An `id` as its JSON text; nil for `null` or none. Throws unless it is a scalar of at most 128 bytes of text.
    static func idText(_ value: JSONValue?, code: ErrorCode) throws(WireError) -> String? {
        guard let value else { return nil }
        switch value {
        case .null: return nil
        case .bool, .int, .uint, .double, .string: break
        case .array, .object, .raw:
            throw WireError(code, "\"id\" is not a string, a number, true, false or null")
        }
        let text = value.text
        guard text.utf8.count <= WireBounds.idBytes else {
            throw WireError(code, "\"id\" is longer than \(WireBounds.idBytes) bytes")
        }
        return text
    }
}
