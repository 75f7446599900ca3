import Access
import Glibc

/// Where a host has its keys: in the folder `keys` of its state directory.
public struct StateKeys: Hashable, Sendable {
    public let directory: String
    public var authorized: String { directory + "/authorized_keys" }
    public var host: String { directory + "/host.key" }

    public init(stateDir: String) { directory = stateDir + "/keys" }

    /// Makes the folder, and the state directory, where they are missing.
    public func make() throws(KeyFileError) { try PrivateFile.makeDirectory(directory) }
}

/// The file of authorised keys: read whole, and replaced whole.
public enum AuthorizedKeysFile {
    /// Nil where there is none. Throws unless it is this user's, or root's, and nobody else may write it.
    public static func readIfThere(_ path: String) throws(KeyFileError) -> AuthorizedKeys? {
        guard let text = try PrivateFile.read(path, .othersWriting) else { return nil }
        return try parse(text, path)
    }

    /// Throws where there is none, too.
    public static func read(_ path: String) throws(KeyFileError) -> AuthorizedKeys {
        guard let keys = try readIfThere(path) else { throw KeyFileError("there is no \(path)") }
        return keys
    }

    private static func parse(_ text: String, _ path: String) throws(KeyFileError) -> AuthorizedKeys {
        do throws(AccessError) {
            return try AuthorizedKeys(text: text)
        } catch {
            throw KeyFileError("\(path): \(error)")
        }
    }

    /// Throws where `add` would.
    public static func check(
        _ entries: [AuthorizedKeys.Entry], for path: String
    ) throws(KeyFileError) {
        var keys = try readIfThere(path) ?? AuthorizedKeys()
        try add(entries, to: &keys)
    }

    private static func add(
        _ entries: [AuthorizedKeys.Entry], to keys: inout AuthorizedKeys
    ) throws(KeyFileError) {
        for entry in entries {
            do throws(AccessError) { try keys.add(entry) } catch { throw KeyFileError("\(error)") }
        }
    }

    /// Adds lines at the end of the file, or makes it. Throws, and changes nothing, where one does not fit.
    public static func add(_ entries: [AuthorizedKeys.Entry], to path: String) throws(KeyFileError) {
        try change(path) { (text) throws(KeyFileError) in
            var keys = try parse(text, path)
            try add(entries, to: &keys)
            let start = text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
            return start + entries.map { $0.line + "\n" }.joined()
        }
    }

    /// Takes out the lines that match, and leaves all others as they are, comments included.
    ///
    /// - Returns: what was taken out.
    public static func remove(
        from path: String, where matches: (AuthorizedKeys.Entry) -> Bool
    ) throws(KeyFileError) -> [AuthorizedKeys.Entry] {
        var removed: [AuthorizedKeys.Entry] = []
        try change(path) { (text) throws(KeyFileError) in
            _ = try parse(text, path)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
                let entry = (try? AuthorizedKeys(text: String(line)))?.entries.first
                guard let entry, matches(entry) else { return true }
                removed.append(entry)
                return false
            }
            return lines.joined(separator: "\n")
        }
        return removed
    }

    /// One at a time, whoever does it.
    private static func change(
        _ path: String, _ change: (String) throws(KeyFileError) -> String
    ) throws(KeyFileError) {
        let lockPath = path + ".lock"
        let lock = open(lockPath, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw PrivateFile.failed("open", lockPath) }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw PrivateFile.failed("lock", lockPath) }
        }
        let before = try PrivateFile.read(path, .othersWriting) ?? ""
        let after = try change(before)
        if after != before { try PrivateFile.write(after, path, .whatIsThere) }
    }
}
