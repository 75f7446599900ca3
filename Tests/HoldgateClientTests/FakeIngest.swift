import HoldgateClient
import Platform

/// A host's `ingest` that survives its restarts: follows the safe-retry rules, and loses replies as it is
/// told.
final class FakeIngest: Sendable {
    private struct State {
        var run = ""
        var last: UInt64?
        var lines: [String] = []
        var messages = 0
        var refusals: [WireError] = []
    }

    private let state = Locked(State())
    /// Whether the reply to the `n`th message is lost.
    private let loses: @Sendable (Int) -> Bool
    /// What is refused for good, though well-formed.
    private let badLine: String?

    init(badLine: String? = nil, loses: @escaping @Sendable (Int) -> Bool = { _ in false }) {
        self.badLine = badLine
        self.loses = loses
    }

    var lines: [String] { state.withLock { $0.lines } }
    var messages: Int { state.withLock { $0.messages } }

    /// The next messages are refused with these.
    func refuse(with errors: [WireError]) { state.withLock { $0.refusals = errors } }

    func answer(_ frames: [[UInt8]]) -> [[[UInt8]]] {
        let header = value(frames[0])
        let lines = frames[1...].flatMap { frame in
            String(decoding: frame, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        let (outcome, number) = state.withLock { state in
            state.messages += 1
            return (take(&state, header, lines), state.messages)
        }
        if loses(number) { return [] }
        let id = header["id"]?.text
        return [
            [bytes { IngestReply(id: id, outcome: outcome, status: status(.operating)).write(into: &$0) }]
        ]
    }

    private func take(_ state: inout State, _ header: JSONValue, _ lines: [String]) -> IngestReply.Outcome {
        guard let run = header["run"]?.asString, let batch = header["batch"]?.asUInt64 else {
            return .refused(WireError(.invalidMessage, "no header"), lastBatch: nil)
        }
        if run != state.run {
            state.run = run
            state.last = nil
        }
        if let last = state.last, batch <= last { return .duplicate(lastBatch: last) }
        if let last = state.last, batch > last + 1 {
            return .refused(WireError(.outOfOrder, "missing", retryable: true), lastBatch: last)
        }
        if !state.refusals.isEmpty { return .refused(state.refusals.removeFirst(), lastBatch: nil) }
        if let badLine, let index = lines.firstIndex(of: badLine) {
            return .refused(
                WireError(.invalidMessage, "event \(index): it is bad", index: index), lastBatch: nil)
        }
        state.last = batch
        state.lines += lines
        return .taken(
            accepted: lines.count, gated: 0, discarded: 0, kept: true,
            last: JournalSeq(UInt64(state.lines.count)))
    }
}
