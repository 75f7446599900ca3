import Ledger
import Lifecycle

/// A block, or the part of one, that was read.
public struct BlockSlice: Hashable, Sendable {
    /// As committed, except that `range` and `byteCount` are cut to what was asked for.
    public let stamp: BlockStamp
    /// The lines, each with its line feed, in the buffer; empty unless `stamp.kept`.
    public let bytes: Range<Int>
    /// Where the first line's entry in its block's table lies in the buffer.
    let table: Int
    /// False where lines are erased, or being erased: nobody durable needs them.
    public let isWhole: Bool

    /// Whether the events can be read here.
    public var hasLines: Bool { stamp.kept && isWhole }

    /// Bytes of line `index` of the slice, its line feed left out. Only of kept blocks.
    public func lineLength(_ index: Int, in buffer: ReadBuffer) -> Int {
        precondition(stamp.kept && index >= 0 && index < Int(stamp.range.count))
        return LineTable(offset: table, count: Int(stamp.range.count)).length(index, in: buffer.bytes)
    }
}

public enum LogReadError: Error, Hashable, Sendable {
    /// It is no longer in the log, which begins at `firstAvailable`.
    case gone(firstAvailable: JournalSeq)
    case failed(JournalError)
}

/// Reads what is committed, on a thread of its own while the log goes on. Not to be shared between threads.
///
/// One read of the file a call is the rule, two in the middle of a large commit: blocks are handed out where they
/// were read, unmoved.
public final class LogReader {
    /// Where reading stopped: the next event is in this commit.
    private struct Stop {
        let next: JournalSeq
        let generation: UInt64
        let commit: UInt64
        let offset: UInt64
        /// Header and records of the commit, and where the lines that come next begin; 0 at a commit's beginning.
        var meta: Int = 0
        var lines: UInt64 = 0
    }

    /// Remembered stops, the latest last: one a collector that reads on.
    private static let stopLimit = 64

    private let table: LogTable
    private var stops: [Stop] = []
    private var launches = LaunchCache()

    init(table: LogTable) { self.table = table }

    /// Reads blocks in order into `buffer`, from the one that holds `from` (or the next there is) on.
    ///
    /// - Parameters:
    ///   - through: The last event to be read.
    ///   - budgetBytes: Lines beyond it are left for the next call, except that there is always one block. A call
    ///     may return fewer at a segment's end: go on until nothing comes.
    /// - Returns: nothing if nothing of the range is committed.
    public func read(
        from: JournalSeq, through: JournalSeq, budgetBytes: Int, into buffer: ReadBuffer
    ) throws(LogReadError) -> [BlockSlice] {
        guard from <= through else { return [] }
        let start = JournalSeq(max(from.raw, 1))
        guard var (place, stop) = try find(start) else { return [] }
        while true {
            var walk = LogWalk(
                place: place, from: start, through: through, budgetBytes: max(budgetBytes, 1), buffer: buffer,
                launches: launches)
            do {
                try walk.run(resumingMeta: stop?.meta ?? 0, lines: stop?.lines ?? 0)
            } catch {
                if let first = table.firstAvailable(ifGone: place.generation) {
                    throw .gone(firstAvailable: first)
                }
                throw .failed(error)
            }
            launches = walk.launches
            for entry in walk.found { table.note(entry, generation: place.generation) }
            if !walk.slices.isEmpty {
                remember(walk, place)
                return walk.slices
            }
            if walk.passedEnd { return [] }
            stop = nil
            guard walk.place.commit >= place.end.commit else {
                place = walk.place
                continue
            }
            guard let following = place.following else { return [] }
            guard let next = table.start(generation: following) else {
                throw .gone(firstAvailable: table.firstAvailable(ifGone: following) ?? start)
            }
            place = next
        }
    }

    private func find(_ seq: JournalSeq) throws(LogReadError) -> (LogTable.Place, Stop?)? {
        if let at = stops.lastIndex(where: { $0.next == seq }) {
            let stop = stops.remove(at: at)
            let place = table.resume(generation: stop.generation, offset: stop.offset, commit: stop.commit)
            if let place { return (place, stop) }
        }
        switch table.locate(seq) {
        case .place(let place): return (place, nil)
        case .nothingYet: return nil
        case .gone(let first): throw .gone(firstAvailable: first)
        }
    }

    private func remember(_ walk: LogWalk, _ place: LogTable.Place) {
        guard let last = walk.slices.last else { return }
        if stops.count >= Self.stopLimit { stops.removeFirst() }
        stops.append(
            Stop(
                next: last.stamp.range.last.next, generation: place.generation, commit: walk.place.commit,
                offset: walk.place.offset, meta: walk.stopMeta, lines: walk.stopLines))
    }
}
