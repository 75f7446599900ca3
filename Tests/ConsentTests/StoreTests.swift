import Glibc
import HoldgateClient
import SQLite
import Testing

@testable import consent_manager

/// A database file that is gone when the test is over.
private final class TemporaryFile {
    let path: String

    init() {
        var template = Array("/tmp/consent-XXXXXX".utf8CString)
        close(mkstemp(&template))
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit { for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) } }

    func store(_ purposes: [String] = ["ads"]) throws -> ConsentStore {
        var configuration = ConsentStore.Configuration()
        configuration.subject = "device-1"
        configuration.purposes = purposes
        return try ConsentStore(path, configuration)
    }

    func tamper(_ sql: String) throws {
        let database = try SQLite(path)
        try database.run(sql)
    }

    /// What opening it is refused for.
    func damage() throws -> String? {
        do {
            _ = try store()
            return nil
        } catch StoreError.damaged(let what) {
            return what
        }
    }
}

private let details = DecisionDetails(method: "form", noticeVersion: "2", expiresMs: nil)

@Suite struct StoreTests {
    @Test func decisionsAreThereAgainAfterwards() throws {
        let file = TemporaryFile()
        var store: ConsentStore? = try file.store()
        #expect(store?.standing(at: 0) == Standing.none)
        let given = try #require(try store?.decide(.give, ["ads"], details, wallMs: 1000).first)
        let paused = try #require(try store?.decide(.pause, ["ads"], details, wallMs: 2000).first)
        #expect(given.decision == 1 && paused.decision == 2)
        #expect(given.previous == Receipt.noHash && paused.previous == given.hash)
        #expect(given.recordID == paused.recordID)
        store = nil
        let again = try file.store()
        #expect(
            again.standing(at: 5000)
                == Standing(consent: .paused, decision: 2, hash: paused.hash, decidedMs: 2000))
        #expect(again.standing(at: 1999).isAhead && !again.standing(at: 2000).isAhead)
        #expect(again.nextChangeMs(after: 1999) == 2000 && again.nextChangeMs(after: 2000) == nil)
        #expect(try again.receipt(1) == given)
        #expect(try again.receipt(3) == nil)
        #expect(try again.verified() == [given, paused])
    }

    @Test func aReceiptSaysAllAndCarriesItsHash() throws {
        let file = TemporaryFile()
        let store = try file.store()
        let limited = DecisionDetails(method: "form", noticeVersion: "2", expiresMs: 86_400_000)
        let receipt = try #require(try store.decide(.give, ["ads"], limited, wallMs: 0).first)
        let value = try JSONValue.parse(receipt.text)
        #expect(
            value.asMembers?.map(\.name) == [
                "schemaVersion", "decision", "recordId", "subject", "controller", "purpose", "noticeVersion",
                "jurisdiction", "method", "state", "time", "expires", "prev", "hash",
            ])
        #expect(value["subject"] == .string("device-1"))
        #expect(value["expires"] == .string("1970-01-02T00:00:00.000Z"))
        #expect(value["hash"]?.asString == Receipt.hash(of: receipt.body))
        #expect(Receipt(body: receipt.body) == receipt)
    }

    @Test func consentExpiresByItself() throws {
        let file = TemporaryFile()
        let store = try file.store()
        let limited = DecisionDetails(method: "form", noticeVersion: "2", expiresMs: 500)
        _ = try store.decide(.give, ["ads"], limited, wallMs: 100)
        #expect(store.standing(at: 499).consent == .given)
        #expect(store.nextChangeMs(after: 499) == 500)
        #expect(store.standing(at: 500).consent == .expired)
        #expect(store.nextChangeMs(after: 500) == nil)
        // A pause does not lengthen it.
        _ = try store.decide(.give, ["ads"], limited, wallMs: 200)
        _ = try store.decide(.pause, ["ads"], details, wallMs: 300)
        #expect(store.standing(at: 499).consent == .paused)
        #expect(store.standing(at: 500).consent == .expired)
    }

    @Test func ofSeveralPurposesTheStrictestRules() throws {
        let file = TemporaryFile()
        let store = try file.store(["ads", "statistics"])
        _ = try store.decide(.give, ["ads"], details, wallMs: 1)
        #expect(store.standing(at: 2).consent == .undecided)
        _ = try store.decide(.give, ["statistics"], details, wallMs: 2)
        #expect(store.standing(at: 2).consent == .given)
        _ = try store.decide(.withdraw, ["ads"], details, wallMs: 3)
        #expect(store.standing(at: 3).consent == .withdrawn)
        #expect(store.standing(at: 3).decision == 3)
    }

    @Test func decisionsOnSeveralPurposesAreMadeTogetherOrNotAtAll() throws {
        let file = TemporaryFile()
        let store = try file.store(["ads", "statistics"])
        _ = try store.decide(.give, ["ads"], details, wallMs: 1)
        #expect(throws: StoreError.self) {
            try store.decide(.pause, ["ads", "statistics"], details, wallMs: 2)
        }
        #expect(try store.verified().count == 1)
        #expect(store.standing(at: 3).decision == 1)
    }

    @Test func consentAfterAWithdrawalIsANewRecord() throws {
        let file = TemporaryFile()
        let store = try file.store()
        let one = try store.decide(.give, ["ads"], details, wallMs: 1)[0]
        let two = try store.decide(.withdraw, ["ads"], details, wallMs: 2)[0]
        let three = try store.decide(.give, ["ads"], details, wallMs: 3)[0]
        #expect(one.recordID == two.recordID)
        #expect(three.recordID != two.recordID)
    }

    @Test func aClockSetBackOrdersNothingAnew() throws {
        let file = TemporaryFile()
        let store = try file.store()
        _ = try store.decide(.give, ["ads"], details, wallMs: 500)
        #expect(try store.decide(.pause, ["ads"], details, wallMs: 100)[0].timeMs == 500)
    }

    @Test(arguments: [
        (
            "UPDATE decisions SET receipt = replace(receipt, 'given', 'denied') WHERE n = 1",
            "decision 1 is not what its hash says"
        ),
        ("UPDATE decisions SET state = 'denied' WHERE n = 2", "decision 2 contradicts itself"),
        ("UPDATE decisions SET hash = upper(hash) WHERE n = 2", "decision 2 is not what its hash says"),
        ("DELETE FROM decisions WHERE n = 2", "decision 2 is missing"),
        ("DELETE FROM decisions WHERE n = 1", "decision 1 is missing"),
        ("UPDATE decisions SET n = n + 10 WHERE n = 3", "decision 3 is missing"),
    ])
    func changesFromOutsideShow(_ sql: String, _ what: String) throws {
        let file = TemporaryFile()
        var store: ConsentStore? = try file.store()
        for (index, verb) in [ConsentVerb.give, .pause, .give].enumerated() {
            _ = try store?.decide(verb, ["ads"], details, wallMs: Int64(index))
        }
        store = nil
        #expect(try file.damage() == nil)
        try file.tamper(sql)
        #expect(try file.damage() == what)
    }

    @Test func aRowThatWasWrittenAnewWithItsHashDoesNotFit() throws {
        let file = TemporaryFile()
        var store: ConsentStore? = try file.store()
        let old = try #require(try store?.decide(.deny, ["ads"], details, wallMs: 1).first)
        _ = try store?.decide(.give, ["ads"], details, wallMs: 2)
        store = nil
        let forged = old.body.replacing("\"denied\"", with: "\"given\"")
        try file.tamper(
            "UPDATE decisions SET state = 'given', receipt = '\(forged)', hash = '\(Receipt.hash(of: forged))' "
                + "WHERE n = 1")
        #expect(try file.damage() == "decision 2 does not follow the one before")
    }

    @Test func aSecondProcessIsKeptOut() throws {
        let file = TemporaryFile()
        let store = try file.store()
        _ = try store.decide(.give, ["ads"], details, wallMs: 1)
        #expect(throws: SQLiteError.self) { try file.store() }
    }
}

