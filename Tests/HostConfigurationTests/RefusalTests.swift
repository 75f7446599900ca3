import HoldgateHost
import Testing

@Suite struct RefusalTests {
    private let addresses = "1 to 16 addresses, each tcp://host:port or ipc://path, none twice"

    @Test func unknownKeysNameThemselvesAndTheNearest() {
        #expect(
            refusal(file: "{\n  heartbeatms: 5\n}")
                == "/etc/h.json:2: unknown key \"heartbeatms\"; did you mean heartbeatMs?")
        #expect(
            refusal(file: "{\"colour\": 5}")
                == "/etc/h.json:1: unknown key \"colour\"; `holdgate serve --help` lists the keys")
        #expect(
            refusal(file: "{'a\\nb\u{7f}': 5}")
                == "/etc/h.json:1: unknown key \"a\\\\nb\\u007f\"; `holdgate serve --help` lists the keys")
    }

    @Test func whatIsAFlagOnlySaysSo() {
        #expect(
            refusal(file: "{operating: true}")
                == "/etc/h.json:1: unknown key \"operating\": --operating is a flag only")
        #expect(
            refusal([], ["HOLDGATE_NEW_LAUNCH": "1"])
                == "unknown variable HOLDGATE_NEW_LAUNCH: --new-launch is a flag only")
    }

    @Test func unknownVariablesAndFlagsLikewise() {
        #expect(
            refusal([], ["HOLDGATE_HEARTBEAT": "1"])
                == "unknown variable HOLDGATE_HEARTBEAT; did you mean HOLDGATE_HEARTBEAT_MS?")
        #expect(
            refusal([], ["HOLDGATE_FAVOURITE_COLOUR": "1"])
                == "unknown variable HOLDGATE_FAVOURITE_COLOUR; `holdgate serve --help` lists the variables")
        #expect(
            refusal(["--statedir", "x"]) == "unknown flag \"--statedir\"; did you mean --state-dir?")
        #expect(refusal(["-x"]) == "unknown flag \"-x\"; `holdgate serve --help` lists the flags")
        #expect(refusal(["here"]) == "unexpected argument \"here\": serve takes flags only")
    }

    @Test func wrongTypesAndRangesSayWhatIsAllowed() {
        let number = "allowed: a whole number from 10 to 60000"
        for (value, shown) in [
            ("'often'", "\"often\""), ("9", "9"), ("60001", "60001"), ("10.5", "10.5"), ("null", "null"),
            ("true", "true"), ("[20]", "[20]"), ("{ms: 20}", "{}"), ("-Infinity", "\"-inf\""),
            ("99999999999999999999", "1e+20"),
        ] {
            #expect(
                refusal(file: "{// how often\nheartbeatMs: \(value)}")
                    == "/etc/h.json:2: heartbeatMs is \(shown); \(number)")
        }
        for value in ["", "often", "9", "1e3", "20 ", "0x20"] {
            #expect(
                refusal([], ["HOLDGATE_HEARTBEAT_MS": value])
                    == "HOLDGATE_HEARTBEAT_MS is \"\(value)\"; \(number)")
        }
        #expect(
            refusal([], ["HOLDGATE_GATED_EVENTS": "drop"])
                == "HOLDGATE_GATED_EVENTS is \"drop\"; allowed: queue, discard, refuse")
        #expect(
            refusal([], ["HOLDGATE_SEGMENT_BYTES": "67108865"])
                == "HOLDGATE_SEGMENT_BYTES is \"67108865\"; "
                + "allowed: a whole number from 1048576 to 1073741824, a multiple of 4096")
        #expect(
            refusal(["--state-dir=~/holdgate"])
                == "--state-dir is \"~/holdgate\"; allowed: "
                + "the path of a directory, written out: ~ is not expanded here")
        #expect(
            refusal(file: "{collectors: ['a', 'a']}") == "/etc/h.json:1: collectors is [\"a\",\"a\"]; "
                + "allowed: up to 1024 names of 1 to 128 bytes without control characters, none twice")
    }

    @Test func addressesMustBeOnesThatCanBeBound() {
        for address in [
            "udp://127.0.0.1:5570", "pgm://x:1", "inproc://x", "127.0.0.1:5570", "tcp://127.0.0.1",
            "tcp://127.0.0.1:", "tcp://:5570", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:-1",
            "tcp://::1:5570",
            "tcp://a:1;b:2", "ipc://", "tcp://a b:1",
            "TCP://a:1",
        ] {
            let whole = "[\"\(address)\"]"
            let shown = whole.count > 100 ? String(whole.prefix(100)) + "…" : whole
            #expect(refusal(["--stream", address]) == "--stream is \(shown); allowed: \(addresses)")
        }
        #expect(refusal(file: "{stream: []}") == "/etc/h.json:1: stream is []; allowed: \(addresses)")
        #expect(refusal([], ["HOLDGATE_STREAM": ""]) == "HOLDGATE_STREAM is \"\"; allowed: \(addresses)")
        #expect(
            refusal([], ["HOLDGATE_STREAM": "tcp://a:1,"])
                == "HOLDGATE_STREAM is \"tcp://a:1,\"; allowed: \(addresses)")
        #expect(
            refusal(file: "{stream: 'tcp://*:1'}")
                == "/etc/h.json:1: stream is \"tcp://*:1\"; allowed: \(addresses)")
    }

    @Test func aSocketHasAPathThatFitsAndThatOthersCanBeKeptFrom() {
        let long = "ipc:///" + String(repeating: "a", count: 107)
        #expect(
            refusal(["--stream", long])
                == "--stream has \(long): the path has 108 bytes; allowed: at most 107")
        #expect(
            refusal(file: "{control: ['ipc://@holdgate']}")
                == "/etc/h.json:1: control has ipc://@holdgate: a socket without a path is open to every user of this "
                + "machine; give a path in a folder of mode 0700, as ipc:///run/holdgate/control")
        #expect(
            refusal([], ["HOLDGATE_INGEST": "ipc://*"])
                == "HOLDGATE_INGEST has ipc://*: nobody could know which path that is; give one in a folder of mode "
                + "0700, as ipc:///run/holdgate/control")
    }

    @Test func anAddressHasOneEndpoint() throws {
        #expect(
            refusal(["--plugin", "tcp://127.0.0.1:5570"])
                == "--plugin has tcp://127.0.0.1:5570, and so has control (default)")
        #expect(try parse(["--plugin", "tcp://a:0", "--stream", "tcp://a:0"]).plugin == ["tcp://a:0"])
    }

    @Test func flagsThatExcludeEachOtherAreRefused() {
        #expect(refusal(["--operating", "--holding"]) == "--operating and --holding exclude each other")
        #expect(
            refusal(["--restored", "--operating"])
                == "--operating and --restored exclude each other: a restored launch begins on hold")
    }

    @Test func flagsAreGivenOnceAndWhole() {
        #expect(refusal(["--restored", "--restored"]) == "--restored was given twice")
        #expect(refusal(["--state-dir", "a", "--state-dir", "b"]) == "--state-dir was given twice")
        #expect(refusal(["--config", "a", "--config", "b"]) == "--config was given twice")
        #expect(
            refusal(["--new-launch=yes"]) == "--new-launch takes no value, and was given \"yes\"")
        #expect(
            refusal(["--config"]) == "--config needs a value; allowed: the path of a file")
        #expect(
            refusal(["--control", "--restored"]) == "--control needs a value; allowed: \(addresses)")
    }

    @Test func aFileThatCannotBeReadIsNamed() {
        #expect(refusal(["--config", "/none"]) == "--config: can't read /none: no such file")
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse(arguments: ["--config", "/"], environment: ["HOME": "/h"])
        }
        #expect(error?.description == "--config: can't read /: Is a directory")
    }

    @Test func valuesThatDoNotGoTogetherNameBoth() {
        #expect(
            refusal([], ["HOLDGATE_MAX_MESSAGE_BYTES": "1048576"], file: "{\nmaxEventBytes: 64}")
                == "HOLDGATE_MAX_MESSAGE_BYTES is 1048576; allowed: at least 4194304, maxFrameBytes (default)"
        )
        #expect(
            refusal([], ["HOLDGATE_MAX_FRAME_BYTES": "1024"], file: "{\nmaxEventBytes: 2000}")
                == "HOLDGATE_MAX_FRAME_BYTES is 1024; "
                + "allowed: at least 2000, maxEventBytes (/etc/h.json:2)")
        #expect(
            refusal(file: "{deliverBytes: 9, maxWindowBytes: 8}")
                == "/etc/h.json:1: maxWindowBytes is 8; allowed: at least 9, deliverBytes (/etc/h.json:1)")
        #expect(
            refusal(file: "{segmentBytes: 1048576}")
                == "/etc/h.json:1: segmentBytes is 1048576; "
                + "allowed: at least 67108864, 4 times maxMessageBytes (default)")
        #expect(
            refusal([], ["HOLDGATE_REMEMBERED_PRODUCERS": "16385"])
                == "segmentBytes is 67108864; "
                + "allowed: at least 67112960, 4096 times rememberedProducers (HOLDGATE_REMEMBERED_PRODUCERS)"
        )
    }

    @Test func errorsHaveACodeAndASource() {
        let error = #expect(throws: ConfigurationError.self) { try parse(file: "{\n\nx: 1}") }
        #expect(error?.code == .unknown)
        #expect(error?.source == .file(path: "/etc/h.json", line: 3))
    }
}
