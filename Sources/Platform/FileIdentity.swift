import CPlatform
import Glibc

/// What tells a file from a copy of it.
public struct FileIdentity: Hashable, Sendable {
    public let inode: UInt64
    /// Nanoseconds since 1970; nil where the file system keeps no birth time.
    public let birthNs: Int64?

    public init(inode: UInt64, birthNs: Int64?) {
        self.inode = inode
        self.birthNs = birthNs
    }

    /// Of what is at `path`; a symbolic link is not followed.
    public init(path: String) throws(PlatformError) {
        var inode: UInt64 = 0
        var birthNs: Int64 = 0
        guard hg_identity(path, &inode, &birthNs) == 0 else {
            throw PlatformError(call: "statx \(path)", number: errno)
        }
        self.init(inode: inode, birthNs: birthNs == 0 ? nil : birthNs)
    }
}
