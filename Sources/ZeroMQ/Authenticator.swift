/// Who asks to be let in, as libzmq tells it over [ZAP](https://rfc.zeromq.org/spec/27/).
public struct Peer: Hashable, Sendable {
    public enum Credentials: Hashable, Sendable {
        /// Proved by the handshake.
        case curve(CurvePublicKey)
        /// None. Of a peer on an `ipc` path the kernel says whose process it is.
        case none(LocalUser?)
        /// PLAIN, GSSAPI, or what a later libzmq brings.
        case other(String)
    }

    /// The process at the other end of an `ipc` connection.
    public struct LocalUser: Hashable, Sendable {
        public let uid: UInt32
        public let gid: UInt32
        public init(uid: UInt32, gid: UInt32) {
            self.uid = uid
            self.gid = gid
        }
    }

    /// As in `SocketOption.authenticated`.
    public let domain: String
    /// An IP address, or what stands for an `ipc` peer.
    public let address: String
    public let credentials: Credentials

    public init(domain: String, address: String, credentials: Credentials) {
        self.domain = domain
        self.address = address
        self.credentials = credentials
    }

    /// Nil: no ZAP request.
    init?(_ frames: [[UInt8]]) {
        func text(_ index: Int) -> String { String(decoding: frames[index], as: UTF8.self) }
        guard frames.count >= 6, text(0) == "1.0" else { return nil }
        domain = text(2)
        address = text(3)
        switch text(5) {
        case "CURVE":
            guard frames.count == 7, let key = CurvePublicKey(bytes: frames[6]) else { return nil }
            credentials = .curve(key)
        case "NULL": credentials = .none(Self.localUser(address))
        case let other: credentials = .other(other)
        }
    }

    /// From `localhost:UID:GID:PID`, which libzmq makes of SO_PEERCRED.
    private static func localUser(_ address: String) -> LocalUser? {
        let parts = address.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, let uid = UInt32(parts[1]), let gid = UInt32(parts[2]) else { return nil }
        return LocalUser(uid: uid, gid: gid)
    }
}

/// Where the sockets of one context ask who is let in.
///
/// Make it before anything is bound: a socket with `SocketOption.authenticated` lets nobody in without it, and any
/// other one everybody. A peer's handshake waits until `answer` is called, so watch `socket` in the loop's `PollSet`.
public struct Authenticator: ~Copyable {
    public let socket: Socket

    public init(in context: Context) throws(ZeroMQError) {
        let socket = try Socket(.rep, in: context)
        try socket.bind("inproc://zeromq.zap.01")
        self.socket = socket
    }

    /// Answers what waits, at most `limit` times. Returns whether more may wait.
    ///
    /// - Parameter admit: The name under which a peer is let in, not empty, which each of its messages bears
    ///   (`Frame.userID`); nil: it is refused.
    public borrowing func answer(limit: Int, admit: (Peer) -> String?) throws(ZeroMQError) -> Bool {
        for _ in 0..<limit {
            guard let request = try message() else { return false }
            let name = Peer(request).flatMap(admit)
            precondition(name?.isEmpty != true, "a peer is let in under a name")
            let status = name == nil ? ["400", "refused"] : ["200", "OK"]
            let sequence = request.count > 1 ? request[1] : []
            let reply = [Array("1.0".utf8), sequence] + (status + [name ?? "", ""]).map { Array($0.utf8) }
            for (index, frame) in reply.enumerated() {
                guard try socket.send(frame, more: index < reply.count - 1) else { break }
            }
        }
        return true
    }

    private borrowing func message() throws(ZeroMQError) -> [[UInt8]]? {
        var frames: [[UInt8]] = []
        var frame = Frame()
        repeat {
            guard try socket.receive(into: &frame) else { return nil }
            frames.append(Array(copying: frame))
        } while frame.more
        return frames
    }
}
