import Ledger

/// Kill: no byte of an event stays in any file.
extension Log {
    /// Empties the log. What stays is the last event's number (none is used twice), the commit number and the
    /// history's head. After a crash at any point of it, opening the log finishes it.
    public func purge() throws(JournalError) {
        try checkUsable()
        if purging == .none {
            try commitControl { $0.put(RecordKind.purge.rawValue) }
            purging = .recorded
        }
        try finishPurge()
    }

    /// The newest segment says that a purge has begun, by a record at its end or by its checkpoint's flag.
    func finishPurge() throws(JournalError) {
        let storage = storage
        if let half = making {
            try attempt { () throws(StorageError) in try storage.remove(half.slot.name) }
            making = nil
        }
        if purging == .recorded { try beginEmptied() }
        for index in free.indices.prefix(configuration.freeSegments) {
            try zero(free[index], from: 0, to: free[index].capacity)
            free[index].residue = nil
        }
        while free.count > configuration.freeSegments {
            let slot = free[free.count - 1]
            try attempt { () throws(StorageError) in try storage.remove(slot.name) }
            free.removeLast()
        }
        try syncDirectory()
        purging = .none
        try commitControl { $0.put(RecordKind.purged.rawValue) }
    }

    /// Begins the only segment that will be live, in a file that is not the newest one's.
    private func beginEmptied() throws(JournalError) {
        let newest = active
        free += live.dropLast().map(\.slot)
        if free.isEmpty { try make(atMost: .max) }
        var slot = free.removeFirst()
        try zero(slot, from: 0, to: slot.capacity)
        slot.residue = nil
        ledger = ledger.emptied()
        eraser = EraseCursor()
        let gone = live.count
        try begin(in: slot, ledger: ledger, keeping: [])
        table.dropFirst(gone)
        table.publish(nil, end: end, ledger: ledger)
        // First: it holds the newest events, and is zeroed rather than unlinked.
        free.insert(newest.slot, at: 0)
        purging = .emptied
    }
}

extension Ledger {
    /// What a kill leaves.
    func emptied() -> Ledger {
        var ledger = Ledger(producerLimit: producers.limit)
        ledger.lastSeq = lastSeq
        ledger.keptBytes = keptBytes
        ledger.head = head
        return ledger
    }
}
