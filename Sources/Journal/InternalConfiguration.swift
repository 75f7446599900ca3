import Wire

/// The internal configuration's file: one JSON object, replaced as a whole.
///
/// `{"format":"holdgate-configuration","version":1,"configuration":{…}}`. A crash at any point leaves the old
/// object or the new one.
public struct InternalConfiguration: Sendable {
    public static let fileName = "configuration.json"
    /// An object's JSON text may have at most so many bytes.
    public static let maxBytes = 1 << 20

    static let temporaryName = "configuration.json.new"
    private static let format = "holdgate-configuration"
    static let version: UInt64 = 1
    /// The file also has the wrapper.
    private static let maxFileBytes = maxBytes + 1024

    private let storage: any Storage

    public init(storage: any Storage) { self.storage = storage }

    /// Whether the object is small enough to be kept; ask before `replace(with:)`.
    public static func fits(_ object: JSONValue) -> Bool { object.text.utf8.count <= maxBytes }

    /// The object, or nil when none was ever written or it was erased.
    public func load() throws(JournalError) -> JSONValue? {
        try Self.removeIfThere(Self.temporaryName, storage)
        return try read()
    }

    /// As `load`, and writes nothing.
    func read() throws(JournalError) -> JSONValue? {
        let file: any StorageFile
        do {
            file = try storage.open(Self.fileName, create: false)
        } catch {
            if error.kind == .missing { return nil }
            throw JournalError(error)
        }
        let byteCount = try disk(try file.byteCount())
        guard byteCount <= UInt64(Self.maxFileBytes) else {
            throw .damaged(
                file: Self.fileName, what: "it has \(byteCount) bytes, more than were ever written")
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(byteCount), alignment: 16)
        defer { buffer.deallocate() }
        let count = try disk(try file.read(into: buffer, at: 0))
        do {
            let fields = try JSONFields(parsing: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            try fields.checkFormat(Self.format, version: Self.version)
            let object = try fields.required("configuration")
            guard case .object = object else { throw FormatFault("`configuration` is no object") }
            return object
        } catch let fault as FormatFault {
            throw JournalError(fault, file: Self.fileName)
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Replaces the object; durable on return. `full` leaves the old one; after any other error it is the old
    /// one or the new one.
    ///
    /// - Parameter object: an `.object` (or `.raw` text of one) that `fits`.
    public func replace(with object: JSONValue) throws(JournalError) {
        let wrapper = JSONValue.object([
            .init("format", .string(Self.format)), .init("version", .uint(Self.version)),
            .init("configuration", object),
        ])
        let bytes = Array((wrapper.text + "\n").utf8)
        precondition(bytes.count <= Self.maxFileBytes, "a configuration is checked before it is kept")
        try Self.replace(Self.fileName, by: bytes, through: Self.temporaryName, storage)
    }

    /// Removes the object for good.
    public func erase() throws(JournalError) {
        try Self.removeIfThere(Self.fileName, storage)
        try Self.removeIfThere(Self.temporaryName, storage)
        try synced(try storage.syncDirectory())
    }

    /// Write, sync, rename, sync of the directory.
    static func replace(
        _ name: String, by bytes: [UInt8], through temporary: String, _ storage: any Storage
    ) throws(JournalError) {
        let file: any StorageFile
        do {
            file = try storage.open(temporary, create: true)
            try file.truncate(to: 0)
            try file.write(bytes, at: 0)
        } catch {
            if error.kind == .full { try removeIfThere(temporary, storage) }
            throw JournalError(error)
        }
        try synced(try file.sync())
        try disk(try storage.rename(temporary, to: name))
        try synced(try storage.syncDirectory())
    }

    static func removeIfThere(_ name: String, _ storage: any Storage) throws(JournalError) {
        do {
            try storage.remove(name)
        } catch {
            if error.kind != .missing { throw JournalError(error) }
        }
    }
}
