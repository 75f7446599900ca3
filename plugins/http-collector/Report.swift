import HoldgateClient

/// What is worth a line in the log.
enum Report: Hashable {
    /// Nothing is taken at present.
    case away(String, waitMs: Int64)
    /// A post was taken.
    case back
    case rejected(Reject)
    case plain
    case smaller(bytes: Int)
}

/// Which reports become lines: what goes on and on is said once, and again now and then.
struct Reporter {
    /// Between two lines that say why nothing is taken, where the reason is the same, and where it is another.
    static let sameMs: Int64 = 60_000
    static let otherMs: Int64 = 1_000
    /// Between two lines of rejected events.
    static let rejectedMs: Int64 = 1_000

    private struct Away {
        let sinceMs: Int64
        var reason: String
        var saidMs: Int64
        var attempts: Int
    }

    private var away: Away?
    private var rejectedSaidMs: Int64?
    private var rejectedUnsaid = 0

    /// Nil: this one is not said.
    mutating func line(_ report: Report, nowMs: Int64) -> String? {
        switch report {
        case .away(let reason, let waitMs):
            let attempts = (away?.attempts ?? 0) + 1
            away?.attempts = attempts
            if let away {
                guard nowMs - away.saidMs >= (away.reason == reason ? Self.sameMs : Self.otherMs) else {
                    return nil
                }
            }
            away = Away(sinceMs: away?.sinceMs ?? nowMs, reason: reason, saidMs: nowMs, attempts: attempts)
            return "the receiver takes nothing, attempt \(attempts), the next in \(waitMs) ms: \(reason)"
        case .back:
            guard let away else { return nil }
            self.away = nil
            return "the receiver is back, after \(nowMs - away.sinceMs) ms and \(away.attempts) attempts"
        case .rejected(let reject):
            if let saidMs = rejectedSaidMs, nowMs - saidMs < Self.rejectedMs {
                rejectedUnsaid += 1
                return nil
            }
            let others = rejectedUnsaid > 0 ? "; \(rejectedUnsaid) others before it, too" : ""
            rejectedSaidMs = nowMs
            rejectedUnsaid = 0
            return "event \(reject.seq) is refused, and goes to the dead letters: \(reject.reason)\(others)"
        case .plain:
            return
                "the receiver takes no compressed bodies (status 415): they are sent as they are from now on"
        case .smaller(let bytes):
            return
                "the receiver takes no batches of that size (status 413): \(bytes) bytes at most from now on"
        }
    }
}
