import Lifecycle
import Wire

// Callback requests: from a client on `control` to the provider of the service, and back. Only an operating gate
// lets them pass; whatever closes it answers all that are in flight.
extension Engine {
    mutating func route(
        _ request: ControlRequest, _ requester: Requester, now: Now, into effects: inout [Effect]
    ) {
        guard case .request(_, _, let timeoutMs) = request.command else {
            preconditionFailure("no callback request")
        }
        statistics.callbackRequests += 1
        let arrived = UndecidedRequest(
            request: request, requester: requester, deadlineMs: now.monotonicMs + timeoutMs)
        if isStopping { return fail(request, requester, Self.stoppingError, into: &effects) }
        guard shown.state.isOperating else {
            return fail(request, requester, Self.notOperating(shown.state), into: &effects)
        }
        if unwritten != nil { return fail(request, requester, Self.closedInMemory, into: &effects) }
        if gate.admits { return route(arrived, now: now, into: &effects) }
        guard undecided.count < Self.undecidedLimit else {
            let error = WireError(.overloaded, "too many requests wait for the disk", retryable: true)
            return fail(request, requester, error, into: &effects)
        }
        undecided.append(arrived)
    }

    private mutating func route(_ arrived: UndecidedRequest, now: Now, into effects: inout [Effect]) {
        guard case .request(let service, let arguments, _) = arrived.request.command else {
            preconditionFailure("no callback request")
        }
        guard now.monotonicMs < arrived.deadlineMs else {
            return fail(arrived.request, arrived.requester, Self.tooSlow, into: &effects)
        }
        let provider: PeerID
        switch provide(service) {
        case .success(let peer): provider = peer
        case .failure(let error): return fail(arrived.request, arrived.requester, error, into: &effects)
        }
        let number = requests.add(
            RoutedRequest(
                requester: arrived.requester, id: arrived.request.id, service: service, peer: provider,
                deadlineMs: arrived.deadlineMs))
        let timeoutMs = arrived.deadlineMs - now.monotonicMs
        effects.append(
            .send(
                provider, .request(id: number, service: service, arguments: arguments, timeoutMs: timeoutMs)))
    }

    /// Requests that may wait for a closing to be written.
    static let undecidedLimit = 10_000

    static func notOperating(_ state: LifecycleState) -> WireError {
        let error = NotOperatingError(state: state)
        return WireError(.notOperating, error.description, retryable: error.isRetryable)
    }

    static let stoppingError = WireError(
        .shuttingDown, "the host is stopping; send it again to the next one", retryable: true)

    /// A closing found the disk full: nobody is shown a state that is not on disk, but nothing passes either.
    static let closedInMemory = WireError(
        .storageFull, "the disk is full and a closing is not written yet: nothing passes before it is",
        retryable: true)

    /// A request waited for a closing to be written, and its deadline came first.
    private static let tooSlow = WireError(
        .timeout, "the disk was too slow to tell whether the gate is open", retryable: true)

    /// The provider of a service that has the least to do; of several, the one that has waited longest.
    private mutating func provide(_ service: String) -> Result<PeerID, WireError> {
        let providers = attachments.values.filter { $0.services.contains(service) }
        guard !providers.isEmpty else {
            guard servicesSeen.contains(service) else {
                return .failure(WireError(.unknownService, "nobody provides \(service)"))
            }
            return .failure(
                WireError(
                    .serviceUnavailable, "the provider of \(service) is not attached now", retryable: true))
        }
        // A plugin that collects too is welcomed once its place is on disk, and does not listen before.
        let heard = providers.filter { !$0.isSilent && durable[$0.name]?.beingNoted == nil }
        guard !heard.isEmpty else {
            return .failure(
                WireError(
                    .serviceUnavailable,
                    "the provider of \(service) has fallen silent, or is not welcome yet",
                    retryable: true))
        }
        let free = heard.filter { requests.load[$0.peer, default: 0] < configuration.maxRequestsPerProvider }
        let next = free.min {
            (requests.load[$0.peer, default: 0], $0.lastRequest, $0.peer)
                < (requests.load[$1.peer, default: 0], $1.lastRequest, $1.peer)
        }
        guard let next else {
            return .failure(
                WireError(
                    .overloaded,
                    "each provider of \(service) has \(configuration.maxRequestsPerProvider) requests in flight",
                    retryable: true))
        }
        requestTurn += 1
        attachments[next.peer]?.lastRequest = requestTurn
        return .success(next.peer)
    }

    /// So that a lost provider is told apart from one that never was.
    mutating func rememberServices(_ services: Set<String>) {
        for service in services where servicesSeen.count < Self.servicesSeenLimit {
            servicesSeen.insert(service)
        }
    }

    private static let servicesSeenLimit = 16_384

    // MARK: Results

    /// A provider answered. What comes late, twice, or from somebody else is dropped.
    mutating func take(
        _ result: Result<JSONValue, WireError>, for number: UInt64, from peer: PeerID, now: Now,
        into effects: inout [Effect]
    ) {
        // The deadline counts, and not when the clock is looked at next.
        guard let request = requests.routed[number], request.peer == peer, request.result == nil,
            now.monotonicMs < request.deadlineMs
        else {
            statistics.resultsDropped += 1
            return
        }
        let result = result.mapError { Self.itsOwn($0) }
        guard gate.admits else { return requests.keep(result, for: number) }
        if let request = requests.remove(number) { tell(request, result, into: &effects) }
    }

