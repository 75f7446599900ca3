import Glibc
import Platform

/// Open connections, and since when each makes us wait. libmicrohttpd ends those that are silent; one that sends, or
/// takes, a byte now and then would stay for ever.
final class ConnectionGuard: Sendable {
    /// One connection.
    final class Entry: Sendable {
        let socket: Int32
        init(socket: Int32) { self.socket = socket }
    }

    private struct Watched {
        let entry: Entry
        /// Nil: it is our turn, or there is a stream.
        var sinceMs: Int64?
    }

    private let entries = Locked<[ObjectIdentifier: Watched]>([:])
    private let requestMs: Int64

    init(requestMs: Int64) { self.requestMs = requestMs }

    var count: Int { entries.withLock { $0.count } }

    func opened(_ entry: Entry) {
        let now = Clock.monotonicMs()
        entries.withLock { $0[ObjectIdentifier(entry)] = Watched(entry: entry, sinceMs: now) }
    }

    /// Called before the descriptor is closed, and may be another's.
    func closed(_ entry: Entry) {
        let removed = entries.withLock { $0.removeValue(forKey: ObjectIdentifier(entry)) }
        _ = removed
    }

    /// The peer is to send, or to take, something from now on.
    func isPeersTurn(_ entry: Entry) {
        let now = Clock.monotonicMs()
        entries.withLock { $0[ObjectIdentifier(entry)]?.sinceMs = now }
    }

    func isOurTurn(_ entry: Entry) {
        entries.withLock { $0[ObjectIdentifier(entry)]?.sinceMs = nil }
    }

    /// Cuts off whoever takes too long.
    func sweep() {
        let now = Clock.monotonicMs()
        entries.withLock { entries in
            for watched in entries.values {
                guard let since = watched.sinceMs, now - since >= requestMs else { continue }
                // Under the lock: until `closed` the descriptor is this connection's.
                shutdown(watched.entry.socket, Int32(SHUT_RDWR))
            }
        }
    }
}
