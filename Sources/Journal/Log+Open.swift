import Ledger
import Lifecycle

/// Opening: what is on disk, and what a crash left half done.
extension Log {
    /// One segment file as it is found.
    struct Found {
        var slot: Slot
        let byteCount: UInt64
        let header: SegmentHeader?
        /// Its first commit's number, if header and first commit are valid.
        let firstCommit: UInt64?
    }

    /// Opens the log in `storage`, or begins one where there is none.
    ///
    /// - Parameter random: 64 random bits at each call: the segments' generations.
    /// - Throws: `.damaged` where something is missing that was committed; `.full` where there is no room for a
    ///   first segment; and whatever the disk says.
    public static func open(
        storage: any Storage, configuration: Configuration, random: @escaping () -> UInt64
    ) throws(JournalError) -> Log {
        let log = Log(storage: storage, configuration: configuration, random: random)
        let found = try log.survey()
        if let surplus = try log.read(found) {
            try log.settle(removing: surplus)
        } else {
            try log.beginFirst(replacing: found)
        }
        log.adoptProducerLimit()
        return log
    }

    /// Opens the log for looking: nothing is written, so that nothing may be committed to it either.
    /// - Returns: nil where there is none.
    static func readOnly(_ storage: any Storage) throws(JournalError) -> Log? {
        let log = Log(storage: storage, configuration: Configuration(), random: { 0 })
        return try log.read(log.survey()) == nil ? nil : log
    }

    private func survey() throws(JournalError) -> [Found] {
        let storage = storage
        var found: [Found] = []
        for name in try attempt({ () throws(StorageError) in try storage.names() }).sorted() {
            guard name.hasPrefix(Self.namePrefix) else { continue }
            found.append(try look(at: name))
        }
        return found
    }

    private func look(at name: String) throws(JournalError) -> Found {
        let storage = storage
        let buffer = ReadBuffer()
        let file = try attempt { () throws(StorageError) in try storage.open(name, create: false) }
        let byteCount = try attempt { () throws(StorageError) in try file.byteCount() }
        _ = try attempt { () throws(StorageError) in
            try buffer.append(SegmentHeader.byteCount, of: file, at: 0)
        }
        let residue = Residue(start: 0, end: byteCount, newestMs: .min)
        let unknown = Slot(name: name, file: file, capacity: byteCount, residue: residue)
        switch SegmentHeader.read(buffer.bytes) {
        case .invalid:
            return Found(slot: unknown, byteCount: byteCount, header: nil, firstCommit: nil)
        case .unknownVersion(let version):
            throw .unknownVersion(file: name, version: UInt64(version))
        case .valid(let header):
            guard header.capacity <= byteCount else {
                throw .damaged(file: name, what: "it is shorter than it was made")
            }
            let slot = Slot(name: name, file: file, capacity: header.capacity, residue: residue)
            var scan = CommitScan(slot: slot, generation: header.generation)
            let first = try attempt { () throws(StorageError) in
                try scan.commit(at: UInt64(SegmentHeader.byteCount))
            }
            var number: UInt64?
            if let first, let records = try? scan.records(of: first), case .checkpoint? = records.first {
                number = first.number
            }
            return Found(slot: slot, byteCount: byteCount, header: header, firstCommit: number)
        }
    }

    /// Begins a log in an empty directory, or in one where a first beginning was cut short.
    private func beginFirst(replacing found: [Found]) throws(JournalError) {
        let storage = storage
        for one in found {
            try attempt { () throws(StorageError) in try storage.remove(one.slot.name) }
        }
        // Two, so that a kill always finds one that is not being written to.
        try make(atMost: .max)
        try make(atMost: .max)
        try begin(in: free.removeFirst(), ledger: ledger, keeping: [])
        // A second commit proves a first one that can't be read to be damage.
        try commitControl { _ in }
    }