    /// What the host says of a request it says alone: whoever asked must not take a provider's word for the gate's.
    private static let hostCodes: Set<ErrorCode> = [
        .notOperating, .unknownService, .serviceUnavailable, .timeout, .overloaded, .storageFull,
        .shuttingDown,
    ]

    private static func itsOwn(_ error: WireError) -> WireError {
        guard hostCodes.contains(error.code) else { return error }
        return WireError(
            .internalError,
            "the provider answered with \(error.code), which is the host's to say: \(error.message)",
            retryable: error.retryable, isOutcomeUnknown: error.isOutcomeUnknown)
    }

    /// It never left.
    private mutating func fail(
        _ request: ControlRequest, _ requester: Requester, _ error: WireError, into effects: inout [Effect]
    ) {
        statistics.callbackRequestsFailed += 1
        refuse(request, requester, error, into: &effects)
    }

    private mutating func tell(
        _ request: RoutedRequest, _ result: Result<JSONValue, WireError>, into effects: inout [Effect]
    ) {
        var reply = ControlReply(id: request.id, status: status)
        switch result {
        case .success(let value):
            statistics.callbackRequestsAnswered += 1
            reply.members = [.init("value", value)]
        case .failure(let error):
            statistics.callbackRequestsFailed += 1
            reply.error = error
        }
        effects.append(.reply(request.requester, reply))
    }

    /// The request never left: its provider's queue is full, or it is gone.
    public mutating func unsent(_ number: UInt64, isGone: Bool, into effects: inout [Effect]) {
        guard let request = requests.remove(number) else { return }
        let error =
            isGone
            ? WireError(.serviceUnavailable, "the provider of \(request.service) is lost", retryable: true)
            : WireError(
                .overloaded, "the provider of \(request.service) does not read what it is sent",
                retryable: true)
        tell(request, .failure(error), into: &effects)
    }

    // MARK: What ends them

    /// The provider has them, or may have had them: nobody knows whether it did what they ask.
    private mutating func interrupt(
        _ code: ErrorCode, _ message: String, into effects: inout [Effect],
        where matches: (RoutedRequest) -> Bool = { _ in true }
    ) {
        let error = WireError(code, message, isOutcomeUnknown: true)
        for request in requests.removeAll(where: matches) { tell(request, .failure(error), into: &effects) }
    }

    /// They never left.
    private mutating func refuseUndecided(_ error: WireError, into effects: inout [Effect]) {
        let waiting = undecided
        undecided = []
        for each in waiting { fail(each.request, each.requester, error, into: &effects) }
    }

    /// A closing is on disk: whatever is in flight is answered now, and what comes later is dropped.
    mutating func interruptRequests(into effects: inout [Effect]) {
        interrupt(.notOperating, "the gate closed while the provider had the request", into: &effects)
        refuseUndecided(Self.notOperating(shown.state), into: &effects)
    }

    /// A closing found the disk full, and closes all the same.
    mutating func interruptRequestsInMemory(into effects: inout [Effect]) {
        interrupt(Self.closedInMemory.code, Self.closedInMemory.message, into: &effects)
        refuseUndecided(Self.closedInMemory, into: &effects)
    }

    /// A closing came to nothing: what waited for it goes on.
    mutating func resumeRequests(now: Now, into effects: inout [Effect]) {
        guard gate.admits else { return }
        for (number, request) in requests.routed.sorted(by: { $0.key < $1.key }) {
            guard let result = request.result, let request = requests.remove(number) else { continue }
            tell(request, result, into: &effects)
        }
        let waiting = undecided
        undecided = []
        for each in waiting { route(each, now: now, into: &effects) }
    }

    /// The provider is gone, or has fallen silent. What it answered before stands.
    mutating func abandonRequests(of peer: PeerID, into effects: inout [Effect]) {
        guard requests.load[peer] != nil else { return }
        interrupt(.serviceUnavailable, "the provider was lost while it had the request", into: &effects) {
            $0.peer == peer && $0.result == nil
        }
    }

    /// When the next of them is to be answered at the latest.
    var nextRequestDeadlineMs: Int64? {
        guard let waiting = undecided.lazy.map(\.deadlineMs).min() else { return requests.nextDeadlineMs }
        return min(waiting, requests.nextDeadlineMs ?? waiting)
    }

    mutating func expireRequests(now: Now, into effects: inout [Effect]) {
        guard let due = nextRequestDeadlineMs, due <= now.monotonicMs else { return }
        interrupt(.timeout, "the provider did not answer in time", into: &effects) {
            $0.deadlineMs <= now.monotonicMs
        }
        requests.findNextDeadline()
        let waiting = undecided
        undecided.removeAll { $0.deadlineMs <= now.monotonicMs }
        for each in waiting where each.deadlineMs <= now.monotonicMs {
            fail(each.request, each.requester, Self.tooSlow, into: &effects)
        }
    }

    /// The host stops: nobody is left waiting.
    mutating func refuseRequests(_ error: WireError, into effects: inout [Effect]) {
        interrupt(error.code, "\(error.message); the provider had the request", into: &effects)
        refuseUndecided(error, into: &effects)
    }
}
