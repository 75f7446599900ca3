import Engine
import Lifecycle
import Wire

/// Holds callback requests against the promises. Knows what askers and providers know, in the order in which the host
/// read it, and what the host has shown of its state; nothing of what the host thinks.
struct CallbackJudge {
    /// What is handed to a provider.
    struct Handed {
        let number: UInt64
        let service: String
        let arguments: JSONValue
        let timeoutMs: Int64
    }

    /// One request that is not answered.
    private struct Call {
        let service: String
        let deadlineMs: Int64
        /// Who was handed it, and under which number.
        var provider: PeerID?
        var number: UInt64?
        /// It did not leave.
        var unsent: Unsent?
        /// What its provider said first, in time.
        var result: Result<JSONValue, WireError>?
        /// Its provider was lost before it said anything.
        var isLost = false

        /// Its provider may have done what it asks.
        var isOutThere: Bool { provider != nil && unsent == nil }
    }

    private struct Provider {
        let name: String
        let services: Set<String>
        var lastHeardMs: Int64
        var isWelcome = false
        /// Its connection was found broken in this turn: what was decided before is still sent.
        var isUnreachable = false
        /// The last request that it was handed, counted.
        var lastHanded = 0
    }

    /// A lease that somebody asked for.
    private struct Lease {
        let requester: Requester
        var ends: Now
        var isAnswered = false
    }

    private let limit: Int
    private let heartbeatMs: Int64

    private var open: [Requester: Call] = [:]
    private var providers: [PeerID: Provider] = [:]
    private var requesters: [UInt64: Requester] = [:]
    private var servicesSeen: Set<String> = []
    private var handedCount = 0
    private var lastTickMs: Int64 = 0
    /// Requests that were answered with what a provider said.
    private(set) var servedCount = 0

    /// The state as the host shows it.
    private var told = LifecycleState.onHold
    /// Closings that were read and not answered.
    private var closings: Set<Requester> = []
    private var leases: [Lease] = []
    /// A lease has certainly run out, and the host has looked at the clock since.
    var isLeaseOver = false
    /// A closing found the disk full.
    private var isClosedInMemory = false
    /// A closing was shown: whatever is open is answered before anything else comes out.
    private var comesFirst = false

    // What happened in this turn.
    private var foundFull = false
    private var saidStopping = false
    private var hasStopped = false
    private var hasFailed = false

    init(limit: Int, heartbeatMs: Int64) {
        self.limit = limit
        self.heartbeatMs = heartbeatMs
    }

    /// What a request carries, so that it is known again.
    static func arguments(of requester: Requester) -> JSONValue {
        .object([.init("call", .uint(requester.raw))])
    }

    // MARK: What the host reads

    mutating func read(_ requester: Requester, _ service: String, timeoutMs: Int64, _ now: Now) {
        open[requester] = Call(service: service, deadlineMs: now.monotonicMs + timeoutMs)
    }

    mutating func read(_ request: ControlRequest, _ requester: Requester, _ now: Now) {
        switch request.command {
        case .holdOperation, .kill: closings.insert(requester)
        case .startOperation(let leaseMs?):
            let ends = Now(monotonicMs: now.monotonicMs + leaseMs, wallMs: now.wallMs + leaseMs)
            leases.append(Lease(requester: requester, ends: ends))
        case .startOperation(nil), .initialize, .initializeWithHoldingOperations, .endLaunch, .state,
            .isOperating, .ping, .commands, .configuration, .configure, .history, .plugins, .forget,
            .deadLetters, .requeue, .stats, .request, .plugin, .appLifecycle, .reload:
            break
        }
    }

    mutating func greeted(_ peer: PeerID, _ hello: PluginMessage.Hello, _ now: Now) {
        let former = providers.first { $0.value.name == hello.name && $0.key != peer }
        if let former { left(former.key) }
        // It has forgotten what it was asked.
        lose(peer)
        providers[peer] = Provider(
            name: hello.name, services: Set(hello.services), lastHeardMs: now.monotonicMs)
        servicesSeen.formUnion(hello.services)
    }

    mutating func heard(_ peer: PeerID, _ now: Now) { providers[peer]?.lastHeardMs = now.monotonicMs }

