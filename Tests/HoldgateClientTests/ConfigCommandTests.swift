import HoldgateClient
import HoldgateHost
import Testing

@testable import holdgate

@Suite struct ConfigCommandTests {
    private let environment = [
        "HOME": "/home/me", "HOLDGATE_DRAIN_TIMEOUT_MS": "5000", "HOLDGATE_TIMEOUT": "the clients' own",
        "PATH": "/bin",
    ]

    private func withFile<Result>(_ text: String, _ body: (String) throws -> Result) throws -> Result {
        let path = "/tmp/holdgate-config-\(SystemRandomNumberGenerator.randomText()).json"
        try writeFile(path, text)
        defer { removeFile(path) }
        return try body(path)
    }

    @Test func everyValueHasItsSource() throws {
        try withFile("{\n  // a comment\n  collectors: ['a', 'b'],\n  logFormat: 'json' }") { path in
            let arguments = ["config", "--config", path, "--control", "tcp://127.0.0.1:1", "--changed"]
            let width = max("VALUE".count, "tcp://127.0.0.1:1".count)
            func padded(_ text: String) -> String { Table.padded(text, width) }
            #expect(
                run(arguments + ["--insecure"], environment: environment)
                    == Printed(
                        status: 0,
                        out: """
                            KEY             \(padded("VALUE"))  SOURCE
                            insecure        \(padded("true"))  --insecure
                            control         \(padded("tcp://127.0.0.1:1"))  --control
                            drainTimeoutMs  \(padded("5000"))  HOLDGATE_DRAIN_TIMEOUT_MS
                            collectors      \(padded("a,b"))  \(path):3
                            logFormat       \(padded("json"))  \(path):4

                            """))
            #expect(
                run(arguments + ["--json"], environment: environment).out
                    == #"{"control":{"value":["tcp://127.0.0.1:1"],"source":{"kind":"flag","flag":"--control"}},"#
                    + #""drainTimeoutMs":{"value":5000,"source":{"kind":"environment","#
                    + #""variable":"HOLDGATE_DRAIN_TIMEOUT_MS"}},"#
                    + #""collectors":{"value":["a","b"],"source":{"kind":"file","path":"\#(path)","line":3}},"#
                    + #""logFormat":{"value":"json","source":{"kind":"file","path":"\#(path)","line":4}}}"#
                    + "\n")
        }
    }

    @Test func everyKeyIsThereWithItsDefault() throws {
        let printed = run(["config", "--json"], environment: ["HOME": "/home/me"])
        let members = try #require(try JSONValue.parse(printed.out).asMembers)
        let switches = ["operating", "newLaunch", "restored", "insecure"]
        #expect(members.map(\.name) == switches + Configuration.keys.map(\.name))
        for member in members where member.name != "stateDir" {
            #expect(member.value["source"]?["kind"] == .string("default"), "\(member.name)")
        }
        let text = run(["config"], environment: ["HOME": "/home/me"]).out
        #expect(text.contains("/home/me/.local/state/holdgate  HOME\n"))
        #expect(
            run(["config", "--changed"], environment: ["HOME": "/home/me"])
                == Printed(status: 0, out: "all settings have their defaults\n"))
    }

    @Test(arguments: [
        ["--control", "nonsense"], ["--colour"], ["--state-dir"], ["now"], ["--operating", "--holding"],
        ["--config", "/nowhere/at/all.json"], ["--log-format", "xml"],
    ])
    func whatServeRefusesIsRefusedInTheSameWords(arguments: [String]) throws {
        let thrown = #expect(throws: ConfigurationError.self) {
            try Configuration.parse(arguments: arguments, environment: environment)
        }
        let error = try #require(thrown)
        #expect(
            run(["config"] + arguments, environment: environment)
                == Printed(status: 2, err: "holdgate: \(error)\n"))
        let json = run(["config", "--json"] + arguments, environment: environment)
        #expect(json.status == 2 && json.err.isEmpty)
        #expect(try JSONValue.parse(json.out)["error"]?["message"] == .string("\(error)"))
    }

    @Test func anUnknownVariableIsRefused() {
        let printed = run(["config"], environment: ["HOME": "/home/me", "HOLDGATE_DRAIN_TIMEOUT": "1"])
        #expect(printed.status == 2)
        #expect(printed.err.hasPrefix("holdgate: unknown variable HOLDGATE_DRAIN_TIMEOUT"))
    }
}
