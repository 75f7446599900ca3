import Ledger
import Lifecycle
import Platform

/// Where the log's committed data lies: written by the log after each sync, read by readers on other threads.
final class LogTable: Sendable {
    /// A commit that has blocks, and the first event in it.
    struct IndexEntry: Hashable {
        let seq: JournalSeq
        let offset: UInt64
        let commit: UInt64
    }

    struct Row {
        let record: SegmentRecord
        let name: String
        let file: any StorageFile
        let capacity: UInt64
        /// Nil where it is not known without reading: the next segment's first commit is the bound then.
        var end: End?
        var index: [IndexEntry] = []
    }

    struct End: Hashable {
        /// Where the next commit would begin.
        var offset: UInt64
        /// The next commit's number.
        var commit: UInt64
    }

    struct State {
        var rows: [Row] = []
        var lastSeq: JournalSeq = .zero
        var doneThrough: JournalSeq = .zero
        var discarded: [SeqRange] = []
    }

    /// All that reading from one place needs, so that nothing else is looked up on the way.
    struct Place {
        let file: any StorageFile
        let name: String
        let generation: UInt64
        /// The next segment's, nil in the newest.
        let following: UInt64?
        var offset: UInt64
        var commit: UInt64
        let end: End
        let lastSeq: JournalSeq
        let doneThrough: JournalSeq
        let discarded: [SeqRange]
    }

    enum Answer {
        case place(Place)
        case nothingYet
        case gone(firstAvailable: JournalSeq)
    }

    /// One index entry for each such stretch of a segment.
    static let indexBytes: UInt64 = 64 << 10

    private let state = Locked(State())

    func replace(_ new: State) { state.withLock { [new] in $0 = new } }

    /// Makes one commit of the newest segment visible.
    func publish(_ entry: IndexEntry?, end: End, ledger: Ledger) {
        let (lastSeq, doneThrough, discarded) = (ledger.lastSeq, ledger.doneThrough, ledger.discarded)
        state.withLock { state in
            let last = state.rows.count - 1
            state.rows[last].end = end
            if let entry { Self.add(entry, to: &state.rows[last].index) }
            state.lastSeq = lastSeq
            state.doneThrough = doneThrough
            state.discarded = discarded
        }
    }

    func add(_ row: Row) { state.withLock { $0.rows.append(row) } }

    func dropFirst(_ count: Int) { state.withLock { $0.rows.removeFirst(count) } }

    /// Where to begin to look for `seq`.
    func locate(_ seq: JournalSeq) -> Answer {
        state.withLock { state in
            guard let first = state.rows.first, seq <= state.lastSeq else { return .nothingYet }
            guard seq >= first.record.facts.firstSeq else {
                return .gone(firstAvailable: first.record.facts.firstSeq)
            }
            var at = state.rows.count - 1
            while state.rows[at].record.facts.firstSeq > seq { at -= 1 }
            let row = state.rows[at]
            let entry = Self.entry(for: seq, in: row.index)
            return .place(
                Self.place(
                    at, offset: entry?.offset ?? UInt64(SegmentHeader.byteCount),
                    commit: entry?.commit ?? row.record.firstCommit, in: state))
        }
    }

    /// As `locate`, for a place that was read up to before; nil once its segment has gone.
    func resume(generation: UInt64, offset: UInt64, commit: UInt64) -> Place? {
        state.withLock { state in
            guard let at = state.rows.lastIndex(where: { $0.record.generation == generation }) else {
                return nil
            }
            return Self.place(at, offset: offset, commit: commit, in: state)
        }
    }

    /// The beginning of a segment.
    func start(generation: UInt64) -> Place? {
        state.withLock { state in
            guard let at = state.rows.lastIndex(where: { $0.record.generation == generation }) else {
                return nil
            }
            return Self.place(
                at, offset: UInt64(SegmentHeader.byteCount), commit: state.rows[at].record.firstCommit,
                in: state)
        }
    }

    func firstAvailable(ifGone generation: UInt64) -> JournalSeq? {
        state.withLock { state in
            if state.rows.contains(where: { $0.record.generation == generation }) { return nil }
            return state.rows.first?.record.facts.firstSeq ?? state.lastSeq.next
        }
    }

    /// What a reader found on its way.
    func note(_ entry: IndexEntry, generation: UInt64) {
        state.withLock { state in
            guard let at = state.rows.lastIndex(where: { $0.record.generation == generation }) else { return }
            Self.add(entry, to: &state.rows[at].index)
        }
    }

    private static func place(_ at: Int, offset: UInt64, commit: UInt64, in state: State) -> Place {
        let row = state.rows[at]
        let following = at + 1 < state.rows.count ? state.rows[at + 1].record : nil
        let end = row.end ?? End(offset: row.capacity, commit: following?.firstCommit ?? commit)
        return Place(
            file: row.file, name: row.name, generation: row.record.generation,
            following: following?.generation, offset: offset, commit: commit, end: end,
            lastSeq: state.lastSeq,
            doneThrough: state.doneThrough, discarded: state.discarded)
    }

    /// The last entry at or before `seq`.
    private static func entry(for seq: JournalSeq, in index: [IndexEntry]) -> IndexEntry? {
        var low = 0
        var high = index.count
        while low < high {
            let middle = (low + high) / 2
            if index[middle].seq <= seq { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? index[low - 1] : nil
    }

    private static func add(_ entry: IndexEntry, to index: inout [IndexEntry]) {
        let at = index.lastIndex { $0.offset <= entry.offset }
        if let at, index[at].offset + indexBytes > entry.offset { return }
        index.insert(entry, at: at.map { $0 + 1 } ?? 0)
    }
}
