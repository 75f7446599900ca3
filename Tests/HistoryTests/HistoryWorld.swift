import CSodium
import Ledger
import Lifecycle
import Wire

@testable import Journal

/// What the tests of the history write and read.
enum HistoryWorld {
    static let launch = LaunchID(high: 0x0123_4567_89ab_cdef, low: 1)
    static let other = LaunchID(high: 2, low: 2)
    static let first = "history-00000001.ndjson"
    static let startMs: Int64 = 1_767_323_045_678

    /// A launch that began on hold, started, and so on, each a second after the one before.
    static func draft(
        _ seq: UInt64, _ state: LifecycleState, _ previous: LifecycleState?, _ command: String,
        through: UInt64 = 0, source: String? = nil, reason: String? = nil, launch: LaunchID = launch,
        _ extras: HistoryExtras = HistoryExtras()
    ) -> HistoryDraft {
        HistoryDraft(
            wallMs: startMs + Int64(seq) * 1000, launch: launch, seq: TransitionSeq(seq), state: state,
            previous: previous, command: command, through: JournalSeq(through), source: source,
            reason: reason, extra: extras.members)
    }

    static let five = [
        draft(1, .onHold, nil, "initializeWithHoldingOperations"),
        draft(2, .operating, .onHold, "startOperation", source: "consent \"service\"", reason: "T-1\nä"),
        draft(3, .holdRequested, .operating, "holdOperation", through: 7, HistoryExtras(pending: 3)),
        draft(4, .onHold, .holdRequested, "drained", through: 7),
        draft(5, .killed, .onHold, "kill", through: 9, HistoryExtras(discarded: 2)),
    ]

    /// Five records, written one at a time.
    static func fiveRecords(rotateBytes: UInt64 = 64 << 20) throws -> MemoryStorage {
        let storage = MemoryStorage()
        let history = try History.open(storage: storage, rotateBytes: rotateBytes)
        for draft in five { _ = try history.append([draft]) }
        return MemoryStorage(storage.files.mapValues(\.synced))
    }

    /// The records that an opening visits, and the error that it ends with.
    static func read(
        _ storage: MemoryStorage, answered: UInt64? = nil
    ) -> (records: [HistoryRecord], error: JournalError?) {
        var records: [HistoryRecord] = []
        do {
            _ = try History.open(storage: storage, answered: answered) { records.append($0) }
            return (records, nil)
        } catch {
            return (records, error)
        }
    }

    static func lines(_ storage: MemoryStorage, _ name: String = first) -> [String] {
        storage.text(name).split(separator: "\n").map(String.init)
    }

    static func storage(_ lines: [String], _ name: String = first) -> MemoryStorage {
        MemoryStorage([name: Array((lines.joined(separator: "\n") + "\n").utf8)])
    }

    /// SHA-256 by libsodium's streaming functions, which the history does not use.
    static func sha256(_ bytes: some Sequence<UInt8>) -> String {
        var state = crypto_hash_sha256_state()
        crypto_hash_sha256_init(&state)
        for byte in bytes {
            withUnsafeBytes(of: byte) { _ = crypto_hash_sha256_update(&state, $0.baseAddress, 1) }
        }
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256_final(&state, &digest)
        return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The line with one text replaced and its hash made right again.
    static func forged(_ line: String, _ old: String, _ new: String) -> String {
        let body = line.dropLast(75).replacing(old, with: new)
        return body + ",\"hash\":\"" + sha256(body.utf8) + "\"}"
    }
}
