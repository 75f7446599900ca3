import Ledger
import Lifecycle
import Wire

/// Making segment files, using them, and using them again.
extension Log {
    static let namePrefix = "segment-"
    /// Zeros that are written at once.
    static let zeroBytes = 1 << 20

    /// Goes on in another segment file.
    func rotate(doneThrough: JournalSeq) throws(JournalError) {
        do {
            try retire(through: min(doneThrough, ledger.doneThrough))
        } catch {
            guard error == .full else { throw error }
        }
        ledger.dropDiscards(through: min(doneThrough, ledger.doneThrough))
        let slot = try takeFree()
        do {
            try begin(in: slot, ledger: ledger, keeping: live)
        } catch {
            free.append(slot)
            throw error
        }
        try dropSurplus()
    }

    /// Whether the oldest `count` segments hold nothing beyond `done`.
    func canRetire(_ count: Int, through done: JournalSeq) -> Bool {
        count < live.count && live[count].record.facts.firstSeq.raw <= done.raw + 1
    }

    /// Frees the segments whose events are all done. That is a record of its own, before a file is used again: what
    /// the newest durable records call live is never overwritten.
    private func retire(through done: JournalSeq) throws(JournalError) {
        var count = 0
        while canRetire(count + 1, through: done) { count += 1 }
        guard count > 0 else { return }
        guard position + retiredBytes + purgeReserveBytes <= active.slot.capacity else { throw .full }
        let number = live[count - 1].record.facts.number
        try commitControl { RecordCodec.writeRetired(through: number, to: $0) }
        dropRetired(through: number)
    }

    /// Moves the files of retired segments to the free ones.
    func dropRetired(through number: UInt64) {
        let count = live.prefix { $0.record.facts.number <= number }.count
        for segment in live.prefix(count) {
            var slot = segment.slot
            let newest = max(slot.residue?.newestMs ?? .min, segment.record.facts.newestArrivalMs ?? .min)
            slot.residue = Residue(start: 0, end: slot.capacity, newestMs: newest)
            free.append(slot)
        }
        live.removeFirst(count)
        table.dropFirst(count)
    }

    /// Writes a segment's header and checkpoint, syncs, and makes it the newest one.
    func begin(in slot: Slot, ledger: Ledger, keeping kept: [Segment]) throws(JournalError) {
        let generation = random()
        let facts = SegmentFacts(
            number: (live.last?.record.facts.number ?? 0) + 1, firstSeq: ledger.lastSeq.next,
            firstArrivalMs: nil,
            newestArrivalMs: nil, keptBytesBefore: ledger.keptBytes)
        let record = SegmentRecord(facts: facts, generation: generation, firstCommit: nextCommit)
        let checkpoint = Checkpoint(
            ledger: ledger, isPurging: purging != .none, segments: kept.map(\.record) + [record])
        let header = SegmentHeader(generation: generation, number: facts.number, capacity: slot.capacity)
        control.reset()
        header.write(to: control)
        CommitHeader.reserve(in: control)
        checkpoint.write(to: control)
        RecordCodec.pad(control)
        CommitHeader.finish(
            in: control, at: SegmentHeader.byteCount, number: nextCommit, generation: generation, lineBytes: 0
        )
        let end = UInt64(control.count)
        precondition(
            end + UInt64(maxCommitBytes) + reserveBytes <= slot.capacity, "the ledger outgrew its segment")
        let bytes = control.bytes
        try attempt { () throws(StorageError) in try slot.file.write([bytes], at: 0) }
        try sync(slot.file)
        live = kept + [Segment(record: record, slot: slot)]
        if kept.count > 0 { live[kept.count - 1].slot.residue?.start = position }
        live[kept.count].slot.residue?.start = end
        position = end
        nextCommit += 1
        let row = LogTable.Row(
            record: record, name: slot.name, file: slot.file, capacity: slot.capacity, end: self.end)
        table.add(row)
    }

    private func takeFree() throws(JournalError) -> Slot {
        if free.isEmpty { try make(atMost: .max) }
        return free.removeFirst()
    }

    /// Zeroes a file ahead, a bounded piece a call, once the newest segment is half full. Running out of room
    /// here is no error: a later commit meets it. Any other failure is final.
    public func prepare() throws(JournalError) {
        try checkUsable()
        let committed = unpreparedBytes
        unpreparedBytes = 0
        guard purging == .none, free.isEmpty, position > active.slot.capacity / 2 else { return }
        do {
            // Three times what was committed, so that it is finished before the segment is full.
            try make(atMost: UInt64(Self.zeroBytes + 3 * committed))
        } catch {
            guard error == .full else { throw error }
        }
    }

    /// Makes one more free segment file, or goes on making it.
    func make(atMost limit: UInt64) throws(JournalError) {
        let capacity = UInt64(configuration.segmentBytes)
        do {
            if making == nil { making = (try createFile(), 0) }
            guard let slot = making?.slot, let done = making?.through else { return }
            let through = limit < capacity - done ? done + limit : capacity
            try zero(slot, from: done, to: through)
            making?.through = through
            guard through == capacity else { return }
            try syncDirectory()
            making = nil
            free.append(slot)
        } catch {
            if error == .full { try abandonMaking() }
            throw error
        }
    }

    private func createFile() throws(JournalError) -> Slot {
        let storage = storage
        let used = Set((live.map(\.slot) + free).map(\.name))
        var index = 0
        while used.contains(Self.name(index)) { index += 1 }
        let name = Self.name(index)
        let file = try attempt { () throws(StorageError) in try storage.open(name, create: true) }
        return Slot(name: name, file: file, capacity: UInt64(configuration.segmentBytes), residue: nil)
    }

    /// Gives the room of a half-made file back, for the files that need it more.
    private func abandonMaking() throws(JournalError) {
        guard let slot = making?.slot else { return }
        making = nil
        let storage = storage
        try attempt { () throws(StorageError) in try storage.remove(slot.name) }
    }

    static func name(_ index: Int) -> String {
        let digits = String(index, radix: 16)
        return namePrefix + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    /// Writes zeros and syncs.
    func zero(_ slot: Slot, from start: UInt64, to end: UInt64) throws(JournalError) {
        guard start < end else { return }
        let block = LineBlock(capacity: min(Self.zeroBytes, Int(end - start)))
        var at = start
        while at < end {
            let count = Int(min(UInt64(block.capacity), end - at))
            let piece = block.withMutableCapacity { UnsafeRawBufferPointer(rebasing: $0[..<count]) }
            try withExtendedLifetime(block) { () throws(JournalError) in
                try attempt { () throws(StorageError) in try slot.file.write([piece], at: at) }
            }
            at += UInt64(count)
        }
        try sync(slot.file)
    }

    /// Unlinks free files beyond those that are kept.
    func dropSurplus() throws(JournalError) {
        guard free.count > configuration.freeSegments else { return }
        let storage = storage
        while free.count > configuration.freeSegments {
            let slot = free[free.count - 1]
            try attempt { () throws(StorageError) in try storage.remove(slot.name) }
            free.removeLast()
        }
        try syncDirectory()
    }
}
