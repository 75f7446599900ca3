import Wire

/// A record or file that was not written by this code: what is wrong, without where.
public struct FormatFault: Error, Hashable, Sendable, CustomStringConvertible {
    public let what: String
    /// Set when a newer host wrote it.
    public let newerVersion: UInt64?

    public init(_ what: String, newerVersion: UInt64? = nil) {
        self.what = what
        self.newerVersion = newerVersion
    }

    public var description: String { what }
}

extension JournalError {
    /// - Parameter place: where in the file, as `line 5`.
    init(_ fault: FormatFault, file: String, place: String? = nil) {
        if let version = fault.newerVersion {
            self = .unknownVersion(file: file, version: version)
        } else {
            self = .damaged(file: file, what: (place.map { $0 + ": " } ?? "") + fault.what)
        }
    }
}

/// Makes a call on the disk.
func disk<R>(_ call: @autoclosure () throws(StorageError) -> R) throws(JournalError) -> R {
    do {
        return try call()
    } catch {
        throw JournalError(error)
    }
}

extension StorageFile {
    /// Writes from `offset` on.
    func write(_ bytes: [UInt8], at offset: UInt64) throws(StorageError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(StorageError) in
            try write([UnsafeRawBufferPointer(buffer)], at: offset)
        }
    }
}

/// Makes a sync, whose failure is final.
func synced(_ call: @autoclosure () throws(StorageError) -> Void) throws(JournalError) {
    do {
        try call()
    } catch {
        throw .syncFailed(error)
    }
}

/// The members of a JSON object that the host wrote itself, read with types.
struct JSONFields {
    let members: [JSONValue.Member]

    init(_ members: [JSONValue.Member]) { self.members = members }

    init(_ value: JSONValue) throws(FormatFault) {
        guard case .object(let members) = value else { throw FormatFault("it is no JSON object") }
        self.members = members
    }

    /// Parses one line or one file.
    init(parsing bytes: UnsafeRawBufferPointer) throws(FormatFault) {
        let value: JSONValue
        do {
            value = try JSONValue.parse(bytes, maxNesting: Self.maxNesting)
        } catch {
            throw FormatFault("it is no JSON: \(error.message)")
        }
        try self.init(value)
    }

    init(parsing bytes: [UInt8]) throws(FormatFault) {
        try self = bytes.withUnsafeBufferPointer { (buffer) throws(FormatFault) in
            try JSONFields(parsing: UnsafeRawBufferPointer(buffer))
        }
    }

    /// The host's own replies and configuration lie a few levels deep within its records.
    static let maxNesting = 64

    /// Nil when the member is missing or null.
    subscript(name: String) -> JSONValue? {
        guard let member = members.first(where: { $0.name == name }), member.value != .null else {
            return nil
        }
        return member.value
    }

    func required(_ name: String) throws(FormatFault) -> JSONValue {
        guard let value = self[name] else { throw FormatFault("`\(name)` is missing") }
        return value
    }

    func uint(_ name: String) throws(FormatFault) -> UInt64? {
        guard let value = self[name] else { return nil }
        return try Self.uint(value, name)
    }

    func int(_ name: String) throws(FormatFault) -> Int64? {
        switch self[name] {
        case .none: return nil
        case .int(let value): return value
        case .uint(let value) where value <= UInt64(Int64.max): return Int64(value)
        case .some: throw FormatFault("`\(name)` is no whole number")
        }
    }

    func string(_ name: String) throws(FormatFault) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw FormatFault("`\(name)` is no string") }
        return text
    }

    func bool(_ name: String) throws(FormatFault) -> Bool? {
        guard let value = self[name] else { return nil }
        guard case .bool(let flag) = value else { throw FormatFault("`\(name)` is neither true nor false") }
        return flag
    }

    func array(_ name: String) throws(FormatFault) -> [JSONValue]? {
        guard let value = self[name] else { return nil }
        guard case .array(let items) = value else { throw FormatFault("`\(name)` is no array") }
        return items
    }

    static func uint(_ value: JSONValue, _ name: String) throws(FormatFault) -> UInt64 {
        switch value {
        case .uint(let value): return value
        case .int(let value) where value >= 0: return UInt64(value)
        default: throw FormatFault("`\(name)` is no whole number from 0 up")
        }
    }

    /// The member, which must be there.
    func need<Value>(
        _ name: String, _ read: (String) throws(FormatFault) -> Value?
    ) throws(FormatFault) -> Value {
        guard let value = try read(name) else { throw FormatFault("`\(name)` is missing") }
        return value
    }

    /// Checks `format` and `version` of a file's first line or wrapper.
    func checkFormat(_ format: String, version: UInt64) throws(FormatFault) {
        let found = try need("format", string)
        guard found == format else { throw FormatFault("its format is `\(found)`, not `\(format)`") }
        let foundVersion = try need("version", uint)
        guard foundVersion <= version else {
            throw FormatFault("format version \(foundVersion) is newer", newerVersion: foundVersion)
        }
        guard foundVersion == version else { throw FormatFault("there is no format version \(foundVersion)") }
    }
}
