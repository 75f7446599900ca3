/// Why nobody listens at a path; the description says what to do.
public enum SocketPathError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It ends in a slash, `.` or `..`, or is empty.
    case noName(String)
    case tooLong(String)
    /// The folder above the folder is missing, too.
    case noFolder(String, folder: String)
    case notAFolder(String, folder: String, kind: String)
    case foreignFolder(String, folder: String, owner: UInt32)
    /// Others may write in the folder, or look into it.
    case openFolder(String, folder: String, mode: UInt32)
    /// This user may not give the socket to the folder's group.
    case foreignGroup(String, group: UInt32)
    /// Another process has the lock; `holder` is its id, where it could be read.
    case locked(String, holder: Int32?)
    /// Somebody listens there who takes no lock.
    case inUse(String)
    /// What lies there is no socket.
    case occupied(String, kind: String)
    case system(String, PlatformError)

    public var description: String {
        switch self {
        case .noName(let path):
            "\(path) names no socket: it needs a name after the last slash"
        case .tooLong(let path):
            "\(path) has \(path.utf8.count) bytes, and a socket's path at most \(SocketPath.maxBytes): "
                + "choose a shorter one, as below /run"
        case .noFolder(let path, let folder):
            "\(path) can't be bound: neither \(folder) nor the folder above it exists; make the one above, "
                + "and \(folder) is made with mode 0700"
        case .notAFolder(let path, let folder, let kind):
            "\(path) can't be bound: \(folder) is \(kind); give the path of a real folder"
        case .foreignFolder(let path, let folder, let owner):
            "\(path) can't be bound: \(folder) belongs to user \(owner), who could put something else there; "
                + "use a folder of this user's own, with mode 0700"
        case .openFolder(let path, let folder, let mode):
            "\(path) can't be bound: \(folder) has mode \(Self.octal(mode)), which lets others in; chmod it to "
                + "0700, or to 0750 for a group that may connect, or use a folder within it"
        case .foreignGroup(let path, let group):
            "\(path) can't be given to the folder's group \(group), which this user is not in: join it, or chgrp "
                + "the folder, or chmod it to 0700"
        case .locked(let path, let holder):
            "\(path) is in use by another host (\(holder.map { "process \($0)" } ?? "process unknown")): "
                + "stop that one, or give this one a path of its own"
        case .inUse(let path):
            "\(path) is in use: somebody listens there. Stop that program, or give another path"
        case .occupied(let path, let kind):
            "\(path) is \(kind) and stays as it is: move it away, or give another path"
        case .system(let path, let error):
            "\(path): \(error)"
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
