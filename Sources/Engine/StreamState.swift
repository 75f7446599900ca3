import Lifecycle
import Wire

/// The numbering of `stream`, and what late joiners are told.
struct StreamState: Hashable, Sendable {
    struct Sent: Hashable, Sendable {
        var body: StateBody
        var seq: UInt64
        var prev: UInt64
    }
    /// The last transition that peers may know of.
    var lastState: Sent
    /// The `seq` of the last transition that this run told of: the one that it came up with, as snapshots repeat it,
    /// or a later one.
    var lastStateSeq: UInt64
    /// Messages sent on the topics with a count of their own.
    var counts: [String: UInt64] = [:]
    /// When the snapshot for late joiners is due.
    var snapshotDueMs: Int64?

    /// The `seq` and `prev` of the next message of a topic with a count of its own.
    mutating func number(_ topic: String) -> (seq: UInt64, prev: UInt64) {
        let prev = counts[topic, default: 0]
        counts[topic] = prev + 1
        return (prev + 1, prev)
    }
}

extension Engine {
    mutating func publish(_ publication: Publication, into effects: inout [Effect]) {
        let number: (seq: UInt64, prev: UInt64)
        switch publication {
        case .state(let body):
            number = (shown.seq.raw, stream.lastStateSeq)
            stream.lastStateSeq = number.seq
            stream.lastState = StreamState.Sent(body: body, seq: number.seq, prev: number.prev)
            stream.snapshotDueMs = nil
        case .drain: number = stream.number("drain")
        case .plugin: number = stream.number("plugin")
        case .heartbeat: number = stream.number("heartbeat")
        case .app(let body): number = stream.number(StreamTopic.app(phase: body.phase.rawValue).text)
        }
        let header = StreamHeader(launch: shown.launch, run: run, seq: number.seq, prev: number.prev)
        effects.append(.publish(header, publication))
    }

    /// Somebody subscribed to a prefix that matches `state`: the present state follows shortly.
    public mutating func subscribedToState(now: Now) {
        if stream.snapshotDueMs == nil {
            stream.snapshotDueMs = now.monotonicMs + configuration.snapshotDelayMs
        }
    }

    mutating func publishSnapshot(into effects: inout [Effect]) {
        stream.snapshotDueMs = nil
        let last = stream.lastState
        var body = last.body
        body.snapshot = true
        let header = StreamHeader(launch: shown.launch, run: run, seq: last.seq, prev: last.prev)
        effects.append(.publish(header, .state(body)))
    }
}
