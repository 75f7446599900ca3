import Ledger
import Lifecycle
import Wire

/// Something that must be on disk before it is answered. Jobs are done strictly in the order of their submission.
public enum JournalJob: Sendable {
    /// A block of events. The line block is lent until a completion brings it back.
    case block(BlockStamp, LineBlock)
    /// Anything else for the log. A `head` is the worker's own business, and not to be submitted.
    case entry(Entry)
    /// A record for the history; its head follows in the log before the job is done.
    case history(HistoryDraft)
    /// The kill, after its history record.
    case purge
    /// See `Log.erase(through:arrivedBeforeMs:)`.
    case erase(through: JournalSeq, arrivedBeforeMs: Int64)
    /// Another file's work, as the dead letters', on the journal's thread.
    case perform(@Sendable () throws(JournalError) -> Void)
    /// After `.full`: whoever submits has gone back to what was written, and begins anew.
    case resume
}

/// What became of jobs. Completions come in the order of the jobs.
public enum JournalCompletion: Sendable {
    /// Every job up to the ticket that was not called `full` is on disk.
    case done(JournalDone)
    /// There was no room: this job, and it alone, was not written. Its block comes back.
    ///
    /// What is built on it must not be written either: a later batch of the same producer would make a lost one
    /// look like a duplicate. So once a block or a `batch` entry meets a full disk, all such jobs behind it are called
    /// `full` as well, up to the next `resume`. Other entries are still written, and so are history records: closing
    /// the gate has a reserve, and must not wait for anybody.
    case full(ticket: UInt64, LineBlock?)
    /// A commit of a turn that had several, as only a full disk makes them; the last one comes with `done`.
    case committed(CommitFacts)
    /// An `erase` is done; `more` if there is more to erase.
    case erased(more: Bool)
    /// Final: it is not known what of the jobs that are not done is on disk, and nothing more is written.
    case failed(JournalError)
}

public struct JournalDone: Sendable {
    /// The last job that is done.
    public var ticket: UInt64
    /// The last event in the log.
    public var lastSeq: JournalSeq
    /// The history's newest record.
    public var head: HistoryHead?
    /// Blocks that are free to be used again, in the order of their jobs.
    public var blocks: [LineBlock]
    /// The commit that put it there; nil where nothing went to the log.
    public var commit: CommitFacts?
}

/// What one commit took.
public struct CommitFacts: Hashable, Sendable {
    /// Of its write and its sync together.
    public var nanoseconds: Int64
    public var byteCount: Int
    public var eventCount: UInt64
}

/// What takes the history's records: writes and syncs them before it returns.
public protocol HistoryAppending: AnyObject {
    func append(_ drafts: [HistoryDraft]) throws(JournalError) -> HistoryHead
}

extension History: HistoryAppending {}

/// Jobs that wait, in order.
public struct JournalQueue {
    public struct Item: Sendable {
        public let ticket: UInt64
        public let job: JournalJob
        public init(ticket: UInt64, job: JournalJob) {
            self.ticket = ticket
            self.job = job
        }
    }

    var items: [Item] = []
    private var next = 0

    public init() {}

    public var isEmpty: Bool { next == items.count }
    public var first: Item? { isEmpty ? nil : items[next] }

    public mutating func append(_ item: Item) { items.append(item) }

    mutating func removeFirst() {
        next += 1
        guard next == items.count else { return }
        items.removeAll(keepingCapacity: true)
        next = 0
    }

    /// Hands the whole array, which must be empty, to be filled anew.
    mutating func refill<Result>(_ body: (inout [Item]) -> Result) -> Result {
        precondition(isEmpty)
        return body(&items)
    }
}
