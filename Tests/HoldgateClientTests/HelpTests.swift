import HoldgateClient
import HoldgateHost
import Testing

@testable import holdgate

@Suite struct HelpTests {
    @Test(arguments: CommandTable.all.map(\.name)) func everyCommandHasHelpWithAnExample(name: String) {
        let printed = run([name, "--help"])
        #expect(printed.status == 0 && printed.err.isEmpty)
        #expect(printed.out.hasPrefix("holdgate \(name): "))
        #expect(printed.out.contains("For example:\n  "))
        #expect(run(["help", name]) == printed)
        #expect(run([name, "-h"]) == printed)
        #expect(run(["--help"]).out.contains("  \(name) "))
    }

    /// Examples are one line each, however long: they are there to be copied.
    @Test func helpFitsATerminal() {
        let texts = [Help.overview] + CommandTable.all.map { Help.of($0) }
        for line in texts.flatMap({ $0.split(separator: "\n") }) where !line.hasPrefix("  holdgate ") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test func helpShowsFlagsAsTheyAreParsed() {
        let text = """
            holdgate ping: whether a host answers

            usage: holdgate ping [FLAGS]

              --control ADDRESS   the host's control endpoint (or HOLDGATE_CONTROL)
              --key FILE          the key that the host knows you by (or HOLDGATE_KEY_FILE)
              --host-key KEY      the host's public key, if it is not in that file (or
                                  HOLDGATE_HOST_KEY)
              --timeout DURATION  give up when no host answers for so long (default: 5s)
              --json              one line of JSON, for programs
              --help              this text

            For example:
              holdgate ping --timeout 1s

            """
        #expect(run(["ping", "--help"]) == Printed(status: 0, out: text))
        #expect(run(["--version"]) == Printed(status: 0, out: "holdgate 0.1.0\n"))
    }

    @Test func helpShowsActionsAndWhichFlagIsWhose() {
        let text = run(["consent", "--help"]).out
        #expect(text.contains("\nusage: holdgate consent ACTION [FLAGS]\n\n  give "))
        #expect(text.contains("\n  receipt [NUMBER]  a decision's receipt"))
        #expect(text.contains("\ngive, deny, pause, withdraw:\n  --purpose NAME "))
        #expect(text.contains("\ngive:\n  --valid-for DURATION "))
        #expect(!text.contains("--key"), "it goes to consent-manager, which asks for none")
        #expect(run(["plugins", "--help"]).out.contains("\n  [list] "))
    }

    @Test func actionsRefuseWhatIsNotTheirs() {
        #expect(
            run(["consent", "show", "--purpose", "ads"]).err
                == "holdgate: consent show takes no --purpose: it is for give, deny, pause, withdraw. "
                + "`holdgate consent --help` says more\n")
        #expect(run(["consent"]).err.hasPrefix("holdgate: consent needs one of give, deny, pause, withdraw,"))
        #expect(run(["consent", "grant"]).err.hasPrefix("holdgate: consent grant: one of give, deny,"))
        #expect(run(["plugins", "stop"]).err.hasPrefix("holdgate: plugins stop needs a NAME."))
        #expect(
            run(["plugins", "stop", "a", "b"]).err.hasPrefix("holdgate: plugins stop does not take \"b\"."))
        #expect(run(["keys", "revoke"]).err.hasPrefix("holdgate: keys revoke needs a NAME|KEY."))
        for arguments in [["consent"], ["consent", "grant"], ["plugins", "stop"], ["keys", "host", "x"]] {
            #expect(run(arguments).status == 2)
        }
    }

    @Test(arguments: [
        ["state", "now"], ["state", "--colour"], ["state", "--key"], ["state", "--key", "/nowhere"],
        ["state", "--timeout", "soon"], ["state", "--json=1"], ["start", "--lease", "0s"],
        ["hold", "--gated", "x"],
        ["kill"], ["consent"], ["consent", "grant"], ["consent", "receipt", "x"],
        ["consent", "give", "--key", "k"],
        ["emit"], ["emit", "a", "{"], ["emit", "a", "--file", "f"], ["dead-letters", "x"],
        ["dead-letters", "--limit", "0"], ["dead-letters", "requeue"], ["dead-letters", "requeue", "0"],
        ["requeue", "x"], ["forget"], ["watch", "--count", "0"], ["history", "--limit", "0"],
        ["configure", "[]"], ["configure", "{}", "--file", "f"], ["plugins", "stop"], ["plugins", "check"],
        ["keys", "new", "x"], ["keys", "list", "--roles", "hold"], ["journal"], ["journal", "check", "x"],
        ["completion", "tcsh"], ["completion"],
    ])
    func wrongUsageSaysWhereMoreIsSaid(arguments: [String]) {
        let printed = run(arguments)
        #expect(printed.status == 2 && printed.out.isEmpty)
        #expect(printed.err.hasPrefix("holdgate: "))
        #expect(printed.err.hasSuffix(". `holdgate \(arguments[0]) --help` says more\n"), "\(printed.err)")
    }

    @Test func aMissingRoleIsSaidWithWhatHelps() throws {
        let router = try FakeRouter { frames in
            [
                reply(
                    to: frames[0], status(.onHold),
                    error: WireError(.forbidden, "forget needs the role admin"))
            ]
        }
        #expect(
            run(["forget", "x", "--control", router.endpoint])
                == Printed(
                    status: 1,
                    err: """
                        holdgate forget: forget needs the role admin
                        --key FILE names another key; `holdgate keys new`, where the host runs, makes one with the role.

                        """))
        router.close()
    }

    @Test func serveExplainsEverySetting() {
        let text = run(["serve", "--help"]).out
        for key in Configuration.keys {
            #expect(text.contains("\n  \(key.name)\n      \(key.help.prefix(30))"))
            #expect(words(text).contains(words("default: \(key.defaultText) allowed: \(key.kind.allowed)")))
            if let flag = key.flag { #expect(text.contains("\n  \(flag) ")) }
        }
        for flag in Configuration.Switch.allCases { #expect(text.contains("\n  \(flag.rawValue) ")) }
    }

    /// Whatever lines it is broken into.
    private func words(_ text: String) -> String {
        text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }
}
