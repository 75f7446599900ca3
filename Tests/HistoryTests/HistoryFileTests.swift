import Ledger
import Lifecycle
import Testing
import Wire

@testable import Journal

@Suite struct HistoryFileTests {
    typealias World = HistoryWorld

    static func file(_ number: Int) -> String { "history-0000000\(number).ndjson" }

    /// Every file has its header and two records.
    static func rotated() throws -> (MemoryStorage, [HistoryHead]) {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage, rotateBytes: 700)
        var heads: [HistoryHead] = []
        for draft in World.five { heads.append(try history.append([draft])) }
        return (storage, heads)
    }

    // MARK: Rotation

    @Test func rotatedFilesAreOneChain() throws {
        let (storage, heads) = try Self.rotated()
        #expect((1...3).map { World.lines(storage, Self.file($0)).count } == [3, 3, 2])
        #expect(storage.files.keys.sorted() == (1...3).map(Self.file) + ["reserve"])
        let all = (1...3).flatMap { World.lines(storage, Self.file($0)) }
        var before = String(repeating: "0", count: 64)
        for line in all {
            #expect(line.contains(#","prev":"\#(before)","hash":""#))
            before = World.sha256(line.dropLast(75).utf8)
        }
        let (records, error) = World.read(storage)
        #expect(error == nil)
        #expect(records.map(\.head) == heads)
        #expect(records.map(\.draft) == World.five)
    }

    @Test func aMissingFileIsDamage() throws {
        for number in 1...2 {
            let (storage, _) = try Self.rotated()
            storage.files[Self.file(number)] = nil
            #expect(World.read(storage).error == .damaged(file: Self.file(number), what: "it is missing"))
        }
        let (storage, heads) = try Self.rotated()
        storage.files[Self.file(3)] = nil
        let history = try History.open(storage: storage, rotateBytes: 700)
        #expect(throws: JournalError.self) { try history.verify(journalHead: heads[4]) }
    }

    @Test func aFileInAnothersPlaceIsDamage() throws {
        let (storage, _) = try Self.rotated()
        storage.files[Self.file(2)] = storage.files[Self.file(3)]
        #expect(
            World.read(storage).error
                == .damaged(file: Self.file(2), what: "line 1: its header is that of file 3")
        )
    }

    @Test func anEndThatIsTornBeforeTheLastFileIsDamage() throws {
        let (storage, _) = try Self.rotated()
        let bytes = storage.bytes(Self.file(2))
        storage.files[Self.file(2)] = MemoryStorage.Contents(Array(bytes.dropLast()))
        #expect(
            World.read(storage).error == .damaged(file: Self.file(2), what: "line 3: it has no line feed"))
        storage.files[Self.file(2)] = MemoryStorage.Contents()
        #expect(
            World.read(storage).error
                == .damaged(file: Self.file(2), what: "it is empty, and later files follow"))
    }

    // MARK: Reading

    @Test func theReaderGivesRecordsAcrossFilesWithoutHeaders() throws {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage, rotateBytes: 40_000)
        _ = try history.append([World.five[0]])
        var written: [String] = []
        for n in 2...300 {
            _ = try history.append([World.draft(1, .onHold, .onHold, "holdOperation", reason: "\(n)")])
        }
        #expect(storage.files.count > 3)
        let names = storage.files.keys.filter { $0.hasPrefix("history-") }.sorted()
        for name in names { written += World.lines(storage, name).filter { !$0.hasPrefix(#"{"format""#) } }
        #expect(written.count == 300)

        let reopened = try History.open(storage: storage, rotateBytes: 40_000)
        for reader in [history.reader, reopened.reader] {
            for after in [0, 1, 62, 63, 64, 65, 127, 128, 129, 250, 298, 299, 300, 301] {
                for limit in [0, 1, 2, 64, 65, 1000] {
                    let lines = try reader.read(after: UInt64(after), limit: limit, maxBytes: .max)
                    #expect(lines == Array(written.dropFirst(after).prefix(limit)))
                }
            }
            #expect(try reader.read(after: .max, limit: 1) == [])
            // One record at least, however long.
            #expect(try reader.read(after: 10, limit: 10, maxBytes: 1) == [written[10]])
        }
    }

    @Test func aRecordIsNotReadBeforeItIsSynced() throws {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage)
        _ = try history.append([World.five[0]])
        storage.failsSyncs = true
        #expect(throws: JournalError.self) { _ = try history.append([World.five[1]]) }
        #expect(try history.reader.read(after: 0, limit: 10).count == 1)
    }

    // MARK: Failing disks

    @Test func aFailedSyncIsFinal() throws {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage)
        _ = try history.append([World.five[0]])
        storage.failsSyncs = true
        let error = JournalError.syncFailed(
            StorageError(kind: .failed, call: "fdatasync", path: World.first, number: 5))
        #expect(throws: error) { _ = try history.append([World.five[1]]) }
        storage.failsSyncs = false
        let calls = storage.calls
        #expect(throws: error) { _ = try history.append([World.five[1]]) }
        #expect(storage.calls == calls)
        #expect(history.head?.n == 1)
    }

    @Test func aFullDiskLeavesTheHistoryAsItWas() throws {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage)
        _ = try history.append([World.five[0]])
        let before = storage.bytes(World.first)
        // An opening is not worth the reserve.
        storage.room = before.count + HistoryReserve.byteCount + 40
        #expect(throws: JournalError.full) { _ = try history.append([World.five[1]]) }
        #expect(storage.bytes(World.first) == before)
        #expect(history.hasReserve)
        storage.room = nil
        #expect(try history.append([World.five[1]]).n == 2)
        #expect(World.read(storage).records.map(\.draft) == Array(World.five[..<2]))
    }

    @Test func theReserveLetsAHoldBeWrittenOnAFullDisk() throws {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage)
        _ = try history.append(Array(World.five[..<2]))
        storage.room = storage.bytes(World.first).count + HistoryReserve.byteCount
        #expect(try history.append([World.five[2]]).n == 3)
        #expect(!history.hasReserve && storage.files["reserve"] == nil)

        // Full to the last byte, and no reserve any more.
        storage.room = storage.bytes(World.first).count
        let before = storage.bytes(World.first)
        #expect(throws: JournalError.full) { _ = try history.append([World.five[3]]) }
        #expect(storage.bytes(World.first) == before)
        #expect(!history.hasReserve && storage.files["reserve"] == nil)

        storage.room = nil
        _ = try history.append([World.five[3]])
        #expect(World.read(storage).records.map(\.draft) == Array(World.five[..<4]))
    }

    @Test func aHistoryOpensOnAFullDiskAndWithoutReserve() throws {
        let storage = try World.fiveRecords()
        storage.files["reserve"] = nil
        storage.room = storage.bytes(World.first).count
        let history = try History.open(storage: storage)
        #expect(!history.hasReserve)
        #expect(history.head?.n == 5)
        #expect(storage.files["reserve"] == nil)
    }

    @Test func withoutRoomForANewFileTheOldOneGoesOn() throws {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage, rotateBytes: 700)
        for draft in World.five[..<2] { _ = try history.append([draft]) }
        // Room for nothing: the header does not fit, and the hold gets the reserve.
        storage.room = storage.bytes(World.first).count + HistoryReserve.byteCount
        _ = try history.append([World.five[2]])
        #expect(storage.files[Self.file(2)] == nil)
        #expect(World.lines(storage).count == 4)
        storage.room = nil
        _ = try history.append([World.five[3]])
        #expect(World.lines(storage, Self.file(2)).count == 2)
        #expect(World.read(storage).records.map(\.draft) == Array(World.five[..<4]))
    }

    // MARK: Crashes

    @Test func aCrashAtAnyCallKeepsEveryAnsweredRecord() throws {
        for crashAt in 1... {
            let storage = MemoryStorage()
            storage.crashAt = crashAt
            var answered: [HistoryHead] = []
            if let history = try? History.open(storage: storage, rotateBytes: 700) {
                for draft in World.five {
                    guard let head = try? history.append([draft]) else { break }
                    answered.append(head)
                }
            }
            for keepingUnsynced in [false, true] {
                let survivor = storage.afterCrash(keepingUnsynced: keepingUnsynced)
                let (records, error) = World.read(survivor)
                #expect(error == nil, "call \(crashAt)")
                #expect(Array(records.map(\.head).prefix(answered.count)) == answered)
                #expect(records.count <= answered.count + 1)
                #expect(records.map(\.draft) == Array(World.five.prefix(records.count)))
            }
            if !storage.hasCrashed { break }
        }
    }
}