    mutating func said(
        _ result: Result<JSONValue, WireError>, for number: UInt64, by peer: PeerID, _ now: Now
    ) {
        heard(peer, now)
        guard providers[peer] != nil, let requester = requesters[number], let call = open[requester],
            call.provider == peer, call.isOutThere, call.result == nil, !call.isLost,
            now.monotonicMs < call.deadlineMs
        else { return }
        open[requester]?.result = result
    }

    /// A provider said goodbye, or its connection is known to be gone.
    mutating func left(_ peer: PeerID) {
        lose(peer)
        providers[peer] = nil
    }

    private mutating func lose(_ peer: PeerID) {
        for (requester, call) in open where call.provider == peer && call.result == nil {
            open[requester]?.isLost = true
        }
    }

    /// The host looked at the clock.
    mutating func ticked(_ now: Now) { lastTickMs = now.monotonicMs }

    // MARK: What the host shows

    mutating func cameUp(_ state: LifecycleState, _ now: Now) {
        // Nobody waits any more, and nobody is attached.
        open = [:]
        providers = [:]
        requesters = [:]
        servicesSeen = []
        told = state
        closings = []
        isClosedInMemory = false
        comesFirst = false
        foundFull = false
        saidStopping = false
        hasStopped = false
        hasFailed = false
        lastTickMs = now.monotonicMs
        if state != .operating { leases = [] }
        for index in leases.indices {
            let leftMs = max(0, leases[index].ends.wallMs - now.wallMs)
            leases[index].ends = Now(monotonicMs: now.monotonicMs + leftMs, wallMs: now.wallMs + leftMs)
            leases[index].isAnswered = true
        }
    }

    mutating func stated(_ state: LifecycleState) {
        let wasOperating = told == .operating
        told = state
        guard state != .operating else { return }
        isClosedInMemory = false
        leases.removeAll(where: \.isAnswered)
        if wasOperating { comesFirst = !open.isEmpty }
    }

    /// The record of a closing found the disk full.
    mutating func metFullDisk() {
        isClosedInMemory = true
        foundFull = true
    }

    mutating func stopped() throws {
        hasStopped = true
        if let requester = oldest { throw Verdict("stopped without answering the request \(requester.raw)") }
    }

    mutating func failed() { hasFailed = true }

    mutating func welcomed(_ peer: PeerID) { providers[peer]?.isWelcome = true }

    /// A message found its provider's connection broken.
    mutating func foundBroken(_ peer: PeerID) {
        lose(peer)
        providers[peer]?.isUnreachable = true
    }

    /// A kill has cut all connections; those in flight are answered once it is told.
    mutating func rebound() { providers = [:] }

    mutating func replied(_ requester: Requester, _ request: ControlRequest, _ reply: ControlReply) {
        closings.remove(requester)
        guard let place = leases.firstIndex(where: { $0.requester == requester }) else { return }
        leases[place].isAnswered = true
        // It may have been written all the same, or have run out before there was no room for it.
        if reply.error?.code == .internalError || reply.error?.code == .storageFull { return }
        let isReplay = reply.members.contains { $0.name == "replayed" }
        guard reply.error == nil, !isReplay, reply.status.state == .operating else {
            leases.remove(at: place)
            return
        }
        leases.removeAll { $0.requester.raw < requester.raw }
    }

    // MARK: What comes out

    /// Whatever comes out, before it is looked at more closely.
    func comesOut(_ output: Output) throws {
        guard comesFirst else { return }
        switch output {
        case .reply(let requester, _) where open[requester] != nil: return
        case .message(_, .state), .unreachable, .turn: return
        case .reply, .ingestReply, .state, .streamed, .delivered, .message, .unsent, .rebound, .stopped,
            .failed, .full:
            throw Verdict("\(told) was told, and requests in flight were not answered before \(output)")
        }
    }

    /// A request was handed to a provider.
    mutating func handed(_ handed: Handed, to peer: PeerID, unsent: Unsent? = nil, _ now: Now) throws {
        if let complaint = complaint(about: handed, to: peer, now) {
            throw Verdict(
                "\(handed.service) was asked of \(providers[peer]?.name ?? "a stranger"): \(complaint)")
        }
        guard let requester = Self.requester(of: handed.arguments) else { return }
        requesters[handed.number] = requester
        open[requester]?.provider = peer
        open[requester]?.number = handed.number
        open[requester]?.unsent = unsent
        handedCount += 1
        providers[peer]?.lastHanded = handedCount
    }

