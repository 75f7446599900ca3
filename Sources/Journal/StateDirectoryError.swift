import Platform

/// Why a state directory was not opened; the description says what to do.
public enum StateDirectoryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another host has it; `holder` is that process's id, where it could be read.
    case locked(path: String, holder: Int32?)
    /// It is not the directory that the host wrote.
    case copied(path: String, what: String)
    case unknownVersion(path: String, version: UInt64)
    case system(path: String, PlatformError)

    public var description: String {
        switch self {
        case .locked(let path, let holder):
            "\(path) is in use by another host (\(holder.map { "process \($0)" } ?? "process unknown")): "
                + "stop that one, or give this one a directory of its own"
        case .copied(let path, let what):
            "\(path) was copied or restored (\(what)). What happened in the original since then is unknown "
                + "here, a hold or a kill included. If this is the one to go on with, start with --restored: "
                + "a new launch begins on hold"
        case .unknownVersion(let path, let version):
            "\(path) has format version \(version), written by a newer host: use that one"
        case .system(let path, let error):
            "\(path): \(error)"
        }
    }
}
