import ZeroMQ

/// One received message, frame by frame, in frames that are used again for the next.
///
/// What exceeds the limits on frames and bytes is read and thrown away, so that a peer can't make the host keep it.
final class InboundMessage {
    /// A frame in an array: `Frame` itself can't be copied.
    private final class Box {
        var frame = Frame()
    }

    /// Of the message that was read last, what was thrown away included.
    private(set) var receivedBytes = 0
    private(set) var receivedFrames = 0
    /// The descriptor of the connection that it came over; nil where the peer's ZMTP is from before 3.0.
    private(set) var connection: Int32?

    private let maxFrames: Int
    private let maxBytes: Int
    private var boxes: [Box] = []
    /// Frames that were kept, the routing id included.
    private(set) var count = 0
    private(set) var byteCount = 0
    /// Some frames were thrown away: the message is too large to be looked at.
    private(set) var isTruncated = false

    /// Frames whose memory is kept for the next message.
    private static let keptBoxes = 64

    init(maxFrames: Int, maxBytes: Int) {
        // The routing id and an envelope come on top of what a peer sends.
        self.maxFrames = maxFrames + 10
        self.maxBytes = maxBytes + 4096
    }

    /// Reads one whole message; false where none waits.
    func receive(from socket: borrowing Socket) throws(ZeroMQError) -> Bool {
        count = 0
        byteCount = 0
        isTruncated = false
        receivedBytes = 0
        receivedFrames = 0
        var isFirst = true
        while true {
            if count == boxes.count { boxes.append(Box()) }
            let box = boxes[count]
            guard try socket.receive(into: &box.frame) else {
                // An XPUB keeps back a last frame that is a subscription and tells nothing new.
                isTruncated = !isFirst
                return !isFirst
            }
            isFirst = false
            let more = box.frame.more
            receivedBytes += box.frame.count
            receivedFrames += 1
            // libzmq loses it on the first frame of several.
            if !more { connection = box.frame.connection }
            if count < maxFrames, byteCount + box.frame.count <= maxBytes {
                byteCount += box.frame.count
                count += 1
            } else {
                isTruncated = true
                box.frame.clear()
            }
            if !more { return true }
        }
    }

    /// Gives the frames' memory back.
    func clear() {
        for index in 0..<min(count, boxes.count) { boxes[index].frame.clear() }
        if boxes.count > Self.keptBoxes { boxes.removeLast(boxes.count - Self.keptBoxes) }
        count = 0
    }

    func length(_ index: Int) -> Int { boxes[index].frame.count }

    func withBytes<R, E: Error>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R
    {
        try boxes[index].frame.withBytes(body)
    }

    /// Whether libzmq chose the routing id: a zero byte and four more.
    var hasGivenRoutingID: Bool {
        boxes[0].frame.withBytes { $0.count == 5 && $0[0] == 0 }
    }

    /// The name under which its sender was let in.
    func userID(_ index: Int) -> String? { boxes[index].frame.userID }

    func bytes(_ index: Int) -> [UInt8] { boxes[index].frame.withBytes { Array($0) } }
}