    private static func requester(of arguments: JSONValue) -> Requester? {
        arguments["call"]?.asUInt64.map { Requester($0) }
    }

    private func complaint(about handed: Handed, to peer: PeerID, _ now: Now) -> String? {
        guard let requester = Self.requester(of: handed.arguments), let call = open[requester],
            call.service == handed.service
        else { return "nobody waits for it" }
        if told != .operating { return "while \(told)" }
        if isClosing { return "with a closing under way" }
        if call.provider != nil { return "for the second time" }
        if requesters[handed.number] != nil { return "under the number of another one" }
        if handed.timeoutMs <= 0 || handed.timeoutMs != call.deadlineMs - now.monotonicMs {
            return "with \(handed.timeoutMs) ms left instead of \(call.deadlineMs - now.monotonicMs)"
        }
        guard let provider = providers[peer], provider.services.contains(call.service) else {
            return "which does not provide it"
        }
        if !provider.isWelcome { return "before its welcome" }
        if isCertainlySilent(provider) { return "after four heartbeats of silence" }
        if load(peer) >= limit { return "beyond its limit" }
        for (other, idle) in providers where other != peer && isFit(idle, for: call.service) {
            if (load(other), idle.lastHanded) < (load(peer), provider.lastHanded) {
                return "although \(idle.name) has less to do, or has waited longer"
            }
        }
        return nil
    }

    /// A request was answered.
    mutating func answered(_ requester: Requester, _ reply: ControlReply, _ now: Now) throws {
        guard let call = open.removeValue(forKey: requester) else {
            throw Verdict("the request \(requester.raw) was answered twice")
        }
        if open.isEmpty { comesFirst = false }
        let complaint: String?
        if let result = call.result, Self.passesOn(reply, result) {
            servedCount += 1
            complaint = told != .operating ? "while \(told)" : isClosing ? "with a closing under way" : nil
        } else if let error = reply.error {
            if error.code == .shuttingDown { saidStopping = true }
            complaint = self.complaint(about: error, call, now)
        } else {
            complaint = "which its provider did not say, or not in time"
        }
        if let complaint {
            let answer = reply.error.map { "\($0)" } ?? "\(reply.members)"
            throw Verdict("the request \(requester.raw) was answered \(answer): \(complaint)")
        }
        guard reply.status.state == told else {
            throw Verdict("the request \(requester.raw) was told \(reply.status.state) while \(told)")
        }
    }

    private static func passesOn(_ reply: ControlReply, _ result: Result<JSONValue, WireError>) -> Bool {
        switch result {
        case .success(let value): reply.error == nil && reply.members == [.init("value", value)]
        case .failure(let error):
            reply.members.isEmpty
                && (speaksForTheHost(error) ? isDisowned(error, in: reply) : reply.error == error)
        }
    }

    /// Only the host says these of a request.
    private static func speaksForTheHost(_ error: WireError) -> Bool {
        [
            "notOperating", "unknownService", "serviceUnavailable", "timeout", "overloaded", "storageFull",
            "shuttingDown",
        ]
        .contains("\(error.code)")
    }

    /// The provider's words come, and not as the host's.
    private static func isDisowned(_ error: WireError, in reply: ControlReply) -> Bool {
        guard let told = reply.error else { return false }
        return told.code == .internalError && told.message.hasSuffix(error.message)
            && told.retryable == error.retryable && told.isOutcomeUnknown == error.isOutcomeUnknown
    }

    /// What is wrong with an error of the host's own.
    private func complaint(about error: WireError, _ call: Call, _ now: Now) -> String? {
        if let complaint = complaint(about: error.code, call, now) { return complaint }
        if error.isOutcomeUnknown != call.isOutThere { return "with the wrong outcome" }
        let mayTryAgain = !call.isOutThere && told != .killed && error.code != .unknownService
        return error.retryable == mayTryAgain ? nil : "with the wrong retryable"
    }

