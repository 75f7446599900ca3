// What the journal's records add up to: who has which events, which batches were taken, what was dropped.
//
// The journal folds its records into a `Ledger` as it commits them and writes the fold at each segment's head; the
// engine starts from the same fold. Both fold with the code in this room, so that they can't disagree.
import Lifecycle

/// What all records of a journal so far add up to. Its size is bounded by the limits on its tables.
public struct Ledger: Hashable, Sendable {
    /// The last number given to an event.
    public var lastSeq: JournalSeq = .zero
    /// Bytes of all lines ever kept; a position, of which differences count.
    public var keptBytes: UInt64 = 0
    /// Each durable collector is done with everything up to its cursor.
    public var cursors: [String: JournalSeq] = [:]
    public var producers: ProducerTable
    /// Ranges that are no longer delivered, in order, without overlap, beyond the lowest cursor.
    public private(set) var discarded: [SeqRange] = []
    public var head: HistoryHead?

    public init(producerLimit: Int) {
        producers = ProducerTable(limit: producerLimit)
    }

    public mutating func apply(_ entry: Entry) {
        switch entry {
        case .block(let stamp):
            lastSeq = max(lastSeq, stamp.range.last)
            if stamp.kept { keptBytes += UInt64(stamp.byteCount) }
            if let batch = stamp.batch { producers.take(batch) }
        case .batch(let batch):
            producers.take(batch)
        case .known(let collector, let cursor):
            cursors[collector] = max(cursor, cursors[collector] ?? .zero)
        case .done(let collector, let through):
            guard let cursor = cursors[collector], through > cursor else { return }
            cursors[collector] = through
            dropPassedDiscards()
        case .forgotten(let collector):
            cursors[collector] = nil
            dropPassedDiscards()
        case .discarded(let range, _):
            // Its numbers are taken, whether their blocks were written or not.
            lastSeq = max(lastSeq, range.last)
            addDiscard(range)
            dropPassedDiscards()
        case .head(let head):
            self.head = head
        }
    }

    /// Every durable collector is done with everything up to here: nothing at or before it is read again.
    public var doneThrough: JournalSeq { cursors.values.min() ?? lastSeq }

    /// Adds a range, merged with those that it meets.
    public mutating func addDiscard(_ range: SeqRange) {
        var first = range.first
        var last = range.last
        var kept: [SeqRange] = []
        for old in discarded {
            if old.last.next < first || last.next < old.first {
                kept.append(old)
            } else {
                first = min(first, old.first)
                last = max(last, old.last)
            }
        }
        guard let merged = SeqRange(first: first, through: last) else { return }
        let index = kept.firstIndex { $0.first > merged.first } ?? kept.count
        kept.insert(merged, at: index)
        discarded = kept
    }

    /// Takes back what was added beyond `seq`, whose numbers will be given again.
    public mutating func removeDiscards(after seq: JournalSeq) {
        discarded = discarded.compactMap { SeqRange(first: $0.first, through: min($0.last, seq)) }
    }

    /// Forgets ranges that nobody reads again. (Without collectors that is not for the ledger to say: the gate may
    /// not have let out yet what lies around them.)
    private mutating func dropPassedDiscards() {
        if let done = cursors.values.min() { dropDiscards(through: done) }
    }

    /// Forgets ranges at or before `done`.
    public mutating func dropDiscards(through done: JournalSeq) {
        guard let first = discarded.first, first.last <= done else { return }
        discarded.removeAll { $0.last <= done }
    }
}
