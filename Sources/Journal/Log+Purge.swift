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
            // None of the events is needed from here on.
            let older = live.count - 1
            free += live.prefix(older).map(\.slot)
            live.removeFirst(older)
            table.dropFirst(older)
        }
        try finishPurge()
    }

    /// Goes on with a purge that the newest segment says has begun, by a record at its end or by its checkpoint's
    /// flag. May be repeated after any failure that is not final.
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
        try commitControl { $0.put(RecordKind.purged.rawValue) }
        purging = .none
    }

    /// Begins the only segment that will be live, in a file that is not the newest one's.
    private func beginEmptied() throws(JournalError) {
        if free.isEmpty { try make(atMost: .max) }
        try zero(free[0], from: 0, to: free[0].capacity)
        free[0].residue = nil
        ledger = ledger.emptied()
        eraser = EraseCursor()
        let newest = active.slot
        let end = Residue(start: 0, end: newest.capacity, newestMs: .min)
        try begin(in: free[0], ledger: ledger, keeping: [])
        table.dropFirst(1)
        table.publish(nil, end: self.end, ledger: ledger)
        // First: it holds the newest events, and is zeroed rather than unlinked.
        free[0] = Slot(name: newest.name, file: newest.file, capacity: newest.capacity, residue: end)
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
