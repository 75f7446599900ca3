internal import CZeroMQ

/// One frame's bytes, as libzmq holds them.
///
/// Moved, never copied: received bytes stay where libzmq put them, and a frame that is sent gives its bytes
/// away. One frame serves a whole loop of `receive(into:)`; what it held before is let go.
public struct Frame: ~Copyable {
    // libzmq moves a `zmq_msg_t` bit by bit itself, so it may lie wherever Swift puts this struct.
    var message = zmq_msg_t()

    /// Empty.
    public init() {
        zmq_msg_init(&message)
    }

    /// `count` bytes of room, their content undefined until written with `withMutableBytes`.
    public init(count: Int) {
        precondition(count >= 0)
        let result = zmq_msg_init_size(&message, count)
        precondition(result == 0, "no memory for a frame of \(count) bytes")
    }

    public init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count)
        withMutableBytes { $0.copyMemory(from: bytes) }
    }

    public init(copying text: String) {
        self.init()
        var text = text
        text.withUTF8 { self = Frame(copying: UnsafeRawBufferPointer($0)) }
    }

    public init(copying bytes: [UInt8]) {
        self.init()
        bytes.withUnsafeBytes { self = Frame(copying: $0) }
    }

    /// Bytes that belong to `owner`, which is kept until libzmq and everyone else is done with them, and
    /// released on whatever thread that is. They must not move or change until then.
    public init(owner: any AnyObject & Sendable, bytes: UnsafeRawBufferPointer) {
        self.init()
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        let retained = Unmanaged<AnyObject>.passRetained(owner)
        let result = zmq_msg_init_data(
            &message, UnsafeMutableRawPointer(mutating: start), bytes.count,
            { _, hint in Unmanaged<AnyObject>.fromOpaque(hint!).release() }, retained.toOpaque())
        precondition(result == 0, "no memory for a frame")
    }

    deinit {
        // The bits are the message: whichever copy of them is closed.
        var last = message
        zmq_msg_close(&last)
    }

    /// In bytes.
    public var count: Int { withUnsafePointer(to: message) { zmq_msg_size($0) } }

    public var isEmpty: Bool { count == 0 }

    /// Whether it was received and another frame of the same message follows.
    public var more: Bool { withUnsafePointer(to: message) { zmq_msg_more($0) != 0 } }

    /// The name under which the `Authenticator` let its sender in; nil where nobody was asked. Of received frames.
    ///
    /// libzmq 4.3 loses it on a message's first frame: ask a later one. A subscription has it on its only one.
    public var userID: String? {
        withUnsafePointer(to: message) { zmq_msg_gets($0, "User-Id").map { String(cString: $0) } }
    }

    /// The descriptor of the connection that it came over, which may be closed by now. Nil on a ROUTER's first frame,
    /// where libzmq unsubscribes for a peer that has left, and where the peer speaks a ZMTP before 3.0.
    public var connection: Int32? {
        let descriptor = withUnsafePointer(to: message) { zmq_msg_get($0, ZMQ_SRCFD) }
        return descriptor < 0 ? nil : descriptor
    }

    /// The pointer is good inside `body` alone.
    public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Short frames lie inside the message itself, so the copy has to live as long as the pointer.
        var message = message
        return try withUnsafeMutablePointer(to: &message) { (place) throws(Failure) -> Result in
            try body(UnsafeRawBufferPointer(start: zmq_msg_data(place), count: zmq_msg_size(place)))
        }
    }

    /// The pointer is good inside `body` alone. Of a frame made here, and not shared.
    public mutating func withMutableBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutablePointer(to: &message) { (place) throws(Failure) -> Result in
            precondition(zmq_msg_get(place, ZMQ_SHARED) == 0, "a shared frame's bytes must not change")
            return try body(
                UnsafeMutableRawBufferPointer(start: zmq_msg_data(place), count: zmq_msg_size(place)))
        }
    }

    /// A second frame of the same bytes, which neither may change from now on. Copies short ones (up to 33
    /// bytes).
    public mutating func share() -> Frame {
        var other = Frame()
        let result = zmq_msg_copy(&other.message, &message)
        precondition(result == 0, "zmq_msg_copy: errno \(zmq_errno())")
        return other
    }

    /// Lets the bytes go.
    public mutating func clear() {
        self = Frame()
    }
}

// One owner at a time, and libzmq counts the holders of shared bytes, which nobody changes, atomically.
extension Frame: @unchecked Sendable {}

extension String {
    /// The frame's bytes, which are to be UTF-8; wrong ones become U+FFFD.
    public init(decoding frame: borrowing Frame) {
        self = frame.withBytes { String(decoding: $0, as: UTF8.self) }
    }
}

extension Array where Element == UInt8 {
    /// A copy of the frame's bytes.
    public init(copying frame: borrowing Frame) {
        self = frame.withBytes { Array($0) }
    }
}
