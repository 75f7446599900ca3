import Ledger
import Lifecycle
import Platform
import Wire

/// Does the journal's jobs, a turn at a time, without a thread or a clock of its own.
///
/// It is handed to the journal's thread, which alone touches it from then on; that makes `@unchecked Sendable` true.
public final class JournalWorker: @unchecked Sendable {
    public static let defaultMaxCommitBytes = 8 << 20

    private let log: Log
    private let history: any HistoryAppending
    private let maxCommitBytes: Int
    /// Events up to here are needed by nobody: segments before it may be used again. Set from any thread.
    public let doneThrough = Locked(JournalSeq.zero)
    /// Something was not written that later jobs build on.
    private var isRefusing = false
    /// A head that there was no room for in the log: the history may be ahead of it, never behind.
    private var unnoted: HistoryHead?
    private var head: HistoryHead?
    private var failure: JournalError?
    private var records: [LogRecord] = []
    private var items: [JournalQueue.Item] = []
    private var returned: [LineBlock] = []
    private let clockNs: () -> Int64
    /// The turn's last one.
    private var committed: CommitFacts?

    /// - Parameters:
    ///   - maxCommitBytes: one commit takes no more, except that it always takes one block.
    ///   - clockNs: tells how long commits take, and nothing else.
    public init(
        log: Log, history: any HistoryAppending, maxCommitBytes: Int = JournalWorker.defaultMaxCommitBytes,
        clockNs: @escaping () -> Int64 = { 0 }
    ) {
        self.clockNs = clockNs
        self.log = log
        self.history = history
        self.maxCommitBytes = min(maxCommitBytes, log.maxCommitBytes - 256)
        head = log.ledger.head
    }

    /// One turn: the leading history records with one append, then the blocks and entries behind them with one
    /// commit; or one job of another kind.
    public func turn(_ queue: inout JournalQueue, into completions: inout [JournalCompletion]) {
        precondition(!queue.isEmpty)
        if let failure {
            while !queue.isEmpty { queue.removeFirst() }
            return completions.append(.failed(failure))
        }
        var ticket: UInt64 = 0
        do throws(JournalError) {
            ticket = try takeHistory(&queue, &completions) ?? 0
            gather(&queue, &completions, &ticket)
            if ticket == 0 {
                ticket = try takeOther(&queue, &completions)
            } else {
                try commitGathered(&completions)
            }
        } catch {
            failure = error
            while !queue.isEmpty { queue.removeFirst() }
            items.removeAll()
            records.removeAll()
            return completions.append(.failed(error))
        }
        completions.append(
            .done(
                JournalDone(
                    ticket: ticket, lastSeq: log.ledger.lastSeq, head: head, blocks: returned,
                    commit: committed)))
        returned.removeAll(keepingCapacity: true)
        committed = nil
    }

    /// Zeroes a piece of the next segment ahead, if it is time.
    /// - Returns: a failure, which is final.
    public func prepare() -> JournalError? {
        guard failure == nil else { return nil }
        do throws(JournalError) {
            try log.prepare()
            return nil
        } catch {
            failure = error
            return error
        }
    }

    private func takeHistory(
        _ queue: inout JournalQueue, _ completions: inout [JournalCompletion]
    ) throws(JournalError) -> UInt64? {
        var tickets: [UInt64] = []
        var drafts: [HistoryDraft] = []
        while let item = queue.first, case .history(let draft) = item.job {
            queue.removeFirst()
            tickets.append(item.ticket)
            drafts.append(draft)
        }
        guard !drafts.isEmpty else { return nil }
        do throws(JournalError) {
            note(try history.append(drafts))
            return tickets.last
        } catch {
            guard error == .full else { throw error }
        }
        // One by one, as far as they fit. A record may build on the one before it: none is written behind a gap.
        var isFull = drafts.count == 1
        for (ticket, draft) in zip(tickets, drafts) {
            if !isFull {
                do throws(JournalError) {
                    note(try history.append([draft]))
                    continue
                } catch {
                    guard error == .full else { throw error }
                }
            }
            isFull = true
            completions.append(.full(ticket: ticket, nil))
        }
        return tickets.last
    }

