import Glibc
import KeyFiles
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

    /// From `HOLDGATE_KEY_FILE` and `HOLDGATE_HOST_KEY`; nil where the first is not set, or empty.
    public init?(environment: (String) -> String?) throws(HoldgateError) {
        guard let path = environment("HOLDGATE_KEY_FILE"), !path.isEmpty else { return nil }
        let hostKey = environment("HOLDGATE_HOST_KEY")
        try self.init(keyFile: path, hostKey: hostKey?.isEmpty == false ? hostKey : nil)
    }

    /// What whoever was given none uses: those of the environment, read once.
    static func ofProcess() throws(HoldgateError) -> Credentials? { try environments.get() }

    /// What else may be the matter where nothing answers: a host refuses a key without a word.
    static func hint(_ endpoint: String, _ credentials: Credentials?) -> String {
        guard endpoint.hasPrefix("tcp://") else { return "" }
        return credentials.map { "; or it does not know the key of \($0.name)" } ?? "; or it asks for a key"
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
