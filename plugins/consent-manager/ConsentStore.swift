import HoldgateClient
import SQLite

/// What a decision says beside its purpose.
struct DecisionDetails: Hashable, Sendable {
    var method: String
    var noticeVersion: String
    var expiresMs: Int64?
}

/// Why a decision could not be made, or the store not be used.
enum StoreError: Error, Hashable, CustomStringConvertible {
    case refused(WireError)
    /// Rows were changed, taken out or put in; says where it shows first.
    case damaged(String)

    var description: String {
        switch self {
        case .refused(let error): error.message
        case .damaged(let what):
            "the consent records were changed from outside: \(what). Nothing is opened on their word; put back a "
                + "copy that verifies, or begin a new store"
        }
    }
}

/// All decisions about one subject, in SQLite, each chained to the one before by hash.
final class ConsentStore {
    struct Configuration: Hashable, Sendable {
        var subject = "this deployment"
        var controller = "unnamed"
        var purposes = ["events"]
        var jurisdiction = "unspecified"
        var noticeVersion = "1"
    }

    let configuration: Configuration
    private let database: SQLite
    /// By purpose, the newest.
    private(set) var latest: [String: Receipt] = [:]
    private(set) var head: Receipt?

    /// Opens the file, and verifies every row.
    ///
    /// - Throws: `SQLiteError`, `StoreError.damaged`.
    init(_ path: String, _ configuration: Configuration) throws {
        self.configuration = configuration
        database = try SQLite(path)
        try database.run(
            """
            CREATE TABLE IF NOT EXISTS decisions (
              n INTEGER PRIMARY KEY, purpose TEXT NOT NULL, state TEXT NOT NULL, receipt TEXT NOT NULL,
              hash TEXT NOT NULL
            ) STRICT
            """)
        for receipt in try verified() { take(receipt) }
    }

    /// Where the gate's subject stands at that time.
    func standing(at wallMs: Int64) -> Standing {
        let states = configuration.purposes.map { latest[$0]?.consent(at: wallMs) ?? .undecided }
        let strictest = states.max { $0.strictness < $1.strictness } ?? .undecided
        guard let head else { return .none }
        return Standing(
            consent: strictest, decision: head.decision, hash: head.hash, decidedMs: head.timeMs,
            isAhead: head.timeMs > wallMs)
    }

    /// When `standing` changes by itself next.
    func nextChangeMs(after wallMs: Int64) -> Int64? {
        let expiries = configuration.purposes.compactMap { purpose -> Int64? in
            guard let receipt = latest[purpose], receipt.consent(at: wallMs) == receipt.state else {
                return nil
            }
            return receipt.state == .given || receipt.state == .paused ? receipt.expiresMs : nil
        }
        // From then on a decision of the future is one of the past.
        let arrivals = [head?.timeMs].compactMap { $0 }.filter { $0 > wallMs }
        return (expiries + arrivals).min()
    }

    /// Makes a decision about some of the purposes, all or none; on disk when this returns.
    ///
    /// - Throws: `StoreError.refused`, `SQLiteError`.
    func decide(
        _ verb: ConsentVerb, _ purposes: [String], _ details: DecisionDetails, wallMs: Int64
    ) throws -> [Receipt] {
        var previous = head
        var receipts: [Receipt] = []
        for purpose in purposes {
            let receipt = try next(verb, purpose, details, wallMs, after: previous)
            receipts.append(receipt)
            previous = receipt
        }
        try database.transaction {
            for receipt in receipts {
                try database.run(
                    "INSERT INTO decisions VALUES (?, ?, ?, ?, ?)",
                    [
                        .int(Int64(receipt.decision)), .text(receipt.purpose), .text(receipt.state.rawValue),
                        .text(receipt.body), .text(receipt.hash),
                    ])
            }
        }
        for receipt in receipts { take(receipt) }
        return receipts
    }

    /// The receipt of that number.
    func receipt(_ decision: UInt64) throws -> Receipt? {
        guard let number = Int64(exactly: decision) else { return nil }
        let rows = try database.run("SELECT receipt FROM decisions WHERE n = ?", [.int(number)])
        return rows.first?.first?.asText.flatMap(Receipt.init(body:))
    }

    /// Every receipt, oldest first, each checked against its hash and the one before.
    func verified() throws -> [Receipt] {
        var receipts: [Receipt] = []
        var previous = Receipt.noHash
        for row in try database.run("SELECT n, purpose, state, receipt, hash FROM decisions ORDER BY n") {
            let place = "decision \(receipts.count + 1)"
            guard row.count == 5, let n = row[0].asInt, let body = row[3].asText, let hash = row[4].asText
            else { throw StoreError.damaged("\(place) can't be read") }
            guard n == Int64(receipts.count + 1) else { throw StoreError.damaged("\(place) is missing") }
            guard Receipt.hash(of: body) == hash else {
                throw StoreError.damaged("\(place) is not what its hash says")
            }
            guard let receipt = Receipt(body: body), receipt.decision == UInt64(n),
                receipt.purpose == row[1].asText, receipt.state.rawValue == row[2].asText
            else { throw StoreError.damaged("\(place) contradicts itself") }
            guard receipt.previous == previous else {
                throw StoreError.damaged("\(place) does not follow the one before")
            }
            previous = hash
            receipts.append(receipt)
        }
        return receipts
    }

    private func take(_ receipt: Receipt) {
        latest[receipt.purpose] = receipt
        head = receipt
    }

    private func next(
        _ verb: ConsentVerb, _ purpose: String, _ details: DecisionDetails, _ wallMs: Int64,
        after previous: Receipt?
    ) throws(StoreError) -> Receipt {
        let before = latest[purpose]
        let consent = before?.consent(at: wallMs) ?? .undecided
        guard let state = consent.after(verb) else {
            throw .refused(WireError(.conflict, "\(purpose): \(consent.whyNot)"))
        }
        // A consent after a withdrawal is another one. A pause keeps the time that was consented to.
        let isAnother = before == nil || before?.state == .withdrawn
        return Receipt(
            decision: (previous?.decision ?? 0) + 1,
            recordID: isAnother ? Self.newRecordID() : before?.recordID ?? Self.newRecordID(),
            subject: configuration.subject, controller: configuration.controller, purpose: purpose,
            noticeVersion: details.noticeVersion, jurisdiction: configuration.jurisdiction,
            method: details.method, state: state,
            // Never before the decision that it follows, whatever the clock says.
            timeMs: max(wallMs, previous?.timeMs ?? wallMs),
            expiresMs: verb == .give ? details.expiresMs : state == .paused ? before?.expiresMs : nil,
            previous: previous?.hash ?? Receipt.noHash)
    }

    private static func newRecordID() -> String {
        var generator = SystemRandomNumberGenerator()
        return LaunchID(high: generator.next(), low: generator.next()).raw
    }
}
