import HoldgateClient
import Platform
import Testing

@testable import holdgate

/// What a command printed, and its exit status.
struct Printed: Equatable {
    var status: Int32
    var out = ""
    var err = ""
}

/// Runs the executable's function with a console of its own.
func run(
    _ arguments: [String], isTerminal: Bool = false, environment: [String: String] = [:],
    answer: String? = nil
) -> Printed {
    let printed = Locked(Printed(status: -1))
    let console = Console(
        out: { text in printed.withLock { $0.out += text } },
        err: { text in printed.withLock { $0.err += text } },
        isOutTerminal: isTerminal, isErrTerminal: isTerminal, isAnybodyThere: isTerminal || answer != nil,
        ask: { _ in answer },
        environment: { environment[$0] }, variables: { environment }, wallMs: { 1_767_323_045_678 },
        identity: "me@here")
    let status = Tool.run(arguments, console)
    printed.withLock { $0.status = status }
    return printed.withLock { $0 }
}

/// What a command adds when nobody answers.
private func hint(_ flag: String) -> String {
    "`holdgate serve` starts a host; \(flag) names the address of one that is elsewhere.\n"
}

/// A host that answers each command by name.
private func host(_ answers: [String: (HostStatus, [JSONValue.Member], WireError?)]) throws -> FakeRouter {
    try FakeRouter { frames in
        guard let name = value(frames[0])["command"]?.asString, let answer = answers[name] else { return [] }
        return [reply(to: frames[0], answer.0, answer.1, error: answer.2)]
    }
}

@Suite struct CommandLineTests {
    private let stateMembers: [JSONValue.Member] = [
        .init("since", .string("2026-01-01T00:00:00.000Z")), .init("pending", .uint(1)),
        .init("gated", .uint(20)),
        .init("queuedBytes", .uint(4096)), .init("initializedWith", .string("initialize")),
        .init("lease", .object([.init("leaseMs", .int(60_000)), .init("remainingMs", .int(41_500))])),
    ]

    @Test func stateForPeople() throws {
        let host = try host(["state": (status(.operating, 3), stateMembers, nil)])
        let text = """
            state    operating
            since    2026-01-01T00:00:00.000Z
            launch   00000000000000000000000000000abc, transition 3
            pending  1 event
            gated    20 events
            queued   4.0 KiB
            lease    1m, 41s left

            """
        #expect(run(["state", "--control", host.endpoint]) == Printed(status: 0, out: text))
        let coloured = run(["state"], isTerminal: true, environment: ["HOLDGATE_CONTROL": host.endpoint])
        #expect(coloured.out.hasPrefix("state    \u{1b}[32moperating\u{1b}[0m\n"))
        let plain = run(
            ["state"], isTerminal: true, environment: ["HOLDGATE_CONTROL": host.endpoint, "NO_COLOR": "1"])
        #expect(plain.out == text)
    }

    @Test func stateForProgramsIsTheReplyAsItCame() throws {
        let host = try host(["state": (status(.operating, 3), stateMembers, nil)])
        let printed = run(["state", "--json", "--control=\(host.endpoint)"])
        #expect(printed.status == 0 && printed.err.isEmpty)
        #expect(printed.out.hasSuffix("\n") && printed.out.filter { $0 == "\n" }.count == 1)
        #expect(try JSONValue.parse(printed.out)["queuedBytes"]?.asUInt64 == 4096)
    }

