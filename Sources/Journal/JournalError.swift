/// What the disk's side of the host throws.
public enum JournalError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No room: nothing of the call is on disk, and the same call may succeed later.
    case full
    /// A sync failed. It is final: what was written may or may not be on disk, and nothing more is written.
    case syncFailed(StorageError)
    /// Another call on the disk failed.
    case storage(StorageError)
    /// What is on disk was not written like that. `file` is its name, `what` says where and what is wrong.
    case damaged(file: String, what: String)
    /// A file of a format version that this host does not know.
    case unknownVersion(file: String, version: UInt64)

    public var description: String {
        switch self {
        case .full: "the disk is full"
        case .syncFailed(let error): "a sync failed, which is final: \(error)"
        case .storage(let error): "\(error)"
        case .damaged(let file, let what): "\(file) is damaged: \(what)"
        case .unknownVersion(let file, let version):
            "\(file) has format version \(version), written by a newer host: use that one"
        }
    }
}

extension JournalError {
    /// Keeps "full" apart from every other failure.
    init(_ error: StorageError) {
        self = error.kind == .full ? .full : .storage(error)
    }
}
