import Lifecycle
import Wire

// Callback requests: from a client on `control` to the provider of the service, and back. Only an operating gate
// lets them pass; whatever closes it answers all that are in flight.
extension Engine {
    mutating func route(
        _ request: ControlRequest, _ requester: Requester, now: Now, into effects: inout [Effect]
    ) {
        guard case .request(let service, let arguments, let timeoutMs) = request.command else {
            preconditionFailure("no callback request")
        }
        if isStopping { return refuse(request, requester, Self.stoppingError, into: &effects) }
        guard shown.state.isOperating else {
            return refuse(request, requester, Self.notOperating(shown.state), into: &effects)
        }
        guard gate.admits else {
            guard undecided.count < Self.undecidedLimit else {
                let error = WireError(.overloaded, "too many requests wait for the disk", retryable: true)
                return refuse(request, requester, error, into: &effects)
            }
            undecided.append(UndecidedRequest(request: request, requester: requester))
            return
        }
        let provider: PeerID
        switch provide(service) {
        case .success(let peer): provider = peer
        case .failure(let error): return refuse(request, requester, error, into: &effects)
        }
        let number = requests.add(
            RoutedRequest(
                requester: requester, id: request.id, service: service, peer: provider,
                deadlineMs: now.monotonicMs + timeoutMs))
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
        let heard = providers.filter { !$0.isSilent }
        guard !heard.isEmpty else {
            return .failure(
                WireError(
                    .serviceUnavailable, "the provider of \(service) has fallen silent", retryable: true))
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
                    "\(service) has \(configuration.maxRequestsPerProvider) requests in flight with each provider",
                    retryable: true))
        }
        requestTurn += 1
        attachments[next.peer]?.lastRequest = requestTurn
        return .success(next.peer)
    }

    /// So that a lost provider is told apart from one that never was.
    mutating func rememberServices(_ services: [String]) {
        for service in services where servicesSeen.count < Self.servicesSeenLimit {
            servicesSeen.insert(service)
        }
    }

    private static let servicesSeenLimit = 16_384

    /// A provider answered. What comes late, twice, or from somebody else is dropped.
    mutating func take(
        _ result: Result<JSONValue, WireError>, for number: UInt64, from peer: PeerID,
        into effects: inout [Effect]
    ) {
        guard let request = requests.routed[number], request.peer == peer, request.result == nil else {
            statistics.resultsDropped += 1
            return
        }
        guard gate.admits else { return requests.keep(result, for: number) }
        if let request = requests.remove(number) { tell(request, result, into: &effects) }
    }

    private func tell(
        _ request: RoutedRequest, _ result: Result<JSONValue, WireError>, into effects: inout [Effect]
    ) {
        var reply = ControlReply(id: request.id, status: status)
        switch result {
        case .success(let value): reply.members = [.init("value", value)]
        case .failure(let error): reply.error = error
        }
        effects.append(.reply(request.requester, reply))
    }

    private mutating func interrupt(
        _ error: WireError, into effects: inout [Effect], where matches: (RoutedRequest) -> Bool
    ) {
        for request in requests.removeAll(where: matches) { tell(request, .failure(error), into: &effects) }
    }

    /// A closing is on disk: whatever is in flight is answered now, and what comes later is dropped.
    mutating func interruptRequests(into effects: inout [Effect]) {
        let error = WireError(
            .notOperating, "the gate closed while the request was with its provider", isOutcomeUnknown: true)
        interrupt(error, into: &effects) { _ in true }
        answerUndecided(into: &effects)
    }

    private mutating func answerUndecided(into effects: inout [Effect]) {
        let waiting = undecided
        undecided = []
        for each in waiting {
            refuse(each.request, each.requester, Self.notOperating(shown.state), into: &effects)
        }
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
        for each in waiting { route(each.request, each.requester, now: now, into: &effects) }
    }

    /// The provider is gone, or has fallen silent.
    mutating func abandonRequests(of peer: PeerID, into effects: inout [Effect]) {
        guard requests.load[peer] != nil else { return }
        let error = WireError(
            .serviceUnavailable, "the provider was lost while it had the request", isOutcomeUnknown: true)
        interrupt(error, into: &effects) { $0.peer == peer }
    }

    mutating func expireRequests(now: Now, into effects: inout [Effect]) {
        guard let due = requests.nextDeadlineMs, due <= now.monotonicMs else { return }
        let error = WireError(
            .timeout, "the provider did not answer in time", isOutcomeUnknown: true)
        interrupt(error, into: &effects) { $0.deadlineMs <= now.monotonicMs }
    }

    /// The host stops: nobody is left waiting.
    mutating func refuseRequests(_ error: WireError, into effects: inout [Effect]) {
        interrupt(
            WireError(error.code, error.message, retryable: error.retryable, isOutcomeUnknown: true),
            into: &effects
        ) { _ in true }
        let waiting = undecided
        undecided = []
        for each in waiting { refuse(each.request, each.requester, error, into: &effects) }
    }
}
