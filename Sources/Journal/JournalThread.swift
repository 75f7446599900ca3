import Lifecycle
import Platform

/// The thread that owns the log and the history, and syncs.
///
/// It takes all that waits, commits it, and tells; what comes meanwhile is the next commit. There is no timer.
public final class JournalThread: Sendable {
    private let queue: BlockingQueue<JournalQueue.Item>
    private let handle: Locked<ThreadHandle?>
    private let doneThrough: Locked<JournalSeq>
    /// Readable once the thread has nothing more to do.
    private let ended: EventFD

    /// Starts it.
    ///
    /// - Parameters:
    ///   - worker: Belongs to the thread from now on.
    ///   - deliver: Called on the thread with each completion; posts it to whoever submits.
    public init(
        worker: JournalWorker, queueLimit: Int = 1 << 20,
        deliver: @escaping @Sendable (JournalCompletion) -> Void
    ) throws(PlatformError) {
        let queue = BlockingQueue<JournalQueue.Item>(limit: queueLimit)
        self.queue = queue
        doneThrough = worker.doneThrough
        let ended = try EventFD()
        self.ended = ended
        handle = Locked(
            try Thread.spawn(name: "journal") {
                Self.run(worker, queue, deliver)
                ended.signal()
            })
    }

    /// Starts it with completions going to an inbox.
    public convenience init(
        worker: JournalWorker, queueLimit: Int = 1 << 20, inbox: Inbox<JournalCompletion>
    ) throws(PlatformError) {
        try self.init(worker: worker, queueLimit: queueLimit) { inbox.post($0) }
    }

    /// Never blocks. Tickets grow; one thread submits.
    public func submit(_ job: JournalJob, ticket: UInt64) {
        queue.push(JournalQueue.Item(ticket: ticket, job: job))
    }

    /// Events up to here are needed by nobody.
    public func setDoneThrough(_ seq: JournalSeq) { doneThrough.withLock { $0 = seq } }

    /// Finishes what waits, and ends the thread. Nothing may be submitted afterwards.
    ///
    /// - Returns: false if it was still at work after `timeoutMs`: the disk hangs, and the thread is left to
    ///   itself. What it writes until the process ends is still good; the state must stay locked for as long.
    @discardableResult
    public func stop(timeoutMs: Int) -> Bool {
        queue.close()
        guard ended.wait(timeoutMs: timeoutMs) else { return false }
        stop()
        return true
    }

    /// Finishes what waits, however long it takes, and ends the thread. Nothing may be submitted afterwards.
    public func stop() {
        queue.close()
        let handle = handle.withLock { (handle: inout sending ThreadHandle?) -> sending ThreadHandle? in
            handle.take()
        }
        if let handle { handle.join() }
    }

    private static func run(
        _ worker: JournalWorker, _ queue: BlockingQueue<JournalQueue.Item>,
        _ deliver: @Sendable (JournalCompletion) -> Void
    ) {
        var waiting = JournalQueue()
        var completions: [JournalCompletion] = []
        while waiting.refill({ queue.takeAll(into: &$0) }) {
            while !waiting.isEmpty {
                worker.turn(&waiting, into: &completions)
                for completion in completions { deliver(completion) }
                completions.removeAll(keepingCapacity: true)
                if let failure = worker.prepare() { deliver(.failed(failure)) }
            }
        }
    }
}
