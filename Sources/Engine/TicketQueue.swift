import Ledger
import Lifecycle
import Wire

/// What happens once a job is done.
enum Awaited: Hashable, Sendable {
    /// A block was committed.
    case block(BlockStamp, Requester, id: String?)
    /// A block of dead letters was committed.
    case requeued(BlockStamp, ProducerBatch, Requester, id: String?)
    /// The decision was written.
    case decision
    /// The events are gone from the disk.
    case purge
    /// A batch that the gate's policy discarded was noted as taken.
    case batch(ProducerBatch, Requester, IngestReply.Outcome, id: String?)
    /// A batch that was not taken: what it is to be told depends on whether the ones before it were written.
    case verdict(ProducerBatch, Requester, id: String?)
    /// Nothing of its own is written, but what it tells must not run ahead of the disk.
    case ingestReply(Requester, IngestReply.Outcome, id: String?)
    /// The reply is made now, so that it shows what is on disk by then.
    case reply(Requester, id: String?, [JSONValue.Member])
    /// The oldest of the changes to the internal configuration, which makes it this.
    case configuration(JSONValue)
    /// A durable collector's place is kept from now on.
    case known(collector: String)
    /// An app's report.
    case report(AppReport, Requester, id: String?)
    /// Rejected events are among the dead letters: the collector's cursor may pass them.
    case burial(collector: String)
    /// Every block that was under way when the disk was full has failed.
    case roomAgain
    /// Numbers that will never be given are in the journal.
    case gap
    /// Something that nobody waits to hear of, and that must not be lost for want of room.
    case noted(Entry)
}

/// Awaited jobs in the order of their tickets.
struct TicketQueue: Hashable, Sendable {
    struct Item: Hashable, Sendable {
        let ticket: Ticket
        let awaited: Awaited
    }
    private var items: [Item] = []
    private var head = 0

    var isEmpty: Bool { head == items.count }

    mutating func append(_ ticket: Ticket, _ awaited: Awaited) {
        precondition(items.last.map { $0.ticket <= ticket } ?? true, "jobs are awaited in their order")
        items.append(Item(ticket: ticket, awaited: awaited))
    }

    /// Takes the oldest item, if its job is done.
    mutating func next(through ticket: Ticket) -> Item? {
        guard head < items.count, items[head].ticket <= ticket else { return nil }
        defer {
            head += 1
            if head == items.count {
                items.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 1024, head * 2 > items.count {
                items.removeFirst(head)
                head = 0
            }
        }
        return items[head]
    }
}
