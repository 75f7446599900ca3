import Testing

@testable import HoldgateHost

private func read(_ text: String) throws -> PluginManifest {
    try ManifestReader.read(Array(text.utf8), path: "p/a/plugin.json", directory: "/etc/p/a")
}

@Suite struct ManifestTests {
    @Test func everyBundledManifestIsRead() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let contents = try PluginFolder(path: "/\(root)/plugins").read()
        #expect(contents.problems.map(\.problem) == [])
        #expect(Set(contents.manifests.map(\.name)).isSuperset(of: ["file-collector", "state-logger"]))
    }

    @Test func everyMemberIsRead() throws {
        let manifest = try read(
            """
            {
              // A comment.
              "name": "a", "version": "1.2", "command": "./run", "arguments": ["--x", "y z"],
              "environment": {"A": "{1}", "B_2": ""}, "may": ["serve", "command"],
              "restart": {"policy": "always", "backoffMs": 5, "maxBackoffMs": 50, /* } */
                "crashLoop": {"restarts": 0, "withinMs": 7}}
            }
            """)
        var expected = PluginManifest(name: "a", version: "1.2", directory: "/etc/p/a", command: "./run")
        expected.arguments = ["--x", "y z"]
        expected.environment = ["A": "{1}", "B_2": ""]
        expected.may = [.command, .serve]
        expected.restart.when = .always
        expected.restart.backoffMs = 5
        expected.restart.maxBackoffMs = 50
        expected.restart.crashLoopRestarts = 0
        expected.restart.crashLoopWithinMs = 7
        #expect(manifest == expected)
    }

    @Test func allButNameVersionAndCommandMayBeLeftOut() throws {
        let manifest = try read(#"{"name": "a", "version": "1", "command": "x"}"#)
        #expect(manifest == PluginManifest(name: "a", version: "1", directory: "/etc/p/a", command: "x"))
        #expect(manifest.restart.when == .onFailure)
    }

    @Test(arguments: [
        ("{}", "p/a/plugin.json:1: name is missing"),
        ("[]", "p/a/plugin.json:1: the file must hold one object: { … }"),
        (
            "{\n\"name\": \"b\"}",
            "p/a/plugin.json:2: name is \"b\"; allowed: the folder's name, a"
        ),
        (
            "{\"name\": \"a\",\n\n\"environment\": {\n\"A\": \"x\",\n\"1A\": \"x\"}}",
            "p/a/plugin.json:5: environment.1A is \"x\"; allowed: names of letters, digits and _, not beginning with a digit"
        ),
        (
            "{\"environment\":\n{\n\"HOLDGATE_STREAM\": \"x\"}}",
            "p/a/plugin.json:3: environment.HOLDGATE_STREAM is the host's to set"
        ),
        ("{\"environment\": 5}", "p/a/plugin.json:1: environment is 5; allowed: an object"),
        (
            "{\"may\": [\"serve\", \"serve\"]}",
            "p/a/plugin.json:1: may is [\"serve\",\"serve\"]; allowed: a list of command, publish, collect, serve, none twice"
        ),
        (
            "{\"restart\": {\n\"backofMs\": 5}}",
            "p/a/plugin.json:2: unknown key \"restart.backofMs\"; did you mean backoffMs?"
        ),
        (
            "{\"restart\": {\"backoffMs\": 500, \"maxBackoffMs\": 100}}",
            "p/a/plugin.json:1: restart.backoffMs is 500; allowed: at most maxBackoffMs, 100"
        ),
        (
            "{\"restart\": {\"crashLoop\": {\"restarts\":\n1.5}}}",
            "p/a/plugin.json:1: restart.crashLoop.restarts is 1.5; allowed: a whole number from 0 to 1000"
        ),
        (
            "{\"arguments\": [1]}", "p/a/plugin.json:1: arguments is [1]; allowed: up to 256 strings"
        ),
        (
            "{\"version\": \"1\",\n\"version\": \"2\"}",
            "p/a/plugin.json:2: \"version\" was given in line 1 already"
        ),
        ("{\"restart\": {\"policy\": \"no\"", "p/a/plugin.json:1: the file ends within a value"),
    ])
    func aMistakeIsNamedWithFileLineAndKey(text: String, complaint: String) {
        let error = #expect(throws: ConfigurationError.self) { try read(text) }
        #expect(error?.description == complaint)
    }
}
