extension HTTPServer {
    /// What a server lets peers have of it.
    public struct Limits: Hashable, Sendable {
        /// Open at a time.
        public var connections = 1024
        /// Of one peer's address.
        public var connectionsPerAddress = 512
        /// Of a request's head, and of what is read and written at a time.
        public var headBytes = 32 << 10
        /// Of all bodies that are being read or wait for their answers.
        public var bodyBytes = 64 << 20
        /// Bytes of a body beyond its limit that are read, so that the client hears why it is refused.
        public var excessBytes = 8 << 20
        /// Without any traffic a connection is closed after so long.
        public var idleSeconds = 30
        /// A request's head and body must be there within so long of its beginning, and its answer must have been taken.
        public var requestSeconds = 60
        /// Milliseconds that requests have for their answers when the server stops.
        public var stopMs = 2000
        /// Threads that read and write.
        public var threads = 2

        public init() {}
    }

    /// A certificate and its key, as PEM texts.
    public struct TLS: Hashable, Sendable {
        public var certificate: String
        public var privateKey: String
        public init(certificate: String, privateKey: String) {
            self.certificate = certificate
            self.privateKey = privateKey
        }
    }
}
