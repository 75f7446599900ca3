import Engine
import Journal
import Ledger
import Lifecycle
import Platform
import Wire

/// What the journal's thread found of dead letters that are to be queued again.
struct RequeueResult: Sendable {
    enum Outcome: Sendable {
        case refused(WireError)
        case lines([String], ProducerBatch)
    }
    let requester: Requester
    let id: String?
    let outcome: Outcome
}

/// The reactor's side of the journal's thread: jobs go in, and come back as notes. Nothing here blocks.
///
/// The small files beside the log (dead letters, internal configuration) are touched on that thread alone too.
final class JournalClient {
    private let thread: JournalThread
    private let inbox: Inbox<Note>
    private let files: SmallFiles
    /// Jobs of the reactor's own ride on the last ticket: nobody waits for them.
    private(set) var lastTicket: UInt64 = 0

    init(
        worker: JournalWorker, deadLetters: DeadLetters, configuration: InternalConfiguration,
        inbox: Inbox<Note>
    ) throws(PlatformError) {
        self.inbox = inbox
        files = SmallFiles(deadLetters: deadLetters, configuration: configuration)
        thread = try JournalThread(worker: worker) { inbox.post(.journal($0)) }
    }

    func submit(_ job: JournalJob, ticket: UInt64) {
        lastTicket = ticket
        thread.submit(job, ticket: ticket)
    }

    /// Letters that are held now.
    var deadLetterCount: Int { files.deadLetters.count }

    /// Finishes what waits.
    func stop() { thread.stop() }

    /// Finishes what waits; false if the disk hangs for longer.
    func stop(timeoutMs: Int) -> Bool { thread.stop(timeoutMs: timeoutMs) }

    /// Segments up to here may be used again.
    func setDoneThrough(_ seq: JournalSeq) { thread.setDoneThrough(seq) }

    /// Everything but the history goes: the log last, so that its ticket says that all is gone.
    func purge(ticket: UInt64) {
        thread.submit(files.purge, ticket: lastTicket)
        submit(.purge, ticket: ticket)
    }

    func replaceConfiguration(with object: JSONValue, ticket: UInt64) {
        submit(files.replaceConfiguration(with: object), ticket: ticket)
    }

    func bury(_ letters: [DeadLetter], ticket: UInt64) { submit(files.bury(letters), ticket: ticket) }

    /// Answers with up to `limit` dead letters after `after`.
    func listDeadLetters(after: JournalSeq, limit: Int, _ requester: Requester, _ reply: ControlReply) {
        let deadLetters = files.deadLetters
        perform { () throws(JournalError) in
            var reply = reply
            let letters = try deadLetters.list(after: after, limit: limit)
            reply.members.append(.init("deadLetters", .array(letters.map(Self.row))))
            return .answer(requester, reply)
        }
    }

    private static func row(_ letter: DeadLetter) -> JSONValue {
        .object([
            .init("seq", .uint(letter.seq.raw)), .init("collector", .string(letter.collector)),
            .init("reason", .string(letter.reason)),
            .init("time", .string(Timestamp.text(ms: letter.wallMs))),
            .init("event", .raw(letter.event)),
        ])
    }

    /// Reads dead letters back; nothing is moved before their block is committed.
    ///
    /// - Parameter maxBytes: what one block may have.
    func beginRequeue(_ seqs: [JournalSeq], maxBytes: Int, _ requester: Requester, id: String?) {
        let deadLetters = files.deadLetters
        perform { () throws(JournalError) in
            let outcome: RequeueResult.Outcome
            do throws(JournalError) {
                if let begun = try deadLetters.beginRequeue(seqs, maxBytes: maxBytes) {
                    outcome = .lines(begun.lines, begun.batch)
                } else {
                    outcome = .refused(
                        WireError(
                            .invalidArgument, "none of these seqs is a dead letter; `deadLetters` lists them")
                    )
                }
            } catch {
                guard error == .full else { throw error }
                outcome = .refused(
                    WireError(.storageFull, "the disk is full; nothing was moved", retryable: true))
            }
            return .requeue(RequeueResult(requester: requester, id: id, outcome: outcome))
        }
    }

    /// The block with these letters is committed.
    func settleRequeue(_ batch: ProducerBatch) {
        let deadLetters = files.deadLetters
        perform { () throws(JournalError) in
            try deadLetters.settle(batch)
            return nil
        }
    }

    func abandonRequeue(_ batch: ProducerBatch) {
        let deadLetters = files.deadLetters
        perform { () throws(JournalError) in
            deadLetters.abandon(batch)
            return nil
        }
    }

    private func perform(_ body: @escaping @Sendable () throws(JournalError) -> Note?) {
        let inbox = inbox
        let job: @Sendable () throws(JournalError) -> Void = { () throws(JournalError) in
            if let note = try body() { inbox.post(note) }
        }
        thread.submit(.perform(job), ticket: lastTicket)
    }
}
