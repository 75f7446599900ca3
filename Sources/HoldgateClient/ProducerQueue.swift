import Platform
import Wire

/// What the threads that send and the producer's own share: blocks that fill, wait and are counted.
final class ProducerQueue: Sendable {
    private struct State {
        var filling: EventBlock?
        var waiting: [EventBlock] = []
        /// Sealed and not settled, waiting ones included.
        var unsettled = 0
        /// Events given so far.
        var given = 0
        var isIdle = true
        var isStopped = false
        var failure: HoldgateError?
        var firstRefusal: HoldgateError?
        var failures: [Producer.Failure] = []
        var report = Producer.Report()
    }

    let wake: EventFD
    private let options: Producer.Options
    private let state = Locked(State())
    private let changed = Condition()

    init(_ options: Producer.Options) throws(HoldgateError) {
        self.options = options
        do {
            wake = try EventFD()
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    // MARK: Senders

    func append(_ lines: inout Lines) throws(HoldgateError) {
        guard var line = lines.next() else { return }
        while true {
            // One hold of the lock takes lines until a block is full and there is no room for another.
            let result = state.withLock(waitingOn: changed) { state -> Result<Bool, HoldgateError>? in
                if let failure = Self.ending(of: state) { return .failure(failure) }
                while Self.take(line, into: &state, options) {
                    guard let next = lines.next() else { return .success(true) }
                    line = next
                }
                // Full: seal it if there is room, else wait.
                guard state.unsettled < options.unacknowledgedBatches else { return nil }
                Self.seal(&state)
                return .success(false)
            }
            wake.signal()
            if try result.get() { return }
        }
    }

    private static func take(
        _ line: UnsafeRawBufferPointer, into state: inout State, _ options: Producer.Options
    ) -> Bool {
        if let block = state.filling {
            guard block.eventCount < options.batchEvents, block.hasRoom(for: line) else { return false }
        } else {
            let capacity = max(options.batchBytes, line.count + 1)
            state.filling = EventBlock(capacity: capacity, firstIndex: state.given)
        }
        state.filling?.append(line)
        state.given += 1
        return true
    }

    private static func seal(_ state: inout State) {
        guard let block = state.filling else { return }
        state.waiting.append(block)
        state.filling = nil
        state.unsettled += 1
    }

    private static func ending(of state: State) -> HoldgateError? {
        if let failure = state.failure { return failure }
        return state.isStopped ? HoldgateError(.closed, "the producer was closed") : nil
    }

    func flush() throws(HoldgateError) {
        wake.signal()
        let result = state.withLock(waitingOn: changed) { state -> Result<Void, HoldgateError>? in
            if let failure = Self.ending(of: state) { return .failure(failure) }
            guard state.filling == nil, state.unsettled == 0 else { return nil }
            defer { state.firstRefusal = nil }
            return state.firstRefusal.map { .failure($0) } ?? .success(())
        }
        try result.get()
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        changed.broadcast()
        wake.signal()
    }

    var report: Producer.Report { state.withLock { $0.report } }

    func takeFailures() -> [Producer.Failure] {
        state.withLock { state in
            defer { state.failures = [] }
            return state.failures
        }
    }

    // MARK: The producer's thread

    /// The next block to go: a sealed one, or what is filling if nothing is under way. Nil: none.
    func next(isIdle: Bool) -> EventBlock? {
        let block = state.withLock { state -> EventBlock? in
            if state.waiting.isEmpty, isIdle { Self.seal(&state) }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        // A sender may wait for the block that was filling.
        if block != nil { changed.broadcast() }
        return block
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func settled(_ block: EventBlock, _ outcome: IngestReply.Outcome) {
        state.withLock { state in
            state.unsettled -= 1
            state.report.bytes += block.byteCount
            switch outcome {
            case .taken(let accepted, let gated, let discarded, let kept, _):
                state.report.accepted += accepted
                state.report.gated += gated
                state.report.discarded += discarded
                if !kept { state.report.unkept += accepted }
            case .duplicate: state.report.duplicate += block.eventCount
            case .refused: preconditionFailure("a refusal settles nothing")
            }
        }
        changed.broadcast()
    }

    /// The host refused the block for good, or one event of it.
    func refused(_ failure: Producer.Failure, bytes: Int, endsBlock: Bool) {
        state.withLock { state in
            if endsBlock { state.unsettled -= 1 }
            state.report.refused += failure.count
            state.report.bytes += bytes
            if state.firstRefusal == nil { state.firstRefusal = failure.error }
            if state.failures.count < Producer.failureLimit { state.failures.append(failure) }
        }
        changed.broadcast()
    }

    func resent() { state.withLock { $0.report.resentBatches += 1 } }

    func fail(_ error: HoldgateError) {
        state.withLock { state in
            state.failure = error
            state.waiting = []
            state.filling = nil
        }
        changed.broadcast()
    }
}
