import Engine
import Wire

/// Where replies go: the frames ahead of each unanswered request.
struct Envelopes {
    enum Endpoint: Hashable {
        case control
        case ingest
    }
    struct Envelope {
        let endpoint: Endpoint
        /// Nil: the connection was cut, and nobody hears the reply.
        var frames: [[UInt8]]?
    }

    private var waiting: [Requester: Envelope] = [:]
    private var last: UInt64 = 0

    /// Requests that are not answered yet.
    var count: Int { waiting.count }

    /// Keeps the routing id and the frames up to the payload.
    mutating func keep(_ message: InboundMessage, payload: Int, _ endpoint: Endpoint) -> Requester {
        last += 1
        let requester = Requester(last)
        var frames: [[UInt8]] = []
        frames.reserveCapacity(payload)
        for index in 0..<payload { frames.append(message.bytes(index)) }
        waiting[requester] = Envelope(endpoint: endpoint, frames: frames)
        return requester
    }

    /// Every connection is cut: a routing id may be somebody else's afterwards.
    mutating func forget() {
        for requester in waiting.keys { waiting[requester]?.frames = nil }
    }

    /// Each requester is answered once.
    mutating func take(_ requester: Requester) -> Envelope? { waiting.removeValue(forKey: requester) }
}