@Suite struct RequestTests {
    private func parse(_ text: String) throws(WireError) -> ConsentRequest {
        try ConsentRequest.parse(Array(text.utf8))
    }

    @Test func requestsAreReadWhole() throws {
        let request = try parse(
            #"{"v":1,"id":7,"command":"give","purpose":"ads","method":"form","validForMs":5,"waitMs":9}"#)
        let decision = ConsentRequest.Decision(
            purpose: "ads", method: "form", noticeVersion: nil, validForMs: 5, waitMs: 9)
        #expect(request == ConsentRequest(command: .decide(.give, decision), id: "7"))
        #expect(try parse(#"{"command":"show"}"#) == ConsentRequest(command: .show, id: nil))
        #expect(
            try parse(#"{"command":"receipt","decision":3}"#)
                == ConsentRequest(command: .receipt(decision: 3), id: nil))
    }

    @Test(arguments: [
        ("nonsense", ErrorCode.invalidMessage), ("[]", .invalidMessage), ("{}", .invalidMessage),
        (#"{"command":"grant"}"#, .unknownCommand), (#"{"command":"give","v":2}"#, .unsupportedVersion),
        (#"{"command":"give","validFor":5}"#, .invalidArgument),
        (#"{"command":"give","validForMs":0}"#, .invalidArgument),
        (#"{"command":"deny","validForMs":5}"#, .invalidArgument),
        (#"{"command":"give","purpose":""}"#, .invalidArgument),
        (#"{"command":"give","purpose":4}"#, .invalidArgument),
        (#"{"command":"give","waitMs":-1}"#, .invalidArgument),
        (#"{"command":"show","purpose":"ads"}"#, .invalidArgument),
        (#"{"command":"receipt","decision":"1"}"#, .invalidArgument),
    ])
    func whatIsWrongIsSaid(_ text: String, _ code: ErrorCode) {
        let error = #expect(throws: WireError.self) { try parse(text) }
        #expect(error?.code == code)
    }
}

@Suite struct OptionsTests {
    private func options(_ arguments: [String], _ environment: [String: String] = [:]) -> Options? {
        guard case .run(let options) = Options.parse(arguments, environment: { environment[$0] }) else {
            return nil
        }
        return options
    }

    @Test func withoutAStoreNobodyDecides() {
        #expect(options(["--when-configured"])?.isIdle == true)
        #expect(options(["--when-configured"], ["CONSENT_STORE": "/s"])?.isIdle == false)
        #expect(options(["--when-configured", "--store", "s"])?.isIdle == false)
        #expect(options([])?.isIdle == false)
        #expect(options([], ["CONSENT_STORE": "/s"])?.file == "/s")
    }

    @Test func flagsAreTaken() {
        let given = options([
            "--purposes", "a,b", "--subject", "s", "--controller", "c", "--notice-version", "3",
            "--jurisdiction",
            "EU", "--lease", "5", "--name", "n", "--bind", "ipc:///x",
        ])
        #expect(given?.store.purposes == ["a", "b"])
        #expect(given?.store.subject == "s" && given?.store.controller == "c")
        #expect(given?.store.noticeVersion == "3" && given?.store.jurisdiction == "EU")
        #expect(given?.link.lease == .seconds(5) && given?.link.name == "n" && given?.bind == "ipc:///x")
    }

    @Test(arguments: [
        ["--purpose", "a"], ["--store"], ["--lease", "0"], ["--lease", "30s"], ["--purposes", "a,a"],
        ["--purposes", "a,"],
    ])
    func wrongOnesAreRefused(_ arguments: [String]) {
        #expect(options(arguments) == nil)
    }
}
