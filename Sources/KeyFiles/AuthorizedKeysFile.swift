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
            // What does not read as it was meant would spoil the file, or say something else.
            guard (try? AuthorizedKeys(text: entry.line))?.entries == [entry] else {
                throw KeyFileError(
                    "\(entry.name) \(entry.permissions.text): a name, roles without spaces and a comment of one "
                        + "line make a line")
            }
            do throws(AccessError) { try keys.add(entry) } catch { throw KeyFileError("\(error)") }
        }
    }

    /// Adds lines at the end of the file, or makes it. Throws, and changes nothing, where one does not fit.
    public static func add(_ entries: [AuthorizedKeys.Entry], to path: String) throws(KeyFileError) {
        try change(path) { (text) throws(KeyFileError) in
            var keys = try parse(text, path)
            try add(entries, to: &keys)
            let isWhole = text.isEmpty || text.utf8.last == UInt8(ascii: "\n")
            let start = isWhole ? text : text + "\n"
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
            // By bytes: to Swift "\r\n" is one character, which is no "\n".
            let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let kept = lines.map { String(Substring($0)) }.filter { line in
                let entry = (try? AuthorizedKeys(text: line))?.entries.first
                guard let entry, matches(entry) else { return true }
                removed.append(entry)
                return false
            }
            return kept.joined(separator: "\n")
        }
        return removed
    }

    /// One at a time, whoever does it.
    private static func change(
        _ path: String, _ change: (String) throws(KeyFileError) -> String
    ) throws(KeyFileError) {
        let lock = try PrivateFile.lock(path + ".lock")
        defer { close(lock) }
        let before = try PrivateFile.read(path, .othersWriting) ?? ""
        let after = try change(before)
        guard after != before else { return }
        try PrivateFile.write(after, path, .contents, owner: PrivateFile.owner(besides: path))
    }
}
