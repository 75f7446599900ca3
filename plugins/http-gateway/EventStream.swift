import HTTPServer
import HoldgateClient
import Platform

/// One client of `GET /v1/stream`: changes of the state as server-sent events, each under its number in the history, and a
/// comment now and then so that everybody knows that the other is there.
///
/// ```
/// id: 7
/// event: state
/// data: {"n":7,"time":"2026-03-01T12:00:00.000Z","launch":"9f0c…","seq":3,"state":"onHold",…}
/// ```
final class EventStream: HTTPStream {
    private struct State {
        /// The last record that was written; nil: the newest change comes first.
        var place: UInt64?
        var beat: UInt64 = 0
        /// Written, and not yet taken.
        var pending: [UInt8]
        var taken = 0
        /// A page of the past is being read.
        var isReading = false
        /// That page, once it is there.
        var page: [HistoryFeed.Record]?
        var wake: (@Sendable () -> Void)?
    }

    private let feed: HistoryFeed
    private let workers: Workers
    private let state: Locked<State>

    /// - Parameters:
    ///   - place: the number of the last record that the client has.
    ///   - workers: read what is older than the feed keeps.
    init(_ feed: HistoryFeed, after place: UInt64?, workers: Workers) {
        self.feed = feed
        self.workers = workers
        // At once, so that the client knows that the stream stands.
        state = Locked(State(place: place, beat: feed.beat, pending: Array("retry: 2000\n\n".utf8)))
    }

    func begin(wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
        feed.listen(self) { wake() }
    }

    func ended() {
        state.withLock { $0.wake = nil }
        feed.leave(self)
    }

    func read(into space: UnsafeMutableRawBufferPointer) -> HTTPStreamStep {
        if feed.isStopped { return .end }
        let isEmpty = state.withLock { $0.taken == $0.pending.count }
        if isEmpty { fill() }
        return state.withLock { state in
            let count = min(space.count, state.pending.count - state.taken)
            guard count > 0 else { return .wait }
            state.pending.withUnsafeBytes { bytes in
                let piece = UnsafeRawBufferPointer(rebasing: bytes[state.taken..<state.taken + count])
                space.copyMemory(from: piece)
            }
            state.taken += count
            return .bytes(count)
        }
    }

    /// Writes what is new.
    private func fill() {
        let (place, isReading, page) = state.withLock { state in
            defer { state.page = nil }
            return (state.place, state.isReading, state.page)
        }
        if let page, let last = page.last {
            write(page, through: last.n)
            // A page without a change leads to the next one.
            if !page.contains(where: { $0.text != nil }) { fill() }
            return
        }
        guard !isReading else { return beat() }
        switch feed.changes(after: place) {
        case .changes(let records, let through):
            guard !records.isEmpty else {
                state.withLock { $0.place = through }
                return beat()
            }
            write(records, through: through)
        case .beyond:
            state.withLock { $0.place = nil }
            fill()
        case .older: readPage(after: place ?? 0)
        case .unknown: beat()
        }
    }

    private func beat() {
        let beat = feed.beat
        state.withLock { state in
            guard beat != state.beat else { return }
            state.beat = beat
            state.pending = Array(":\n\n".utf8)
            state.taken = 0
        }
    }

    private func write(_ records: [HistoryFeed.Record], through: UInt64) {
        var bytes: [UInt8] = []
        for record in records {
            guard let text = record.text else { continue }
            bytes += "id: \(record.n)\nevent: state\ndata: \(text)\n\n".utf8
        }
        let written = bytes
        state.withLock { state in
            state.place = through
            state.pending = written
            state.taken = 0
        }
    }

    private func readPage(after place: UInt64) {
        state.withLock { $0.isReading = true }
        let isTaken = workers.run { [self] in
            let page = try? feed.read(after: place)
            let wake = state.withLock { state in
                state.isReading = false
                state.page = page
                return state.wake
            }
            // Without an answer the next beat tries again.
            if page != nil { wake?() }
        }
        if !isTaken { state.withLock { $0.isReading = false } }
    }
}
