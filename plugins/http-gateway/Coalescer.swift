import HoldgateClient
import Platform

/// One question to the host for all who ask it at the same time: a thread asks, and answers everybody who came before it
/// began. So an answer is never older than the request that it goes to, and a crowd costs what one costs.
final class Coalescer<Value: Sendable>: Sendable {
    typealias Reply = @Sendable (Result<Value, HoldgateError>) -> Void

    private let queue = BlockingQueue<Reply>(limit: 1 << 20)

    /// - Parameter ask: blocks; on the thread alone.
    init(
        name: String, _ ask: @escaping @Sendable () throws(HoldgateError) -> Value
    ) throws(HoldgateError) {
        let queue = queue
        do {
            _ = try Thread.spawn(name: name) {
                var replies: [Reply] = []
                while queue.takeAll(into: &replies) {
                    let answer = Result { () throws(HoldgateError) in try ask() }
                    for reply in replies { reply(answer) }
                }
            }
        } catch {
            throw HoldgateError(.unavailable, "no thread: \(error)")
        }
    }

    /// The crowd is bounded by the server's connections.
    func ask(_ reply: @escaping Reply) {
        guard queue.push(reply) else {
            return reply(.failure(HoldgateError(.closed, "the gateway stops", retryable: true)))
        }
    }

    func stop() { queue.close() }
}

/// Work that waits, each on a thread of its own, at most so many at a time.
final class Workers: Sendable {
    private let limit: Int
    private let name: String
    private let running = Locked(0)

    init(name: String, limit: Int) {
        self.name = name
        self.limit = limit
    }

    /// False: too many are at work.
    func run(_ body: @escaping @Sendable () -> Void) -> Bool {
        let isTaken = running.withLock { running in
            guard running < limit else { return false }
            running += 1
            return true
        }
        guard isTaken else { return false }
        let spawned = try? Thread.spawn(name: name) { [running] in
            body()
            running.withLock { $0 -= 1 }
        }
        guard spawned == nil else { return true }
        running.withLock { $0 -= 1 }
        return false
    }
}
