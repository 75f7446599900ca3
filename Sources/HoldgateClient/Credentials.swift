import Glibc
import KeyFiles
import Wire
import ZeroMQ

/// What a program proves to a host that asks for keys, and what it asks of the host.
///
/// ```swift
/// let credentials = try Credentials(keyFile: "/run/keys/consent.key")
/// let holdgate = Holdgate(endpoint: "tcp://gate:5570", credentials: credentials)
/// ```
///
/// Used on `tcp://` addresses. On an `ipc://` path the kernel says whose process it is, and no key is needed.
public struct Credentials: Hashable, Sendable {
    /// The name that the key had when it was made. Producers and plugins of this key are named so, or that and `/…`.
    public let name: String
    let pair: CurveKeyPair
    let hostKey: CurvePublicKey

    /// - Parameters:
    ///   - keyFile: as `holdgate keys new` writes it: nobody else may read it.
    ///   - hostKey: the host's public key, 40 characters of Z85; nil: the one in the file.
    /// - Throws: `invalidArgument`, with what is wrong with the file and what to do.
    public init(keyFile path: String, hostKey: String? = nil) throws(HoldgateError) {
        let file: KeyFile
        do throws(KeyFileError) {
            file = try KeyFile.read(path)
        } catch {
            throw HoldgateError(.invalidArgument, "\(error)")
        }
        let given = hostKey.map { CurvePublicKey(z85: $0) }
        if let given, given == nil {
            throw HoldgateError(.invalidArgument, "the host's key is not 40 characters of Z85")
        }
        guard let key = given ?? file.hostKey else {
            throw HoldgateError(
                .invalidArgument,
                "\(path) has no hostKey: give the host's public key (HOLDGATE_HOST_KEY, or --host-key); "
                    + "`holdgate keys host` prints it where the host runs")
        }
        name = file.name
        pair = file.pair
        self.hostKey = key
    }

    /// From `HOLDGATE_KEY_FILE` and `HOLDGATE_HOST_KEY`; nil where neither is set, or both are empty.
    ///
    /// - Throws: `invalidArgument`; so does a host's key alone, which nobody would look at.
    public init?(environment: (String) -> String?) throws(HoldgateError) {
        let path = environment("HOLDGATE_KEY_FILE") ?? ""
        let hostKey = environment("HOLDGATE_HOST_KEY") ?? ""
        guard !path.isEmpty else {
            guard hostKey.isEmpty else {
                throw HoldgateError(
                    .invalidArgument,
                    "the host's key is given, and no key of one's own, without which it is not looked at: "
                        + "give a key file, too (HOLDGATE_KEY_FILE, or --key)")
            }
            return nil
        }
        try self.init(keyFile: path, hostKey: hostKey.isEmpty ? nil : hostKey)
    }

    /// Those of a program that has the flags `--key` and `--host-key`, which go before the environment.
    public init?(
        keyFile: String?, hostKey: String?, environment: (String) -> String?
    ) throws(HoldgateError) {
        try self.init { name in
            switch name {
            case "HOLDGATE_KEY_FILE": keyFile ?? environment(name)
            default: hostKey ?? environment(name)
            }
        }
    }

    /// A name for a producer or a plugin that the host takes from this key: `name` if it belongs to the key, else the
    /// key's name, `/` and `name`; the key's name alone where that would be longer than names may be.
    ///
    /// ```swift
    /// credentials.named("geofence")     // of the key geofence: geofence; of the key shop: shop/geofence
    /// ```
    public func named(_ name: String) -> String {
        if name == self.name || name.hasPrefix(self.name + "/") { return name }
        let both = "\(self.name)/\(name)"
        return both.utf8.count <= WireBounds.nameBytes ? both : self.name
    }

    /// What whoever was given none uses: those of the environment, read once.
    static func ofProcess() throws(HoldgateError) -> Credentials? { try environments.get() }

    /// What else may be the matter where nothing answers: a host refuses a key without a word.
    static func hint(_ endpoint: String, _ credentials: Credentials?) -> String {
        guard endpoint.hasPrefix("tcp://") else { return "" }
        guard let credentials else { return "; if one is there, it may ask for a key" }
        return
            "; if one is there, it may not know the key of \(credentials.name), or have another key than expected"
    }

    private static let environments = readEnvironment()

    private static func readEnvironment() -> Result<Credentials?, HoldgateError> {
        do throws(HoldgateError) {
            return .success(
                try Credentials(environment: { name in getenv(name).map { String(cString: $0) } }))
        } catch {
            return .failure(error)
        }
    }
}

extension Credentials? {
    /// These, or the environment's.
    func orOfProcess() throws(HoldgateError) -> Credentials? {
        if let self { return self }
        return try Credentials.ofProcess()
    }
}

extension Socket {
    /// Connects, with these where the address needs any.
    borrowing func connect(_ endpoint: String, _ credentials: Credentials?) throws(ZeroMQError) {
        if let credentials, endpoint.hasPrefix("tcp://") {
            try set(SocketOption.curveClient(credentials.pair, server: credentials.hostKey))
        }
        try connect(endpoint)
    }
}