    @Test func lifecycleCommandsSayWhatChanged() throws {
        let done: [JSONValue.Member] = [
            .init("previous", .string("operating")), .init("changed", .bool(true)),
            .init("pending", .uint(0)),
            .init("discarded", .uint(1200)),
            .init("inFlight", .object([.init("fc", .array([.array([.uint(801), .uint(40)])]))])),
        ]
        let host = try host([
            "kill": (status(.killed, 4), done, nil), "state": (status(.operating, 3), stateMembers, nil),
        ])
        let text = """
            killed, was operating (transition 4)
            1200 events discarded
            40 events had been sent to fc and not acknowledged

            """
        #expect(run(["kill", "--yes", "--control", host.endpoint]) == Printed(status: 0, out: text))
        #expect(run(["kill", "--control", host.endpoint], answer: "kill") == Printed(status: 0, out: text))
        #expect(
            run(["kill", "--control", host.endpoint], answer: "y")
                == Printed(status: 1, err: "Nothing was done.\n"))
        let unasked = run(["kill", "--control", host.endpoint])
        #expect(unasked.status == 2)
        #expect(unasked.err.contains("--yes"))
        // The terminal's end of input is an answer too.
        #expect(
            run(["kill", "--control", host.endpoint], isTerminal: true)
                == Printed(status: 1, err: "Nothing was done.\n"))
    }

    @Test func refusalsAndSilenceHaveTheirExitStatus() throws {
        let refusal = WireError(.conflict, "the state is onHold, not operating")
        let host = try host(["holdOperation": (status(.onHold, 4), [], refusal)])
        let flags = ["--control", host.endpoint]
        #expect(
            run(["hold"] + flags)
                == Printed(status: 1, err: "holdgate hold: the state is onHold, not operating\n"))
        let json = run(["hold", "--json"] + flags)
        #expect(json.status == 1)
        #expect(try JSONValue.parse(json.out)["error"]?["code"] == .string("conflict"))
        let silent = run(["ping", "--timeout", "50ms", "--control", "tcp://127.0.0.1:1"])
        #expect(silent.status == 3)
        #expect(
            silent.err
                == "holdgate ping: no host answered at tcp://127.0.0.1:1 within 50 ms; "
                + "if one is there, it may ask for a key\n"
                + hint("--control"))
        let unsent = run(["emit", "a", "--timeout", "50ms", "--ingest", "tcp://127.0.0.1:1"])
        #expect(
            unsent
                == Printed(
                    status: 3,
                    err: "holdgate emit: no host took anything for 50 ms at tcp://127.0.0.1:1; "
                        + "if one is there, it may ask for a key\n" + hint("--ingest")))
        for command in [
            ["emit", "a"], ["watch"], ["history", "--verify"], ["kill", "--yes"], ["hold", "--wait", "0s"],
        ] {
            let absent = ["--control", "tcp://127.0.0.1:1", "--timeout", "50ms"]
            let flags =
                command[0] == "emit" ? ["--ingest", "tcp://127.0.0.1:1", "--timeout", "50ms"] : absent
            #expect(run(command + flags).status == 3, "\(command)")
        }
    }

    @Test func wrongUsageNamesItself() {
        #expect(
            run(["stat"]).err
                == "holdgate: there is no command stat; did you mean state? `holdgate --help` lists them\n")
        #expect(
            run(["frobnicate"]).err
                == "holdgate: there is no command frobnicate. `holdgate --help` lists them\n")
        #expect(
            run(["start", "--leese", "5s"]).err
                == "holdgate: start has no flag --leese (did you mean --lease?). `holdgate start --help` says more\n"
        )
        let bare = run(["start", "--lease", "60"])
        #expect(bare.status == 2)
        #expect(bare.err.contains("--lease 60: a duration is a whole number and a unit"))
        #expect(run(["state", "now"]).err.contains("state does not take \"now\""))
        #expect(run(["forget"]).err.contains("forget needs a NAME."))
        #expect(run(["requeue"]).err.contains("requeue needs a SEQ."))
        #expect(run(["ping", "--timeout", "0s"]).err.contains("--timeout 0s: it must be longer"))
        #expect(run(["start", "--lease", "0ms"]).status == 2)
        #expect(run(["hold", "--gated", "drop"]).status == 2)
        #expect(run(["requeue", "x"]).status == 2)
        #expect(run([]).status == 2)
        #expect(
            run(["ping", "--control", "nonsense"])
                == Printed(
                    status: 2,
                    err:
                        "holdgate ping: \"nonsense\" is no address that can be used: write tcp://host:port or "
                        + "ipc:///path\n"))
    }

    @Test func emitMakesACloudEvent() throws {
        let ingest = FakeIngest()
        let host = try FakeRouter { ingest.answer($0) }
        let printed = run(
            [
                "emit", "demo.clicked", #"{"button": 1}"#, "--id", "7", "--subject", "s", "--ingest",
                host.endpoint,
            ])
        #expect(printed == Printed(status: 0, out: "1 event accepted\n"))
        let event =
            #"{"specversion":"1.0","id":"7","source":"/me@here","type":"demo.clicked","subject":"s","#
            + #""time":"2026-01-02T03:04:05.678Z","data":{"button":1}}"#
        #expect(ingest.lines == [event])
        #expect(run(["emit", "demo.clicked", "{", "--ingest", host.endpoint]).status == 2)
    }

    @Test func aStartOfAKilledLaunchFails() throws {
        let unchanged: [JSONValue.Member] = [
            .init("previous", .string("killed")), .init("changed", .bool(false)), .init("pending", .uint(0)),
        ]
        let host = try host([
            "startOperation": (status(.killed, 4), unchanged, nil),
            "holdOperation": (status(.killed, 4), unchanged, nil),
        ])
        let text = "killed: nothing was changed. Only a new launch starts over (holdgate end-launch)\n"
        #expect(run(["start", "--control", host.endpoint]) == Printed(status: 1, out: text))
        #expect(run(["hold", "--control", host.endpoint]) == Printed(status: 0, out: text))
        #expect(run(["start", "--json", "--control", host.endpoint]).status == 1)
    }

    @Test func emitNamesWhyItsEventIsRefused() throws {
        let ingest = FakeIngest()
        ingest.refuse(with: [WireError(.invalidMessage, "event 0: \"id\" is empty", index: 0)])
        let host = try FakeRouter { ingest.answer($0) }
        #expect(
            run(["emit", "a", "--id", "", "--ingest", host.endpoint])
                == Printed(status: 1, err: "holdgate emit: \"id\" is empty\n"))
    }

    @Test func emitSendsAFileAndNamesWhatIsRefused() throws {
        let ingest = FakeIngest(badLine: #"{"n":2}"#)
        let host = try FakeRouter { ingest.answer($0) }
        let path = "/tmp/holdgate-emit-\(SystemRandomNumberGenerator.randomText()).ndjson"
        try writeFile(path, (0..<5).map { #"{"n":\#($0)}"# }.joined(separator: "\n"))
        defer { removeFile(path) }
        let printed = run(["emit", "--file", path, "--ingest", host.endpoint])
        #expect(
            printed
                == Printed(
                    status: 1, out: "4 events accepted, 1 refused\n",
                    err: "holdgate emit: event 2 refused: it is bad\n"))
        #expect(ingest.lines == [0, 1, 3, 4].map { #"{"n":\#($0)}"# })
        let json = run(["emit", "--file", path, "--json", "--ingest", host.endpoint])
        #expect(
            json.out
                == #"{"ok":false,"accepted":4,"gated":0,"discarded":0,"duplicate":0,"refused":1,"unkept":0,"#
                + #""bytes":40,"failures":[{"index":2,"count":1,"error":{"code":"invalidMessage","#
                + #""message":"it is bad","retryable":false}}]}"# + "\n")
        #expect(run(["emit", "--file", path + ".none", "--ingest", host.endpoint]).status == 1)
    }

    @Test func historyIsListedAndVerified() throws {
        let lines = makeHistory([(1, "onHold", "initialize"), (2, "operating", "startOperation")])
        let changed = [lines[0], lines[1].replacingFirst("operating", with: "killed")]
        for (records, status, words) in [
            (lines, Int32(0), "2 records, all linked"), (changed, 1, "record 2 was changed"),
        ] {
            let host = try FakeRouter { frames in
                let request = value(frames[0])
                let some = page(of: records, request["after"]?.asUInt64 ?? 0, request["limit"]?.asInt ?? 0)
                let list = JSONValue.array(some.map { .raw($0) })
                return [
                    reply(to: frames[0], HoldgateClientTests.status(.operating, 2), [.init("records", list)])
                ]
            }
            let printed = run(["history", "--verify", "--control", host.endpoint])
            #expect(printed.status == status)
            #expect((printed.out + printed.err).contains(words))
            if status == 0 {
                let text = """
                    N  TIME                      SEQ  STATE      COMMAND         SOURCE  REASON
                    1  2026-01-01T00:00:00.000Z  1    onHold     initialize      s
                    2  2026-01-01T00:00:00.000Z  2    operating  startOperation  s

                    """
                #expect(run(["history", "--control", host.endpoint]) == Printed(status: 0, out: text))
                let json = run(["history", "--json", "--after", "1", "--control", host.endpoint])
                #expect(json.out == #"{"ok":true,"records":[\#(lines[1])]}"# + "\n")
            }
        }
    }

    @Test func durationsNeedAUnit() throws {
        #expect(try Durations.parse("500ms", for: "x") == .milliseconds(500))
        #expect(try Durations.parse("30s", for: "x") == .seconds(30))
        #expect(try Durations.parse("5m", for: "x") == .seconds(300))
        #expect(try Durations.parse("1h", for: "x") == .seconds(3600))
        for text in ["", "5", "s", "-5s", "5 s", "1.5s", "99999999999999999h", "5y"] {
            #expect(throws: UsageError.self) { try Durations.parse(text, for: "x") }
        }
        #expect(
            [0, 999, 1500, 2000, 90_000, 120_000, 3_600_000].map { Durations.text(ms: $0) }
                == ["0ms", "999ms", "1500ms", "2s", "90s", "2m", "1h"])
    }
}
