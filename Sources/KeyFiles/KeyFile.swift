import Wire
import ZeroMQ

/// One pair of keys, and whose it is: a JSON object that its owner alone may read.
///
/// ```json
/// {"name":"shop","publicKey":"…","secretKey":"…","hostKey":"…"}
/// ```
public struct KeyFile: Hashable, Sendable {
    public let name: String
    public let pair: CurveKeyPair
    /// The public key of the host that it is for.
    public let hostKey: CurvePublicKey?

    public init(name: String, pair: CurveKeyPair, hostKey: CurvePublicKey? = nil) {
        self.name = name
        self.pair = pair
        self.hostKey = hostKey
    }

    /// Throws where there is none, too.
    public static func read(_ path: String) throws(KeyFileError) -> KeyFile {
        guard let file = try readIfThere(path) else {
            throw KeyFileError("there is no key file \(path): `holdgate keys new` writes one")
        }
        return file
    }

    /// Nil where there is none. Throws unless it is this user's, or root's, and nobody else may read it. Members of other
    /// names are ignored.
    public static func readIfThere(_ path: String) throws(KeyFileError) -> KeyFile? {
        guard let text = try PrivateFile.read(path, .others) else { return nil }
        let object: JSONValue
        do throws(WireError) {
            object = try JSONValue.parse(text)
        } catch {
            throw KeyFileError("\(path) is no JSON: \(error.message)")
        }
        func member(_ name: String) throws(KeyFileError) -> String {
            guard let value = object[name]?.asString else { throw KeyFileError("\(path) has no \(name)") }
            return value
        }
        guard let secret = CurveSecretKey(z85: try member("secretKey")) else {
            throw KeyFileError("\(path): secretKey is not 40 characters of Z85")
        }
        let pair = CurveKeyPair(secretKey: secret)
        guard try member("publicKey") == pair.publicKey.z85 else {
            throw KeyFileError("\(path): publicKey does not belong to secretKey")
        }
        var hostKey: CurvePublicKey?
        if let given = object["hostKey"], !given.isNull {
            hostKey = given.asString.flatMap(CurvePublicKey.init(z85:))
            guard hostKey != nil else { throw KeyFileError("\(path): hostKey is not 40 characters of Z85") }
        }
        let name = try member("name")
        guard 1...128 ~= name.utf8.count else { throw KeyFileError("\(path): name has not 1 to 128 bytes") }
        return KeyFile(name: name, pair: pair, hostKey: hostKey)
    }

    /// Writes a file that is not there yet.
    public func write(_ path: String) throws(KeyFileError) { try PrivateFile.write(text, path, .never) }

    /// Writes a file that is not there yet, and makes the directory where that is missing. Where root does it, both are
    /// the directory's owner's: a host that runs as another user must read its own key.
    public func create(_ path: String) throws(KeyFileError) {
        try PrivateFile.makeDirectory(PrivateFile.parent(of: path))
        try PrivateFile.write(text, path, .never, owner: PrivateFile.owner(besides: path))
    }

    /// Writes it over what is there, and makes the directory where that is missing.
    public func replace(_ path: String) throws(KeyFileError) {
        try PrivateFile.makeDirectory(PrivateFile.parent(of: path))
        try PrivateFile.write(text, path, .whatIsThere)
    }

    /// The key in the file, or, where there is none, a new one that is put there: as `create` does, and of two at once
    /// one makes it.
    public static func readOrCreate(_ path: String, name: String) throws(KeyFileError) -> KeyFile {
        if let file = try readIfThere(path) { return file }
        let file = KeyFile(name: name, pair: .random())
        do throws(KeyFileError) {
            try file.create(path)
            return file
        } catch {
            guard let other = try readIfThere(path) else { throw error }
            return other
        }
    }

    private var text: String {
        var members: [JSONValue.Member] = [
            .init("name", .string(name)), .init("publicKey", .string(pair.publicKey.z85)),
            .init("secretKey", .string(pair.secretKey.z85)),
        ]
        if let hostKey { members.append(.init("hostKey", .string(hostKey.z85))) }
        return JSONValue.object(members).text + "\n"
    }
}
