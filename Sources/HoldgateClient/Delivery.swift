import Lifecycle
import Wire
import ZeroMQ

/// Events that the host handed over: what it says of them, and their bytes as they came.
public struct Delivery: Sendable {
    public let header: DeliverHeader
    /// NDJSON, in the order of `header.ranges`.
    public let frames: [EventsFrame]

    public init(header: DeliverHeader, frames: [EventsFrame]) {
        self.header = header
        self.frames = frames
    }

    /// The last event's seq: acknowledging it acknowledges all.
    public var last: JournalSeq { header.ranges.reduce(.zero) { max($0, $1.last) } }

    /// Bytes of all frames.
    public var byteCount: Int { frames.reduce(0) { $0 + $1.byteCount } }

    /// Calls `body` for each event with its seq and its line, without the line feed. The pointer is good
    /// inside `body` alone. Lines and seqs end with whichever is fewer.
    public func forEachEvent<Failure: Error>(
        _ body: (JournalSeq, UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try forEachPlace { (seq, frame, place) throws(Failure) in
            try frame.withBytes { (bytes) throws(Failure) in
                try body(seq, UnsafeRawBufferPointer(rebasing: bytes[place]))
            }
        }
    }

    /// As `forEachEvent`, with the bytes that the line has of which frame: to keep an event without copying it.
    public func forEachPlace<Failure: Error>(
        _ body: (JournalSeq, EventsFrame, Range<Int>) throws(Failure) -> Void
    ) throws(Failure) {
        var seqs = header.ranges.lazy.flatMap { range in
            (0..<range.count).lazy.map { range.first.advanced(by: $0) }
        }
        .makeIterator()
        for frame in frames {
            try frame.withBytes { (bytes) throws(Failure) in
                var lines = Lines(bytes)
                while let line = lines.next() {
                    guard let seq = seqs.next() else { return }
                    let offset = line.baseAddress! - bytes.baseAddress!
                    try body(seq, frame, offset..<(offset + line.count))
                }
            }
        }
    }
}

/// One frame of events, as libzmq holds it.
public final class EventsFrame: Sendable {
    private let frame: Frame

    init(_ frame: consuming Frame) { self.frame = frame }

    /// A copy of `bytes`, for tests and for events that come from elsewhere.
    public init(copying bytes: [UInt8]) { frame = Frame(copying: bytes) }

    public var byteCount: Int { frame.count }

    /// The pointer is good inside `body` alone.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try frame.withBytes(body)
    }
}
