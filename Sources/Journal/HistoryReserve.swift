/// Room kept back so that a full disk does not keep the gate open: a file of zeros that is given up when a
/// hold or a kill finds no room.
final class HistoryReserve {
    static let name = "reserve"
    static let byteCount = 1 << 20

    private let storage: any Storage
    private(set) var isHeld = false

    init(_ storage: any Storage) { self.storage = storage }

    /// Fills the file. A disk without room for it is no error: the host serves on without a reserve.
    func restore() throws(JournalError) {
        guard !isHeld else { return }
        do {
            let file = try storage.open(Self.name, create: true)
            if try file.byteCount() == UInt64(Self.byteCount) {
                isHeld = true
                return
            }
            try file.truncate(to: 0)
            let zeros = [UInt8](repeating: 0, count: 64 << 10)
            for offset in stride(from: 0, to: Self.byteCount, by: zeros.count) {
                try file.write(zeros, at: UInt64(offset))
            }
            // Only zeros are at stake: a sync that finds no room may be forgotten with its file.
            try file.sync()
        } catch {
            guard error.kind == .full else { throw JournalError(error) }
            try giveUp()
            return
        }
        try synced(try storage.syncDirectory())
        isHeld = true
    }

    /// Removes the file; its room is free once the directory is synced.
    func giveUp() throws(JournalError) {
        isHeld = false
        do {
            try storage.remove(Self.name)
        } catch {
            if error.kind == .missing { return }
            throw JournalError(error)
        }
        try synced(try storage.syncDirectory())
    }
}