    /// A commit beyond `number` in any of these files was once answered for.
    private func refuseCommits(beyond number: UInt64, in files: [Found]) throws(JournalError) {
        for one in files where one.firstCommit == nil {
            let holds = try attempt { () throws(StorageError) in
                try CommitScan.holdsCommit(
                    beyond: number, in: one.slot, from: 0, generation: nil, byteCount: one.byteCount)
            }
            if holds {
                throw .damaged(file: one.slot.name, what: "commits follow a beginning that can't be read")
            }
        }
    }

    /// Reads what is on disk, and writes nothing.
    /// - Returns: the files that nobody needs; nil where there is no log yet.
    private func read(_ found: [Found]) throws(JournalError) -> [Found]? {
        var newest: Found?
        for one in found {
            guard let number = one.firstCommit else { continue }
            if number > newest?.firstCommit ?? 0 { newest = one }
        }
        guard let newest, let header = newest.header, let first = newest.firstCommit else {
            // The first checkpoint is commit 1, and nothing is answered before commit 2 is there.
            try refuseCommits(beyond: 1, in: found)
            return nil
        }
        nextCommit = first
        let recovery = LogRecovery(log: self, slot: newest.slot, generation: header.generation)
        let rows = try recovery.run()
        let others = found.filter { $0.slot.name != newest.slot.name }
        try refuseCommits(beyond: nextCommit, in: others)
        let surplus = try takeFiles(newest: newest, others: others, rows: rows)
        publishAll(index: recovery.index)
        return surplus
    }

    /// Makes what was read durable, and finishes what a crash left half done.
    private func settle(removing surplus: [Found]) throws(JournalError) {
        // What the process before has written but not synced is in the page cache alone.
        try sync(active.slot.file)
        try syncDirectory()
        let storage = storage
        for one in surplus {
            try attempt { () throws(StorageError) in try storage.remove(one.slot.name) }
        }
        if purging != .none { try finishPurge() }
        try dropSurplus()
        if live.count + free.count < 2 {
            do { try make(atMost: .max) } catch { guard error == .full else { throw error } }
        }
    }

    /// Sorts the files into the live ones, those that can be used again, and those that go, which it returns.
    private func takeFiles(
        newest: Found, others: [Found], rows: [SegmentRecord]
    ) throws(JournalError) -> [Found] {
        var surplus: [Found] = []
        var older: [Segment] = []
        var rest = others
        for row in rows.dropLast() where purging == .none {
            let at = rest.firstIndex {
                $0.header?.generation == row.generation && $0.firstCommit == row.firstCommit
            }
            guard let at else {
                throw .damaged(
                    file: newest.slot.name, what: "segment \(row.facts.number), which it needs, is not there")
            }
            var slot = rest.remove(at: at).slot
            slot.residue = nil
            older.append(Segment(record: row, slot: slot))
        }
        live = older + live
        for one in rest {
            guard one.byteCount == UInt64(configuration.segmentBytes) else {
                surplus.append(one)
                continue
            }
            let residue = Residue(start: 0, end: one.byteCount, newestMs: .min)
            free.append(
                Slot(name: one.slot.name, file: one.slot.file, capacity: one.byteCount, residue: residue))
        }
        return surplus
    }

    private func publishAll(index: [LogTable.IndexEntry]) {
        var state = LogTable.State()
        for segment in live {
            state.rows.append(
                LogTable.Row(
                    record: segment.record, name: segment.slot.name, file: segment.slot.file,
                    capacity: segment.slot.capacity, end: nil))
        }
        state.rows[live.count - 1].end = end
        state.rows[live.count - 1].index = index
        state.lastSeq = ledger.lastSeq
        state.doneThrough = ledger.doneThrough
        state.discarded = ledger.discarded
        table.replace(state)
    }

    /// Goes over to the configured limit, keeping those that were heard last.
    private func adoptProducerLimit() {
        guard ledger.producers.limit != configuration.producerLimit else { return }
        var table = ProducerTable(limit: configuration.producerLimit)
        let newestLast = ledger.producers.rows.sorted { $0.value.heard < $1.value.heard }
        for (producer, row) in newestLast.suffix(configuration.producerLimit) { table.restore(producer, row) }
        ledger.producers = table
    }
}
