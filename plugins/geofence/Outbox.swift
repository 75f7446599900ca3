import Glibc
import HoldgateClient
import Platform

/// Sends batches to the host on a thread of its own, each until the host has answered for it: readings are
/// acknowledged meanwhile, so that a drain never waits for a gate that refuses what it let out.
final class Outbox: Sendable {
    /// Why it ended.
    enum Ending: Hashable, Sendable {
        case stopped
        /// The host doesn't know this run's numbers any more: begin another and send what is left under it.
        case runLost
        case failed(HoldgateError)
    }

    private struct State {
        var waiting: [Memory.Batch]
        var settled: [UInt64] = []
        /// Whether the host is one that these crossings are for.
        var isOpen = false
        var ending: Ending?
    }

    private let connection: IngestConnection
    private let producer: String
    private let run: String
    private let state: Locked<State>
    private let changed = Condition()
    private let cancel: EventFD
    private let problem: @Sendable (HoldgateError) -> Void

    /// `add` waits beyond.
    private static let limit = 64
    private static let pauseMs: Int32 = 200

    /// - Parameters:
    ///   - waiting: from before; goes first.
    ///   - problem: told of what the host refuses, on the sending thread.
    init(
        _ connection: IngestConnection, producer: String, run: String, waiting: [Memory.Batch],
        problem: @escaping @Sendable (HoldgateError) -> Void
    ) throws(PlatformError) {
        self.connection = connection
        self.producer = producer
        self.run = run
        self.problem = problem
        state = Locked(State(waiting: waiting))
        cancel = try EventFD()
    }

    /// Waits while too much is waiting already; false once it has ended.
    func add(_ batches: [Memory.Batch]) -> Bool {
        for batch in batches {
            let isIn = state.withLock(waitingOn: changed) { state -> Bool? in
                if state.ending != nil { return false }
                guard state.waiting.count < Self.limit else { return nil }
                state.waiting.append(batch)
                return true
            }
            guard isIn else { return false }
            changed.broadcast()
        }
        return true
    }

    /// The numbers that the host has taken since the last call.
    func takeSettled() -> [UInt64] {
        state.withLock { state in
            defer { state.settled = [] }
            return state.settled
        }
    }

    /// Nothing leaves before this: the host that is there may be one that has been killed meanwhile.
    func open(_ isOpen: Bool) {
        state.withLock { $0.isOpen = isOpen }
        changed.broadcast()
    }

    /// After a kill nothing is to be sent any more.
    func clear() {
        state.withLock { $0.waiting = [] }
        changed.broadcast()
    }

    func stop() { end(.stopped) }

    private func end(_ ending: Ending) {
        state.withLock { if $0.ending == nil { $0.ending = ending } }
        cancel.signal()
        changed.broadcast()
    }

    /// Sends until stopped, or until it can't go on.
    func send() -> Ending {
        while true {
            let next = state.withLock(waitingOn: changed) { state -> Result<Memory.Batch, Ended>? in
                if let ending = state.ending { return .failure(Ended(ending: ending)) }
                guard state.isOpen else { return nil }
                return state.waiting.first.map { .success($0) }
            }
            switch next {
            case .success(let batch): send(batch)
            case .failure(let ended): return ended.ending
            }
        }
    }

    private struct Ended: Error { let ending: Ending }

    private func send(_ batch: Memory.Batch) {
        let lines = Array(batch.events.joined(separator: "\n").utf8)
        let reply: IngestReply
        do {
            reply = try connection.send(
                lines, producer: producer, run: run, batch: batch.number, cancel: cancel)
        } catch {
            // No host: it goes again. Else the wait ends at once, since `end` has been called.
            if error.code != .noAnswer, error.code != .cancelled { problem(error) }
            return pause()
        }
        switch reply.outcome {
        case .taken, .duplicate: settle(batch)
        case .refused(let error, let lastBatch):
            if error.code == .outOfOrder, let lastBatch, lastBatch + 1 < batch.number { return end(.runLost) }
            if error.code == .superseded {
                return end(.failed(HoldgateError(error, state: reply.status.state)))
            }
            if error.retryable { return pause() }
            // After a kill, none of what was before it is to be told.
            if reply.status.state != .killed { problem(HoldgateError(error, state: reply.status.state)) }
            settle(batch)
        }
    }

    private func settle(_ batch: Memory.Batch) {
        state.withLock { state in
            state.waiting.removeAll { $0.number == batch.number }
            state.settled.append(batch.number)
        }
        changed.broadcast()
    }

    private func pause() {
        var entry = pollfd(fd: cancel.fileDescriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, Self.pauseMs)
    }
}