    private func note(_ newHead: HistoryHead) {
        head = newHead
        unnoted = newHead
    }

    /// Takes blocks and entries up to the bound.
    private func gather(
        _ queue: inout JournalQueue, _ completions: inout [JournalCompletion], _ ticket: inout UInt64
    ) {
        var bytes = 0
        while let item = queue.first, let record = item.record {
            let cost = Log.cost(of: record)
            if !records.isEmpty && bytes + cost > maxCommitBytes { return }
            queue.removeFirst()
            ticket = item.ticket
            if isRefusing && item.isBuiltOn {
                completions.append(.full(ticket: item.ticket, item.block))
                continue
            }
            bytes += cost
            records.append(record)
            items.append(item)
        }
    }

    private func commitGathered(_ completions: inout [JournalCompletion]) throws(JournalError) {
        defer {
            records.removeAll(keepingCapacity: true)
            items.removeAll(keepingCapacity: true)
        }
        if let unnoted { records.insert(.entry(.head(unnoted)), at: 0) }
        guard !records.isEmpty else { return }
        do throws(JournalError) {
            try commit(records, &completions)
            unnoted = nil
            for item in items { item.block.map { returned.append($0) } }
            return
        } catch {
            guard error == .full else { throw error }
        }
        if let head = unnoted, try fits(.entry(.head(head)), &completions) { unnoted = nil }
        for item in items {
            guard let record = item.record else { continue }
            let refused = isRefusing && item.isBuiltOn
            if !refused, try fits(record, &completions) {
                item.block.map { returned.append($0) }
            } else {
                if item.isBuiltOn { isRefusing = true }
                completions.append(.full(ticket: item.ticket, item.block))
            }
        }
    }

    private func commit(
        _ records: [LogRecord], _ completions: inout [JournalCompletion]
    ) throws(JournalError) {
        let began = clockNs()
        let receipt = try log.commit(records, doneThrough: doneThrough.withLock { $0 })
        if let committed { completions.append(.committed(committed)) }
        var events: UInt64 = 0
        for case .block(let stamp, _) in records { events += stamp.range.count }
        committed = CommitFacts(
            nanoseconds: clockNs() - began, byteCount: receipt.byteCount, eventCount: events)
    }

    private func fits(
        _ record: LogRecord, _ completions: inout [JournalCompletion]
    ) throws(JournalError) -> Bool {
        do throws(JournalError) {
            try commit([record], &completions)
            return true
        } catch {
            guard error == .full else { throw error }
            return false
        }
    }

    private func takeOther(
        _ queue: inout JournalQueue, _ completions: inout [JournalCompletion]
    ) throws(JournalError) -> UInt64 {
        guard let item = queue.first else { preconditionFailure("a turn without a job") }
        queue.removeFirst()
        do throws(JournalError) {
            switch item.job {
            case .block, .entry, .history:
                preconditionFailure("taken before")
            case .purge:
                try log.purge()
                unnoted = nil
            case .erase(let through, let before):
                completions.append(.erased(more: try log.erase(through: through, arrivedBeforeMs: before)))
            case .perform(let body):
                try body()
            case .resume:
                isRefusing = false
            }
        } catch {
            guard error == .full else { throw error }
            completions.append(.full(ticket: item.ticket, nil))
        }
        return item.ticket
    }
}

extension JournalQueue.Item {
    fileprivate var record: LogRecord? {
        switch job {
        case .block(let stamp, let block): .block(stamp, block)
        case .entry(let entry): .entry(entry)
        case .history, .purge, .erase, .perform, .resume: nil
        }
    }

    fileprivate var block: LineBlock? {
        if case .block(_, let block) = job { return block }
        return nil
    }

    /// Whether later jobs of its kind build on its being written.
    fileprivate var isBuiltOn: Bool {
        switch job {
        case .block, .entry(.block), .entry(.batch): true
        case .entry, .history, .purge, .erase, .perform, .resume: false
        }
    }
}