    private func complaint(about code: ErrorCode, _ call: Call, _ now: Now) -> String? {
        switch code {
        case .shuttingDown: return nil
        case .internalError: return hasFailed ? nil : "and the disk is well"
        case .notOperating: return told == .operating ? "while operating" : nil
        default: if told != .operating { return "while \(told)" }
        }
        switch code {
        case .storageFull: return isClosedInMemory ? nil : "and no closing has found the disk full"
        case .timeout: return call.deadlineMs <= now.monotonicMs ? nil : "before its deadline"
        case .serviceUnavailable: return isUnavailable(call) ? nil : "and there is a provider"
        case .overloaded: return isOverloaded(call) ? nil : "and a provider has room"
        case .unknownService:
            return servicesSeen.contains(call.service) || call.isOutThere ? "and it is known" : nil
        default: return "which its provider did not say, or not in time"
        }
    }

    private func isUnavailable(_ call: Call) -> Bool {
        if let unsent = call.unsent { return unsent == .gone }
        if let peer = call.provider { return call.isLost || providers[peer].map(mayBeSilent) ?? true }
        return servicesSeen.contains(call.service)
            && !providers.values.contains { isFit($0, for: call.service) }
    }

    private func isOverloaded(_ call: Call) -> Bool {
        if let unsent = call.unsent { return unsent == .full }
        guard call.provider == nil else { return false }
        let serving = providers.filter { $0.value.services.contains(call.service) && $0.value.isWelcome }
        return serving.contains { !isCertainlySilent($0.value) && load($0.key) >= limit }
            && serving.allSatisfy { mayBeSilent($0.value) || load($0.key) >= limit }
    }

    // MARK: The turn's end

    /// The host has done all that what it read calls for: whoever was to be answered at once is.
    mutating func endTurn(_ now: Now) throws {
        defer { foundFull = false }
        if saidStopping, !hasStopped {
            throw Verdict("a request was told that the host stops, and it does not")
        }
        for (peer, provider) in providers where provider.isUnreachable { providers[peer] = nil }
        guard let first = oldest else { return }
        if told != .operating { throw Verdict("the request \(first.raw) is not answered while \(told)") }
        if foundFull { throw Verdict("the request \(first.raw) is not answered by a gate closed in memory") }
        if hasFailed { throw Verdict("the request \(first.raw) is not answered by a host that has failed") }
        for requester in open.keys.sorted(by: { $0.raw < $1.raw }) {
            if let call = open[requester], let complaint = complaint(about: call, now) {
                throw Verdict(
                    "the request \(requester.raw) for \(call.service) is not answered: \(complaint)")
            }
        }
    }

    private func complaint(about call: Call, _ now: Now) -> String? {
        if call.deadlineMs <= lastTickMs { return "its deadline has passed" }
        if call.unsent != nil { return "it did not leave" }
        if call.isLost { return "its provider is lost" }
        if call.result == nil, let provider = call.provider.flatMap({ providers[$0] }),
            isCertainlySilent(provider)
        {
            return "its provider has fallen silent"
        }
        guard !isClosing, !leases.contains(where: { $0.ends.monotonicMs <= now.monotonicMs }) else {
            return nil
        }
        if call.provider == nil { return "nobody was asked, and the gate is open" }
        if call.result != nil { return "its provider has answered, and the gate is open" }
        return nil
    }

    // MARK: Derived

    private var oldest: Requester? { open.keys.min { $0.raw < $1.raw } }

    private var isClosing: Bool { !closings.isEmpty || isClosedInMemory || isLeaseOver }

    private func load(_ peer: PeerID) -> Int { open.values.count { $0.provider == peer } }

    /// Silence is looked for once a heartbeat.
    private func mayBeSilent(_ provider: Provider) -> Bool {
        lastTickMs - provider.lastHeardMs > 3 * heartbeatMs
    }

    private func isCertainlySilent(_ provider: Provider) -> Bool {
        lastTickMs - provider.lastHeardMs >= 4 * heartbeatMs
    }

    /// It must be taken into account.
    private func isFit(_ provider: Provider, for service: String) -> Bool {
        provider.services.contains(service) && provider.isWelcome && !mayBeSilent(provider)
    }
}
