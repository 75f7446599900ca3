import HoldgateClient
import Testing

@testable import state_logger

@Suite struct StateLineTests {
    private let text = """
        {"time":"2026-01-02T03:04:05.678Z","launch":"00000000000000010000000000000002","seq":3,"state":"onHold",\
        "previous":"holdRequested","command":"drained","pending":0,"from":"live"}

        """

    @Test func theLastWholeLineSaysWhereToGoOn() {
        let place = StateChange.Place(launch: LaunchID(high: 1, low: 2), seq: TransitionSeq(3))
        #expect(StateLine.lastPlace(in: Array(text.utf8)[...]) == place)
        let cut = text + #"{"missed":true}"# + "\n" + #"{"time":"2026","launch":"0000"#
        #expect(StateLine.lastPlace(in: Array(cut.utf8)[...]) == place)
        #expect(StateLine.lastPlace(in: Array(cut.utf8)[40...]) == nil)
        #expect(StateLine.lastPlace(in: []) == nil)
    }

    @Test func flagsBeatTheEnvironment() {
        let environment = ["HOLDGATE_STREAM": "tcp://a:1", "HOLDGATE_CONTROL": #"["tcp://b:2","ipc:///x"]"#]
        var options = Options(endpoints: Endpoints())
        options.endpoints.stream = "tcp://c:3"
        options.endpoints.control = "tcp://b:2"
        options.file = "f"
        let arguments = ["--stream", "tcp://c:3", "--plugin", "tcp://d:4", "--file", "f"]
        #expect(Options.parse(arguments) { environment[$0] } == .run(options))
        #expect(Options.parse(["--fil", "f"]) { _ in nil } == .usage("unknown argument --fil"))
        #expect(Options.parse(["--file"]) { _ in nil } == .usage("--file needs a value"))
    }
}
