import Engine
import HoldgateHost
import Testing
import Wire

@Suite struct KeyTableTests {
    @Test func namesAreThereOnce() {
        let names = Configuration.keys.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func theEnvironmentsNamesAreTheKeysInCapitals() {
        #expect(Configuration.key("drainTimeoutMs")?.variable == "HOLDGATE_DRAIN_TIMEOUT_MS")
        #expect(Configuration.key("control")?.variable == "HOLDGATE_CONTROL")
        #expect(Configuration.key("maxEventsPerMessage")?.variable == "HOLDGATE_MAX_EVENTS_PER_MESSAGE")
    }

    @Test func everyFieldOfTheEngineAndTheWireHasAKey() {
        let fields =
            Mirror(reflecting: EngineConfiguration()).children.compactMap(\.label)
            + Mirror(reflecting: WireLimits()).children.compactMap(\.label)
        let names = Set(Configuration.keys.map(\.name))
        #expect(fields.count > 25)
        // What the keys' files and a flag make of it.
        #expect(fields.filter { !names.contains($0) } == ["access"])
    }

    @Test func everyFieldOfTheConfigurationHasAKey() {
        let fields = Mirror(reflecting: Configuration(stateDir: "")).children.compactMap(\.label)
        // Flags that are no keys, and what holds keys of its own.
        let others: Set = [
            "startsOperating", "newLaunch", "restored", "isInsecure", "engine", "wireLimits", "sources",
        ]
        let names = Set(Configuration.keys.map(\.name))
        #expect(fields.filter { !names.contains($0) && !others.contains($0) } == [])
    }

    @Test(arguments: Configuration.keys.map(\.name))
    func everyKeyIsSetFromTheFile(_ name: String) throws {
        let key = try #require(Configuration.key(name))
        let parsed = try parse(file: "{\n\"\(name)\": \(key.sample.text)}")
        #expect(parsed.source(of: name) == .file(path: "/etc/h.json", line: 2))
        #expect(key.value(in: parsed) == key.sample)
        #expect(differences(parsed, try parse()) == [name])
        #expect(fieldsThatDiffer(parsed, try parse()) == [name])
    }

    @Test(arguments: Configuration.keys.map(\.name))
    func everyKeyIsSetFromTheEnvironment(_ name: String) throws {
        let key = try #require(Configuration.key(name))
        let parsed = try parse([], [key.variable: key.text(key.sample)])
        #expect(parsed.source(of: name) == .environment(key.variable))
        #expect(key.value(in: parsed) == key.sample)
        #expect(differences(parsed, try parse()) == [name])
    }

    @Test func oneKeySetsBothBoundsOfTheInternalConfiguration() throws {
        let parsed = try parse(file: "{maxConfigurationBytes: 4096}")
        #expect(parsed.engine.maxConfigurationBytes == 4096)
        #expect(parsed.wireLimits.maxConfigurationBytes == 4096)
    }

    /// The keys whose values differ.
    private func differences(_ a: Configuration, _ b: Configuration) -> [String] {
        Configuration.keys.filter { $0.value(in: a) != $0.value(in: b) }.map(\.name)
    }

    /// The stored fields that differ, over both values within: a row of the table writes where its name says.
    private func fieldsThatDiffer(_ a: Configuration, _ b: Configuration) -> [String] {
        func fields(_ configuration: Configuration) -> [(String, String)] {
            let parts: [Any] = [configuration, configuration.engine, configuration.wireLimits]
            return parts.flatMap { Mirror(reflecting: $0).children }
                .filter { !["engine", "wireLimits", "sources"].contains($0.label) }
                .map { ($0.label ?? "", "\($0.value)") }
        }
        let different = zip(fields(a), fields(b)).filter { $0.0 != $0.1 }.map { $0.0.0 }
        return Array(Set(different)).sorted()
    }
}
