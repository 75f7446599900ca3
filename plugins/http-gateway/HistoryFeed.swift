import HoldgateClient
import Platform

/// The newest records of the history, kept up to date, for streams that follow it: each change of the state is in the
/// history before anybody hears of it, under a number that only grows. Streams are woken when there is more.
final class HistoryFeed: Sendable {
    /// One record: its number, and its text if it is a change of the state.
    struct Record: Hashable, Sendable {
        let n: UInt64
        /// Nil: no change of the state.
        let text: String?
    }

    /// What a stream finds.
    enum Found: Hashable, Sendable {
        /// Changes after the place, and the place after them. None: nothing new.
        case changes([Record], through: UInt64)
        /// What follows the place is not kept here.
        case older
        /// The place lies past the end: it is another history's.
        case beyond
        /// The host has not answered yet.
        case unknown
    }

    private struct State {
        var records: [Record] = []
        /// All after this number are in `records`; nil: nothing is known yet.
        var after: UInt64?
        var end: UInt64 = 0
        /// Counts up when everybody is to say that it is there.
        var beat: UInt64 = 0
        var listeners: [ObjectIdentifier: @Sendable () -> Void] = [:]
        var isStopped = false
    }

    /// Changes that are kept for those who come back.
    static let keptRecords = 1000
    private static let pageRecords = 500
    private static let beatMs: Int64 = 15_000

    private let holdgate: Holdgate
    private let subscription: StateSubscription
    private let wake: EventFD
    private let state = Locked(State())

    /// - Parameter failed: told when libzmq gives up, once.
    init(
        _ holdgate: Holdgate, _ endpoints: Endpoints, _ credentials: Credentials?,
        failed: @escaping @Sendable (String) -> Void
    ) throws(HoldgateError) {
        self.holdgate = holdgate
        subscription = try StateSubscription(endpoints: endpoints, credentials: credentials)
        do {
            wake = try EventFD()
            let (subscription, wake) = (subscription, wake)
            _ = try Thread.spawn(name: "http-changes") {
                do {
                    try subscription.run { _ in wake.signal() }
                } catch {
                    failed("changes of the state can't be heard: \(error)")
                }
            }
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    /// Follows the history until stopped; on a thread of its own.
    func run() {
        var isBehind = true
        var nextBeatMs = Clock.monotonicMs() + Self.beatMs
        while !state.withLock({ $0.isStopped }) {
            let now = Clock.monotonicMs()
            if isBehind { isBehind = !((try? catchUp()) ?? false) }
            if now >= nextBeatMs {
                nextBeatMs = now + Self.beatMs
                // Whoever may not hear the stream still reads the history.
                isBehind = true
                state.withLock { $0.beat += 1 }
                tell()
            }
            // Behind: the host is away, and is looked for again soon.
            let waitMs = isBehind ? min(1000, nextBeatMs - now) : nextBeatMs - now
            if wake.wait(timeoutMs: Int(max(1, waitMs))) {
                wake.drain()
                isBehind = true
            }
        }
        tell()
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        subscription.stop()
        wake.signal()
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    private func catchUp() throws(HoldgateError) -> Bool {
        let known = state.withLock { $0.after == nil ? nil : $0.end }
        guard let known else { return try begin() }
        var end = known
        while true {
            let page = try read(after: end)
            guard let last = page.last else {
                // A history that is shorter than it was is another one.
                if end == known, end > 0, try read(after: end - 1).isEmpty { return try begin() }
                break
            }
            end = last.n
            append(page)
        }
        if end > known { tell() }
        return true
    }

    private func append(_ page: [Record]) {
        state.withLock { state in
            state.records += page.filter { $0.text != nil }
            state.end = page.last?.n ?? state.end
            let excess = state.records.count - Self.keptRecords
            guard excess > 0 else { return }
            state.after = state.records[excess - 1].n
            state.records.removeFirst(excess)
        }
    }

    /// The newest records, as many as it takes to have one change among them.
    private func begin() throws(HoldgateError) -> Bool {
        var records = try holdgate.latestHistoryBlocking(limit: Self.pageRecords).map { Self.record($0) }
        guard let end = records.last?.n else { return false }
        while let first = records.first, first.n > 1, !records.contains(where: { $0.text != nil }) {
            let after = first.n > UInt64(Self.pageRecords) ? first.n - 1 - UInt64(Self.pageRecords) : 0
            let older = try read(after: after).filter { $0.n < first.n }
            guard !older.isEmpty else { break }
            records = older + records
        }
        let found = records
        state.withLock { state in
            state.after = (found.first?.n ?? 1) - 1
            state.records = found.filter { $0.text != nil }
            state.end = end
        }
        tell()
        return true
    }

    private func tell() {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener() }
    }

    // MARK: Streams

    func listen(_ owner: AnyObject, _ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners[ObjectIdentifier(owner)] = listener }
    }

    func leave(_ owner: AnyObject) {
        let listener = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(owner)) }
        _ = listener
    }

    var beat: UInt64 { state.withLock { $0.beat } }
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Changes after `place`; nil: the newest one alone.
    func changes(after place: UInt64?) -> Found {
        state.withLock { state in
            guard let after = state.after else { return .unknown }
            guard let place else {
                return .changes(state.records.last.map { [$0] } ?? [], through: state.end)
            }
            if place > state.end { return .beyond }
            guard place >= after else { return .older }
            // Ascending: those after the place are the last ones.
            var first = state.records.count
            while first > 0, state.records[first - 1].n > place { first -= 1 }
            return .changes(Array(state.records[first...]), through: state.end)
        }
    }

    /// A page of records after `place`, for those who come from far back; blocks.
    func read(after place: UInt64) throws(HoldgateError) -> [Record] {
        try holdgate.performBlocking(.history(after: place, limit: Self.pageRecords)).map { Self.record($0) }
    }

    private static func record(_ record: HistoryRecord) -> Record {
        Record(n: record.n, text: StateChange(record) == nil ? nil : record.text)
    }
}
