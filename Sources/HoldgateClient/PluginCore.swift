import Wire

/// What a plugin says and when, as a value: hello, heartbeats, which results are still wanted, and when a host
/// is taken for gone.
struct PluginCore: Hashable, Sendable {
    /// One request that was taken, by this process's own count: the host's numbers begin anew with each run.
    struct Ticket: Hashable, Sendable {
        let raw: UInt64
    }

    enum Effect: Hashable, Sendable {
        case sendHello
        case sendHeartbeat
        case sendAck(through: JournalSeq, rejects: [Reject])
        /// Close the socket and open a fresh one.
        case reconnect
        /// Hand over what came with this message.
        case deliver(DeliverHeader)
        case state(StateBody, seq: TransitionSeq, launch: LaunchID)
        case attached(cursor: JournalSeq?, status: HostStatus)
        case app(AppBody)
        /// Ask the service; `answered` with the ticket.
        case serve(Ticket, service: String, arguments: JSONValue, deadlineMs: Int64)
        case sendResult(id: UInt64, Result<JSONValue, WireError>)
        /// For the log; the attachment goes on.
        case report(WireError)
        /// It does not come back by itself.
        case ended(WireError)
    }

    private enum Phase: Hashable {
        /// A hello is on its way.
        case greeting(sinceMs: Int64)
        case attached(heartbeatMs: Int64)
        case ended
    }

    /// How long a hello may stay unanswered.
    static let greetingMs: Int64 = 3000
    /// Heartbeats that may be missing.
    static let silentHeartbeats: Int64 = 3

    private var phase: Phase
    /// What this attachment was handed: the host takes no acknowledgement of more.
    private var delivered: Delivered?
    private var lastHeardMs: Int64
    private var lastSentMs: Int64
    /// Requests of this attachment whose results are still wanted.
    private var unanswered: [Ticket: Unanswered] = [:]
    private var lastTicket: UInt64 = 0

    private struct Delivered: Hashable {
        let launch: LaunchID
        var through: JournalSeq
    }

    private struct Unanswered: Hashable {
        let id: UInt64
        let deadlineMs: Int64
    }

    /// Begin with `opened`.
    init(now: Int64) {
        phase = .greeting(sinceMs: now)
        lastHeardMs = now
        lastSentMs = now
    }

    /// A fresh socket connects.
    mutating func opened(now: Int64, into effects: inout [Effect]) {
        guard phase != .ended else { return }
        greet(now: now, into: &effects)
    }

    /// Something was sent that tells the host that the collector lives.
    mutating func sent(now: Int64) { lastSentMs = now }

    mutating func heard(_ message: HostMessage, now: Int64, into effects: inout [Effect]) {
        lastHeardMs = now
        switch (phase, message) {
        case (.ended, _): break
        case (_, .welcome(let status, _, let cursor, let heartbeatMs)):
            phase = .attached(heartbeatMs: Int64(heartbeatMs))
            effects.append(.attached(cursor: cursor, status: status))
        case (_, .refused(let error)): refused(error, now: now, into: &effects)
        case (_, .error(let error)): effects.append(.report(error))
        // Of an attachment that a hello has ended: it comes again after the welcome.
        case (.greeting, .deliver): break
        case (.attached, .deliver(let header)):
            let through = header.ranges.reduce(.zero) { max($0, $1.last) }
            let before = delivered?.launch == header.launch ? delivered?.through : nil
            delivered = Delivered(launch: header.launch, through: max(through, before ?? .zero))
            effects.append(.deliver(header))
        case (_, .state(let body, let seq, let launch)):
            effects.append(.state(body, seq: seq, launch: launch))
        // Of an attachment that a hello has ended: nobody waits for its result.
        case (.greeting, .request): break
        case (.attached, .request(let id, let service, let arguments, let timeoutMs)):
            lastTicket += 1
            let ticket = Ticket(raw: lastTicket)
            let deadlineMs = now + timeoutMs
            unanswered[ticket] = Unanswered(id: id, deadlineMs: deadlineMs)
            effects.append(
                .serve(ticket, service: service, arguments: arguments, deadlineMs: deadlineMs))
        case (_, .app(let body)): effects.append(.app(body))
        case (_, .heartbeat): break
        case (_, .goodbye): reconnect(now: now, into: &effects)
        case (.greeting, .helloWanted): break
        case (.attached, .helloWanted): greet(now: now, into: &effects)
        }
    }

    /// A service has answered. Late results, and those of an earlier attachment, are dropped.
    mutating func answered(
        _ ticket: Ticket, _ result: Result<JSONValue, WireError>, now: Int64, into effects: inout [Effect]
    ) {
        guard let request = unanswered.removeValue(forKey: ticket), now < request.deadlineMs else { return }
        effects.append(.sendResult(id: request.id, result))
    }

    /// Whether anybody still waits for the result.
    func isWanted(_ ticket: Ticket, now: Int64) -> Bool {
        unanswered[ticket].map { now < $0.deadlineMs } ?? false
    }

    /// A handler that was not waited for is done with these. What was handed over to an earlier attachment alone is not
    /// acknowledged: it comes again.
    mutating func acknowledged(
        through: JournalSeq, of launch: LaunchID, rejects: [Reject], into effects: inout [Effect]
    ) {
        guard case .attached = phase, let delivered, delivered.launch == launch, through <= delivered.through
        else { return }
        effects.append(.sendAck(through: through, rejects: rejects))
    }

    /// The connection broke. It may have been a kill that cut it, so the host is asked at once; one that refuses a
    /// hello by closing is given its time.
    mutating func disconnected(now: Int64, into effects: inout [Effect]) {
        switch phase {
        case .attached: reconnect(now: now, into: &effects)
        case .greeting, .ended: break
        }
    }

    mutating func tick(now: Int64, into effects: inout [Effect]) {
        switch phase {
        case .greeting(let sinceMs):
            guard now - sinceMs >= Self.greetingMs else { return }
            reconnect(now: now, into: &effects)
        case .attached(let heartbeatMs):
            if now - lastHeardMs >= Self.silentHeartbeats * heartbeatMs {
                reconnect(now: now, into: &effects)
            } else if now - lastSentMs >= heartbeatMs {
                lastSentMs = now
                effects.append(.sendHeartbeat)
            }
        case .ended: break
        }
    }

    /// When `tick` has something to do; nil: never again.
    var deadline: Int64? {
        switch phase {
        case .greeting(let sinceMs): sinceMs + Self.greetingMs
        case .attached(let heartbeatMs):
            min(lastHeardMs + Self.silentHeartbeats * heartbeatMs, lastSentMs + heartbeatMs)
        case .ended: nil
        }
    }

    private mutating func reconnect(now: Int64, into effects: inout [Effect]) {
        phase = .greeting(sinceMs: now)
        unanswered = [:]
        delivered = nil
        effects.append(.reconnect)
    }

    private mutating func greet(now: Int64, into effects: inout [Effect]) {
        phase = .greeting(sinceMs: now)
        unanswered = [:]
        delivered = nil
        lastSentMs = now
        effects.append(.sendHello)
    }

    private mutating func refused(_ error: WireError, now: Int64, into effects: inout [Effect]) {
        if error.retryable {
            // The greeting's time runs again before the next attempt.
            phase = .greeting(sinceMs: now)
            effects.append(.report(error))
        } else {
            phase = .ended
            effects.append(.ended(error))
        }
    }
}
