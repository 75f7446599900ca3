/// What holds for all requests of a client.
public struct HTTPSettings: Hashable, Sendable {
    public enum Proxy: Hashable, Sendable {
        /// What the environment says of proxies is not heeded.
        case none
        case address(String)
        /// `https_proxy` and its like.
        case environment
    }

    public var connectTimeoutMs = 10_000
    /// For a whole request, from its beginning to the end of the answer.
    public var timeoutMs = 60_000
    /// A transfer that is slower than this for `lowSpeedMs` is broken off; 0: never.
    public var lowSpeedBytesPerSecond = 1
    /// Counted in seconds, rounded up.
    public var lowSpeedMs = 30_000
    /// Of an answer's body; the rest is not read, and the connection is closed.
    public var maxResponseBytes = 64 << 10
    /// PEM: who vouches for servers; nil: the system's.
    public var caFile: String?
    /// PEM: what the client shows of itself.
    public var clientCertificateFile: String?
    /// PEM, without a passphrase; nil: in the certificate's file.
    public var clientKeyFile: String?
    public var proxy = Proxy.none
    public var userAgent = "holdgate"

    public init() {}
}
