import Lifecycle
import Wire

/// One change of the gate's state.
public struct StateChange: Hashable, Sendable {
    public enum Origin: String, Hashable, Sendable {
        /// As it happened.
        case live
        /// The present state, told to a late joiner.
        case snapshot
        /// Read from the history, since the stream had lost it.
        case history
    }

    /// Which transition: its number within its launch.
    public struct Place: Hashable, Sendable {
        public let launch: LaunchID
        public let seq: TransitionSeq
        public init(launch: LaunchID, seq: TransitionSeq) {
            self.launch = launch
            self.seq = seq
        }
    }

    public var place: Place
    public var state: LifecycleState
    public var previous: LifecycleState?
    /// The command that made it, or `drained`, `drainTimeout`, `leaseExpired`.
    public var command: String
    public var source: String?
    public var reason: String?
    /// Milliseconds since 1970.
    public var wallMs: Int64
    /// Events that somebody still had to take; nil where the history was read.
    public var pending: UInt64?
    public var undelivered: UInt64?
    public var origin: Origin
    /// The stream has lost messages before this one. What could be recovered follows from here on, from the
    /// history; with another origin than `history`, changes before this one are missing.
    public var missed = false

    init(_ header: StreamHeader, _ body: StateBody) {
        place = Place(launch: header.launch, seq: TransitionSeq(header.seq))
        state = body.state
        previous = body.previous
        command = body.command
        source = body.source
        reason = body.reason
        wallMs = body.wallMs
        pending = body.pending
        undelivered = body.undelivered
        origin = body.snapshot ? .snapshot : .live
    }

    /// The transition of a history record; nil for records of something else.
    public init?(_ record: HistoryRecord) {
        let value = record.value
        guard let command = value["command"]?.asString, LifecycleCause(rawValue: command) != nil,
            value["changed"]?.asBool != false,
            let state = value["state"]?.asString.flatMap(LifecycleState.init(rawValue:)),
            let launch = value["launch"]?.asString.flatMap(LaunchID.init), let seq = value["seq"]?.asUInt64
        else { return nil }
        place = Place(launch: launch, seq: TransitionSeq(seq))
        self.state = state
        previous = value["previous"]?.asString.flatMap(LifecycleState.init(rawValue:))
        self.command = command
        source = value["source"]?.asString
        reason = value["reason"]?.asString
        wallMs = value["time"]?.asString.flatMap { Timestamp.parse($0) } ?? 0
        undelivered = value["undelivered"]?.asUInt64
        origin = .history
    }
}

/// Tells which messages of the stream are new, and when some were lost. A value.
struct StateFollower: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        /// Nothing new.
        case none
        case yield(StateChange)
        /// Some were lost; `change` is the one that showed it, nil for a heartbeat.
        case catchUp(StateChange?)
    }

    private(set) var last: StateChange.Place?

    /// - Parameter after: the last change that is known from before; nil: begin with the present state.
    init(after: StateChange.Place?) { last = after }

    mutating func heard(_ change: StateChange) -> Step {
        guard let last else { return take(change) }
        guard change.place.launch == last.launch else { return .catchUp(change) }
        // Transitions are numbered without a gap within a launch.
        if change.place.seq <= last.seq { return .none }
        return change.place.seq == last.seq.next ? take(change) : .catchUp(change)
    }

    mutating func heard(heartbeatOf launch: LaunchID, stateHead: UInt64) -> Step {
        guard let last, stateHead > 0 else { return .none }
        if launch != last.launch || stateHead > last.seq.raw { return .catchUp(nil) }
        return .none
    }

    /// What is to be told after a catch-up. `recovered`: all transitions after the last one, or nil where the
    /// history could not be read or does not have the last one any more.
    mutating func caughtUp(_ recovered: [StateChange]?, _ change: StateChange?) -> [StateChange] {
        guard let recovered else {
            guard var change else { return [] }
            change.missed = true
            last = change.place
            return [change]
        }
        var changes = recovered
        if let change, !changes.contains(where: { $0.place == change.place }), change.place != last {
            changes.append(change)
        }
        guard !changes.isEmpty else { return [] }
        changes[0].missed = true
        last = changes[changes.count - 1].place
        return changes
    }

    private mutating func take(_ change: StateChange) -> Step {
        last = change.place
        return .yield(change)
    }
}

/// Reads transitions out of the history, of which only pages after a record's number can be had.
struct HistoryWalk {
    /// Records with a number above `after`, oldest first.
    typealias Page = (_ after: UInt64, _ limit: Int) throws(HoldgateError) -> [HistoryRecord]

    static let pageLimit = 500

    /// The last record that was read; the next walk goes on from there.
    private var head: UInt64?

    init() {}

    /// All transitions after `place`, oldest first; nil where the history doesn't have `place`.
    mutating func transitions(
        after place: StateChange.Place, _ page: Page
    ) throws(HoldgateError) -> [StateChange]? {
        if let head {
            let found = try forward(from: head, page)
            // Changes that came live since the last walk are known.
            guard let known = found.firstIndex(where: { $0.place == place }) else { return found }
            return Array(found[(known + 1)...])
        }
        // Without a number to begin with: find the end, and go back from there until the place is met.
        let end = try Self.end(page)
        var changes: [StateChange] = []
        var through = end
        while through > 0 {
            let after = through > UInt64(Self.pageLimit) ? through - UInt64(Self.pageLimit) : 0
            let records = try page(after, Self.pageLimit).filter { $0.n <= through }
            let older = records.compactMap { StateChange($0) }
            changes = older + changes
            if let index = changes.firstIndex(where: { $0.place == place }) {
                head = end
                let rest = try forward(from: end, page)
                return Array(changes[(index + 1)...]) + rest
            }
            through = after
        }
        return nil
    }

    private mutating func forward(from start: UInt64, _ page: Page) throws(HoldgateError) -> [StateChange] {
        var after = start
        var changes: [StateChange] = []
        while true {
            let records = try page(after, Self.pageLimit)
            guard let last = records.last, last.n > after else { break }
            changes += records.compactMap { StateChange($0) }
            after = last.n
        }
        head = after
        return changes
    }

    /// The last record's number, by doubling steps and then halving.
    static func end(_ page: Page) throws(HoldgateError) -> UInt64 {
        var low: UInt64 = 0
        var step: UInt64 = 1024
        while let record = try page(low + step, 1).first {
            low = record.n
            step *= 2
        }
        var high = low + step
        // There are records after `low`, unless it is 0; none after `high`.
        while low < high {
            let middle = low + (high - low) / 2
            if try page(middle, 1).isEmpty { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
