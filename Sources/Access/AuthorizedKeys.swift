/// Whose key, or which local user, stands for which name: the file of authorised keys.
///
/// A line each: a name, its roles, the key, and what else there is to say about it. A name may have several keys.
///
/// ```
/// # name   roles                key
/// consent  hold,start,revoke    rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7   the consent service
/// shop     produce:cart.        3ACR!aZg8mmluuCowZ@=6uUX{tU.hb.8=M^Xd)b5
/// logs     observe:state        uid:1001
/// ```
public struct AuthorizedKeys: Hashable, Sendable {
    /// What a peer proves to be.
    public enum Identity: Hashable, Sendable, CustomStringConvertible {
        /// A CURVE public key, 40 characters of Z85.
        case key(String)
        /// The user or the group whose process is at the other end of an `ipc` path.
        case uid(UInt32)
        case gid(UInt32)

        public var description: String {
            switch self {
            case .key(let key): key
            case .uid(let uid): "uid:\(uid)"
            case .gid(let gid): "gid:\(gid)"
            }
        }

        /// Such a peer may have been let in already, as one of its group or as the host's own user.
        fileprivate var isOfPath: Bool {
            switch self {
            case .key: false
            case .uid, .gid: true
            }
        }

        init(text: Substring) throws(AccessError) {
            for (prefix, make) in [("uid:", Identity.uid), ("gid:", Identity.gid)]
            where text.hasPrefix(prefix) {
                // A key may begin so too.
                if let number = UInt32(text.dropFirst(4)) {
                    self = make(number)
                    return
                }
            }
            guard Z85.isKey(text) else {
                throw AccessError(
                    "\(text) is neither a public key (40 characters of Z85) nor uid:NUMBER or gid:NUMBER")
            }
            self = .key(String(text))
        }
    }

    public struct Entry: Hashable, Sendable {
        public let name: String
        public let permissions: Permissions
        public let identity: Identity
        public let comment: String
        public init(name: String, permissions: Permissions, identity: Identity, comment: String = "") {
            self.name = name
            self.permissions = permissions
            self.identity = identity
            self.comment = comment
        }

        /// As a line of the file.
        public var line: String {
            ([name, permissions.text, identity.description] + (comment.isEmpty ? [] : [comment]))
                .joined(separator: " ")
        }
    }

    /// In the file's order.
    public private(set) var entries: [Entry] = []
    private var byIdentity: [Identity: Int] = [:]
    private var byName: [String: Permissions] = [:]

    public init() {}

    /// Reads the whole file, or names its first bad line.
    public init(text: String) throws(AccessError) {
        // By bytes: to Swift "\r\n" is one character, which is no "\n".
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            do throws(AccessError) {
                if let entry = try Self.entry(Substring(line)) { try add(entry) }
            } catch {
                throw AccessError("line \(number + 1): \(error)")
            }
        }
    }

    /// Throws where the key stands for a name already, or the name has other roles.
    public mutating func add(_ entry: Entry) throws(AccessError) {
        if let index = byIdentity[entry.identity] {
            throw AccessError("\(entry.identity) stands for \(entries[index].name) already")
        }
        if let permissions = byName[entry.name], permissions != entry.permissions {
            throw AccessError(
                "\(entry.name) has the roles \(permissions.text) with another key; a name has the same with each"
            )
        }
        byIdentity[entry.identity] = entries.count
        byName[entry.name] = entry.permissions
        entries.append(entry)
    }

    /// Nil for an empty line and a comment.
    private static func entry(_ line: Substring) throws(AccessError) -> Entry? {
        let fields = line.split(maxSplits: 3) { $0 == " " || $0 == "\t" || $0 == "\r" }
        guard let first = fields.first, !first.hasPrefix("#") else { return nil }
        guard fields.count >= 3 else {
            throw AccessError("a line is NAME ROLES KEY and a comment; this one ends after \(fields.last!)")
        }
        return Entry(
            name: try name(String(first)), permissions: try Permissions(text: String(fields[1])),
            identity: try Identity(text: fields[2]), comment: fields.count > 3 ? String(fields[3]) : "")
    }

    /// Letters, digits, `.`, `_` and `-`, 1 to 128 of them.
    public static func name(_ text: String) throws(AccessError) -> String {
        let isName = text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isName, 1...128 ~= text.utf8.count else {
            throw AccessError(
                "\(text) is no name: 1 to 128 letters, digits, dots, underscores and hyphens are")
        }
        return text
    }

    // MARK: Questions

    /// The name that this key, or this user, stands for; a user before a group.
    public func name(of identity: Identity) -> String? { byIdentity[identity].map { entries[$0].name } }

    /// What a name may do; nil for one that has no key.
    public func permissions(of name: String) -> Permissions? { byName[name] }

    /// Whether anybody who is in under `self` may be less, or somebody else, under `other`.
    public func takesAway(whenReplacedBy other: AuthorizedKeys) -> Bool {
        entries.contains {
            other.name(of: $0.identity) != $0.name || other.permissions(of: $0.name) != $0.permissions
        } || other.entries.contains { $0.identity.isOfPath && name(of: $0.identity) == nil }
    }
}

enum Z85 {
    /// Whether `text` stands for 32 bytes.
    static func isKey(_ text: Substring) -> Bool {
        let digits = text.utf8.map { digit -> UInt64? in
            alphabet.firstIndex(of: digit).map(UInt64.init)
        }
        guard digits.count == 40 else { return false }
        for start in stride(from: 0, to: 40, by: 5) {
            var value: UInt64 = 0
            for digit in digits[start..<start + 5] {
                guard let digit else { return false }
                value = value * 85 + digit
            }
            guard value <= UInt64(UInt32.max) else { return false }
        }
        return true
    }

    private static let alphabet = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)
}
