import Wire

/// What a collector says and when, as a value: hello, heartbeats, and when a host is taken for gone.
struct CollectorCore: Hashable, Sendable {
    enum Effect: Hashable, Sendable {
        case sendHello
        case sendHeartbeat
        /// Close the socket and open a fresh one.
        case reconnect
        /// Hand over what came with this message.
        case deliver(DeliverHeader)
        case state(StateBody, seq: TransitionSeq, launch: LaunchID)
        case attached(cursor: JournalSeq?, status: HostStatus)
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
    private var lastHeardMs: Int64
    private var lastSentMs: Int64

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
        case (.attached, .deliver(let header)): effects.append(.deliver(header))
        case (_, .state(let body, let seq, let launch)):
            effects.append(.state(body, seq: seq, launch: launch))
        // A collector offers no services, and has no use for apps' phases.
        case (_, .request), (_, .app), (_, .heartbeat): break
        case (_, .goodbye):
            phase = .greeting(sinceMs: now)
            effects.append(.reconnect)
        case (.greeting, .helloWanted): break
        case (.attached, .helloWanted): greet(now: now, into: &effects)
        }
    }

    mutating func tick(now: Int64, into effects: inout [Effect]) {
        switch phase {
        case .greeting(let sinceMs):
            guard now - sinceMs >= Self.greetingMs else { return }
            phase = .greeting(sinceMs: now)
            effects.append(.reconnect)
        case .attached(let heartbeatMs):
            if now - lastHeardMs >= Self.silentHeartbeats * heartbeatMs {
                phase = .greeting(sinceMs: now)
                effects.append(.reconnect)
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

    private mutating func greet(now: Int64, into effects: inout [Effect]) {
        phase = .greeting(sinceMs: now)
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
