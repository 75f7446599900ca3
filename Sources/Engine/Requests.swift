import Ledger
import Lifecycle
import Wire

/// A callback request that was handed to its provider.
struct RoutedRequest: Hashable, Sendable {
    let requester: Requester
    /// The request's own `id`, as JSON text.
    let id: String?
    let service: String
    let peer: PeerID
    /// By the monotonic clock.
    let deadlineMs: Int64
    /// What the provider said while a closing was being written: told only if the closing comes to nothing.
    var result: Result<JSONValue, WireError>?
}

/// The callback requests in flight, by the number under which the provider knows them.
struct RequestTable: Hashable, Sendable {
    private(set) var routed: [UInt64: RoutedRequest] = [:]
    private(set) var load: [PeerID: Int] = [:]
    private var last: UInt64 = 0

    /// None of them is due earlier. Not put off as requests are answered: it is asked for at each turn, and looking
    /// through all of them would cost more the more there are.
    private(set) var nextDeadlineMs: Int64?

    var count: Int { routed.count }

    mutating func add(_ request: RoutedRequest) -> UInt64 {
        last += 1
        routed[last] = request
        nextDeadlineMs = min(request.deadlineMs, nextDeadlineMs ?? request.deadlineMs)
        load[request.peer, default: 0] += 1
        return last
    }

    mutating func remove(_ number: UInt64) -> RoutedRequest? {
        guard let request = routed.removeValue(forKey: number) else { return nil }
        let left = (load[request.peer] ?? 1) - 1
        load[request.peer] = left > 0 ? left : nil
        if routed.isEmpty { nextDeadlineMs = nil }
        return request
    }

    /// Once those that were due are out.
    mutating func findNextDeadline() { nextDeadlineMs = routed.values.lazy.map(\.deadlineMs).min() }

    /// Keeps what the provider said until it is known whether it may be told.
    mutating func keep(_ result: Result<JSONValue, WireError>, for number: UInt64) {
        routed[number]?.result = result
    }

    /// Takes out all that match, oldest first.
    mutating func removeAll(where matches: (RoutedRequest) -> Bool) -> [RoutedRequest] {
        routed.filter { matches($0.value) }.keys.sorted().compactMap { remove($0) }
    }
}

/// A request that was read while a closing was being written: answered when that is settled.
struct UndecidedRequest: Hashable, Sendable {
    let request: ControlRequest
    let requester: Requester
    /// By the monotonic clock, from when it was read.
    let deadlineMs: Int64
}

/// An app's report that was read while a kill was being written: taken if the kill comes to nothing.
struct UndecidedReport: Hashable, Sendable {
    let report: AppReport
    let requester: Requester
    let id: String?
}

/// `configure` or `requeue`, read while a kill was being written: done if the kill comes to nothing.
struct UndecidedChange: Hashable, Sendable {
    let request: ControlRequest
    let requester: Requester
}
