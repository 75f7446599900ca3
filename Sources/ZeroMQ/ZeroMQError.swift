// libzmq in Swift: who owns what, and errors that say which call failed.
//
// A `Context` owns the I/O threads, a `Socket` one socket, a `Frame` one message's bytes; each frees what it owns
// when it goes. No call waits for a peer: sending and receiving answer false where libzmq says EAGAIN, and a
// `PollSet` is the one place that sleeps. This target is the only importer of `CZeroMQ`, made for libzmq 4.3.4.

internal import CZeroMQ

/// A libzmq call that failed.
public struct ZeroMQError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why; compare with the named ones: `error.code == .hostUnreachable`.
    public struct Code: Hashable, Sendable {
        /// The system's or libzmq's `errno`.
        public let number: Int32

        public init(number: Int32) { self.number = number }

        /// No peer has this routing id, on a ROUTER with `routerMandatory`.
        public static let hostUnreachable = Code(number: EHOSTUNREACH)
        public static let addressInUse = Code(number: EADDRINUSE)
        public static let addressNotAvailable = Code(number: EADDRNOTAVAIL)
        public static let invalidArgument = Code(number: EINVAL)
        public static let noSuchEndpoint = Code(number: ENOENT)
        /// The socket's pattern doesn't allow this now, as a second request on a REQ.
        public static let wrongState = Code(number: EFSM)
        /// The context was shut down.
        public static let terminated = Code(number: ETERM)
    }

    public let code: Code
    /// The call, as `zmq_bind`; with the option for `zmq_setsockopt`.
    public let call: String
    /// The address that was given, if one was.
    public let endpoint: String?

    public init(code: Code, call: String, endpoint: String? = nil) {
        self.code = code
        self.call = call
        self.endpoint = endpoint
    }

    public var number: Int32 { code.number }

    public var description: String {
        let reason = String(cString: zmq_strerror(number))
        guard let endpoint else { return "\(call): \(reason)" }
        return "\(call) \(endpoint): \(reason)"
    }

    /// Of the call that failed just now on this thread.
    static func last(_ call: String, _ endpoint: String? = nil) -> ZeroMQError {
        ZeroMQError(code: Code(number: zmq_errno()), call: call, endpoint: endpoint)
    }
}

/// Repeats a libzmq call that a signal interrupted; the call's -1 for any other failure.
@inline(__always)
func uninterrupted(_ call: () -> Int32) -> Int32 {
    while true {
        let result = call()
        if result != -1 || zmq_errno() != EINTR { return result }
    }
}
