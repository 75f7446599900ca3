// The disk's side of the promises: the segmented log, the history, and the few small files beside them.
//
// All file calls go through `Storage`, so that a simulator can lose unsynced pages, tear, flip, fail and fill up.
// Read `Log` for how events are kept, `History` for how transitions are.

/// A call on the disk that failed.
public struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Hashable, Sendable {
        /// No room: nothing of the call is visible.
        case full
        case missing
        case failed
    }
    public let kind: Kind
    /// The system call, as `fdatasync`.
    public let call: String
    public let path: String
    /// The system's `errno`.
    public let number: Int32

    public init(kind: Kind, call: String, path: String, number: Int32) {
        self.kind = kind
        self.call = call
        self.path = path
        self.number = number
    }

    public var description: String { "\(call) \(path): error \(number)" }
}

/// The files of one state directory. Names have no slashes.
public protocol Storage: AnyObject, Sendable {
    /// The names of all files, unordered.
    func names() throws(StorageError) -> [String]
    /// Opens for reading and writing. Without `create` a missing file is an error of kind `missing`.
    func open(_ name: String, create: Bool) throws(StorageError) -> any StorageFile
    /// Replaces `target` if it is there.
    func rename(_ name: String, to target: String) throws(StorageError)
    func remove(_ name: String) throws(StorageError)
    /// Makes creations, renames and removals durable.
    func syncDirectory() throws(StorageError)
}

/// One open file. Reads may run on another thread than writes.
public protocol StorageFile: AnyObject, Sendable {
    func byteCount() throws(StorageError) -> UInt64
    /// Writes all parts one after the other from `offset` on, or throws.
    func write(_ parts: [UnsafeRawBufferPointer], at offset: UInt64) throws(StorageError)
    /// Reads until the buffer is full or the file ends; returns the bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int
    func truncate(to byteCount: UInt64) throws(StorageError)
    /// Makes all writes before it durable. A failed sync is final: the caller must not try again.
    func sync() throws(StorageError)
}
