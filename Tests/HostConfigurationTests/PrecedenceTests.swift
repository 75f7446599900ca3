import HoldgateHost
import Testing

@Suite struct PrecedenceTests {
    @Test func nothingGivenIsAllDefaults() throws {
        let parsed = try parse()
        var expected = Configuration(stateDir: "/home/o/.local/state/holdgate")
        #expect(parsed != expected)  // It knows where the directory comes from.
        #expect(parsed.sources == ["stateDir": .environment("HOME")])
        expected = parsed
        expected.control = ["tcp://127.0.0.1:5570"]
        expected.stream = ["tcp://127.0.0.1:5571"]
        expected.ingest = ["tcp://127.0.0.1:5572"]
        expected.plugin = ["tcp://127.0.0.1:5573"]
        expected.startsOperating = false
        expected.newLaunch = false
        expected.restored = false
        expected.engine = .init()
        expected.wireLimits = .init()
        expected.eraseAfterMs = 86_400_000
        expected.segmentBytes = 67_108_864
        expected.maxDeadLetters = 10_000
        expected.ioThreads = 1
        expected.logLevel = .info
        expected.logFormat = .text
        #expect(parsed == expected)
        #expect(parsed.stateDir == "/home/o/.local/state/holdgate")
    }

    @Test func theEnvironmentBeatsTheFile() throws {
        let parsed = try parse([], ["HOLDGATE_HEARTBEAT_MS": "300"], file: "{heartbeatMs: 200, retryMs: 20}")
        #expect(parsed.engine.heartbeatMs == 300)
        #expect(parsed.source(of: "heartbeatMs") == .environment("HOLDGATE_HEARTBEAT_MS"))
        #expect(parsed.engine.retryMs == 20)
        #expect(parsed.source(of: "retryMs") == .file(path: "/etc/h.json", line: 1))
        #expect(parsed.source(of: "control") == .standard)
    }

    @Test func flagsBeatTheEnvironmentAndTheFile() throws {
        let parsed = try parse(
            ["--control", "tcp://*:1", "--state-dir=/flag", "--control=ipc:///run/c"],
            ["HOLDGATE_CONTROL": "tcp://*:2,tcp://*:3", "HOLDGATE_STATE_DIR": "/environment"],
            file: "{control: ['tcp://*:4'], stateDir: '/file'}")
        #expect(parsed.control == ["tcp://*:1", "ipc:///run/c"])
        #expect(parsed.stateDir == "/flag")
        #expect(parsed.sources == ["control": .flag("--control"), "stateDir": .flag("--state-dir")])
    }

    @Test func aValueThatIsBeatenMustBeRightToo() {
        let text = refusal(["--state-dir", "/flag"], file: "{stateDir: 5}")
        #expect(
            text == "/etc/h.json:1: stateDir is 5; allowed: "
                + "the path of a directory, written out: ~ is not expanded here")
    }

    @Test func everyFlagIsTaken() throws {
        let parsed = try parse([
            "--operating", "--new-launch", "--stream", "tcp://*:0", "--ingest", "tcp://[::1]:7",
            "--plugin", "ipc:///p",
        ])
        #expect(parsed.startsOperating && parsed.newLaunch && !parsed.restored)
        #expect(parsed.stream == ["tcp://*:0"])
        #expect(parsed.ingest == ["tcp://[::1]:7"])
        #expect(parsed.plugin == ["ipc:///p"])
        let other = try parse(["--holding", "--restored"])
        #expect(!other.startsOperating && !other.newLaunch && other.restored)
    }

    @Test func helpComesBeforeEveryMistake() throws {
        let none = try Configuration.parse(
            arguments: ["--nonsense", "--help"], environment: ["HOLDGATE_X": ""], readFile: { _ in [] })
        #expect(none == nil)
    }

    @Test func theStateGoesWhereXDGSays() throws {
        let parsed = try parse([], ["XDG_STATE_HOME": "/state"])
        #expect(parsed.stateDir == "/state/holdgate")
        #expect(parsed.sources == ["stateDir": .environment("XDG_STATE_HOME")])
        #expect(try parse([], ["XDG_STATE_HOME": "state"]).stateDir == "/home/o/.local/state/holdgate")
        #expect(try parse([], ["XDG_STATE_HOME": ""]).stateDir == "/home/o/.local/state/holdgate")
    }

    @Test func withoutAHomeTheStateMustBeGiven() throws {
        #expect(
            refusal([], ["HOME": ""])
                == "stateDir has no default, as neither XDG_STATE_HOME nor HOME is an absolute path: "
                + "give --state-dir DIR")
        #expect(try parse(["--state-dir", "s"], ["HOME": ""]).stateDir == "s")
    }

    @Test func whatClientsReadIsIgnored() throws {
        let parsed = try parse(
            [],
            [
                "HOLDGATE_TIMEOUT": "x", "HOLDGATE_KEY_FILE": "y", "HOLDGATE_CONSENT": "w",
                "HOLDGATE_TEST_ROUNDS": "z", "PATH": "",
            ])
        #expect(parsed == (try parse()))
    }

    @Test func anEmptyVariableIsAnEmptyListOfNames() throws {
        let parsed = try parse([], ["HOLDGATE_COLLECTORS": ""], file: "{collectors: ['a', 'b']}")
        #expect(parsed.engine.collectors == [])
        #expect(try parse(file: "{collectors: ['a', 'b']}").engine.collectors == ["a", "b"])
    }

    @Test func addressesWithinTheProcessReachNobody() throws {
        var embedded = Configuration(stateDir: "/s")
        embedded.control = ["inproc://control"]
        let error = #expect(throws: ConfigurationError.self) { try embedded.validate() }
        #expect(
            error?.description == "control is [\"inproc://control\"]; allowed: 1 to 16 addresses, "
                + "each tcp://host:port or ipc://path, none twice")
    }

    @Test func aProgramsOwnValuesAreCheckedToo() {
        var embedded = Configuration(stateDir: "/s")
        embedded.engine.queueLimitBytes = .max
        let error = #expect(throws: ConfigurationError.self) { try embedded.validate() }
        #expect(
            error?.description == "queueLimitBytes is 9223372036854775807; "
                + "allowed: a whole number from 1024 to 1125899906842624")
    }
}
