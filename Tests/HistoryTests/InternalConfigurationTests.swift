import Testing
import Wire

@testable import Journal

@Suite struct InternalConfigurationTests {
    static func object(_ value: Int64) -> JSONValue { .object([.init("volume", .int(value))]) }

    @Test func whatWasReplacedIsLoaded() throws {
        let storage = MemoryStorage()
        let configuration = InternalConfiguration(storage: storage)
        #expect(try configuration.load() == nil)
        try configuration.replace(with: Self.object(1))
        try configuration.replace(with: Self.object(2))
        #expect(try configuration.load() == Self.object(2))
        #expect(
            storage.text("configuration.json")
                == #"{"format":"holdgate-configuration","version":1,"configuration":{"volume":2}}"# + "\n")
        #expect(Array(storage.files.keys) == ["configuration.json"])
        try configuration.erase()
        #expect(try configuration.load() == nil)
        #expect(storage.afterCrash(keepingUnsynced: false).files.isEmpty)
    }

    @Test func aCrashAtAnyCallLeavesTheOldOneOrTheNewOne() throws {
        let before = MemoryStorage()
        try InternalConfiguration(storage: before).replace(with: Self.object(1))
        let old = before.files.mapValues(\.live)
        var seen: Set<JSONValue?> = []
        for crashAt in 1... {
            let storage = MemoryStorage(old)
            storage.crashAt = crashAt
            let done = (try? InternalConfiguration(storage: storage).replace(with: Self.object(2))) != nil
            for keepingUnsynced in [false, true] {
                let survivor = InternalConfiguration(
                    storage: storage.afterCrash(keepingUnsynced: keepingUnsynced))
                let found = try survivor.load()
                #expect(found == Self.object(2) || (found == Self.object(1) && !done), "call \(crashAt)")
                seen.insert(found)
            }
            if done { break }
        }
        #expect(seen == [Self.object(1), Self.object(2)])
    }

    @Test func afterErasingNothingIsLeftAtAnyCrash() throws {
        let storage = MemoryStorage()
        try InternalConfiguration(storage: storage).replace(with: Self.object(1))
        // A replacement that a crash interrupted left this.
        storage.files["configuration.json.new"] = MemoryStorage.Contents([1])
        try InternalConfiguration(storage: storage).erase()
        #expect(storage.files.isEmpty)
        #expect(storage.afterCrash(keepingUnsynced: false).files.isEmpty)
    }

    @Test func aFullDiskKeepsTheOldOne() throws {
        let storage = MemoryStorage()
        let configuration = InternalConfiguration(storage: storage)
        try configuration.replace(with: Self.object(1))
        storage.room = storage.bytes("configuration.json").count + 10
        #expect(throws: JournalError.full) { try configuration.replace(with: Self.object(2)) }
        #expect(Array(storage.files.keys) == ["configuration.json"])
        #expect(try configuration.load() == Self.object(1))
    }

    @Test func whatIsNoConfigurationIsRefused() throws {
        let cases: [(String, JournalError)] = [
            ("", .damaged(file: "configuration.json", what: "")),
            ("[]", .damaged(file: "configuration.json", what: "it is no JSON object")),
            (
                #"{"format":"x","version":1,"configuration":{}}"#,
                .damaged(file: "configuration.json", what: "its format is `x`, not `holdgate-configuration`")
            ),
            (
                #"{"format":"holdgate-configuration","version":2,"configuration":{}}"#,
                .unknownVersion(file: "configuration.json", version: 2)
            ),
            (
                #"{"format":"holdgate-configuration","version":1,"configuration":[]}"#,
                .damaged(file: "configuration.json", what: "`configuration` is no object")
            ),
        ]
        for (text, expected) in cases {
            let storage = MemoryStorage(["configuration.json": Array(text.utf8)])
            do {
                _ = try InternalConfiguration(storage: storage).load()
                Issue.record("\(text) was taken")
            } catch {
                if case .damaged(_, "") = expected, case .damaged = error { continue }
                #expect(error == expected)
            }
        }
    }

    @Test func theBoundIsOnTheObject() {
        func sized(_ count: Int) -> JSONValue {
            .object([.init("a", .string(String(repeating: "x", count: count)))])
        }
        #expect(InternalConfiguration.fits(sized((1 << 20) - 8)))
        #expect(!InternalConfiguration.fits(sized((1 << 20) - 7)))
    }
}
