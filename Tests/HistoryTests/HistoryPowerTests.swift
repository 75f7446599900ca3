import Ledger
import Lifecycle
import Simulator
import Testing
import Wire

@testable import Journal

/// The history on a disk that loses any unsynced pages and directory changes.
@Suite struct HistoryPowerTests {
    typealias World = HistoryWorld

    /// Long enough to lie on several pages.
    static func draft(_ n: Int) -> HistoryDraft {
        n == 0
            ? World.five[0]
            : World.draft(
                1, .onHold, .onHold, "holdOperation", reason: String(repeating: "\(n) ", count: n * 37 % 400))
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func whatWasAnsweredSurvivesEveryLossOfPower(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let storage = FaultyStorage()
        // The journal's own note, made after each append and before its answer.
        var answered: HistoryHead?
        var written = 0
        for _ in 0..<12 {
            storage.faults = [Int.random(in: 0..<25, using: &random): .powerLoss]
            do {
                let history = try History.open(
                    storage: storage, rotateBytes: 3000, answered: answered?.n ?? 0)
                try history.verify(journalHead: answered)
                written = Int(history.head?.n ?? 0)
                while true {
                    let count = Int.random(in: 1...3, using: &random)
                    answered = try history.append((written..<written + count).map(Self.draft))
                    written += count
                }
            } catch {
                switch error {
                case .syncFailed, .storage: storage.crash(using: &random)
                case .full, .damaged, .unknownVersion: throw error
                }
            }
        }
        var records: [HistoryRecord] = []
        let history = try History.open(storage: storage, answered: answered?.n ?? 0) { records.append($0) }
        try history.verify(journalHead: answered)
        #expect(records.map(\.draft) == (0..<records.count).map(Self.draft))
        #expect(records.count >= Int(answered?.n ?? 0))
    }
}
