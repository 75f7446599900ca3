import HoldgateClient
import Testing

@testable import holdgate

/// What `top` makes of looks at a host that are made up.
@Suite struct TopScreenTests {
    private let wallMs: Int64 = 1_767_323_045_678

    private func sample(
        _ state: LifecycleState = .operating, atMs: Int64 = 0, uptimeMs: UInt64 = 10_000,
        plugins: [String] = [], commitUs: [UInt64] = [0, 0, 0], _ numbers: [String: UInt64] = [:]
    ) throws -> TopSample {
        var stats = numbers.map { JSONValue.Member($0.key, .uint($0.value)) }
        stats.append(.init("uptimeMs", .uint(uptimeMs)))
        return TopSample(
            atMs: atMs, status: status(state, 3), stats: stats,
            commitUs: HistogramReport(bounds: [100, 2000], counts: commitUs, sum: 1),
            plugins: try plugins.map { try JSONValue.parse($0) })
    }

    private func model(_ sample: TopSample) -> TopModel {
        TopModel(endpoint: "tcp://127.0.0.1:5570", interval: .seconds(1), sample, wallMs: wallMs)
    }

    private func screen(_ model: TopModel, _ width: Int, _ height: Int) -> String {
        let lines = TopScreen(model: model, width: width, height: height).lines
        #expect(lines.count <= height)
        #expect(lines.filter { $0.width > width } == [], "\(width) × \(height)")
        return lines.map(\.text.trimmedEnd).joined(separator: "\n")
    }

    private let collector = """
        {"name":"warehouse","version":"1","state":"attached","durable":true,"cursor":7,"lagEvents":1200,
         "lagBytes":245760,"lagMs":2300,"supervised":true,"process":"running","pid":41,"restarts":2,
         "window":{"bytes":8388608,"inFlightBytes":4096,"inFlightMessages":1,"skipped":0}}
        """
    private let gone = """
        {"name":"audit","state":"detached","durable":true,"cursor":1,"lagEvents":8,"lagBytes":900,"lagMs":400,
         "supervised":false}
        """
    private let passing = """
        {"name":"view","state":"silent","durable":false,"cursor":7,"lagEvents":0,"lagBytes":0,"lagMs":0,
         "window":{"bytes":1024,"inFlightBytes":0,"inFlightMessages":0,"skipped":5},"supervised":false}
        """
    private let provider = """
        {"name":"places","state":"attached","services":["geo.near","geo.far"],"requests":3,"supervised":false}
        """
    private let looping = """
        {"name":"broken","state":"detached","supervised":true,"process":"crashLooping","restarts":5}
        """

    private func busy() throws -> TopModel {
        model(
            try sample(
                plugins: [gone, looping, provider, passing, collector], commitUs: [10, 90, 0],
                [
                    "eventsAccepted": 123_450, "eventsDelivered": 4, "eventsRefused": 1, "commits": 100,
                    "queuedEvents": 1208, "queuedBytes": 246_660, "queueAgeMs": 2300, "gatedEvents": 0,
                    "deadLetters": 2, "stateSinceMs": 185_000, "leaseRemainingMs": 42_700, "insecure": 1,
                ]))
    }

    @Test func everythingIsShownWhereThereIsRoom() throws {
        #expect(
            try screen(busy(), 100, 30) == """
                holdgate top  tcp://127.0.0.1:5570                                       03:04:05Z, every 1s, q ends
                operating for 3m   lease 42s left   insecure   transition 3   launch 00000000…   up 10s

                events/s  accepted 12345   delivered 0.4   refused 0.1   discarded 0
                commits/s 10   p99 at most 2 ms
                queue     1208 events   240.8 KiB   oldest 2s   gated 0   dead letters 2

                COLLECTOR  STATE     BEHIND      BYTES  OLDEST  IN FLIGHT
                audit      detached       8      900 B     <1s  -
                view       silent         0        0 B      0s  0 B of 1.0 KiB, 5 skipped
                warehouse  attached    1200  240.0 KiB      2s  4.0 KiB of 8.0 MiB

                PLUGIN     STATE     PROCESS       PID  RESTARTS  REQUESTS  SERVES
                broken     detached  crashLooping    -         5         -  -
                places     attached  -               -         -         3  geo.near, geo.far
                warehouse  attached  running        41         2         -  -
                """)
    }

    @Test func aNarrowTerminalHasFewerColumns() throws {
        #expect(
            try screen(busy(), 36, 30) == """
                holdgate top  tcp://127.0.0.1:5570
                operating for 3m   lease 42s left

                events/s accepted 12345
                commits/s 10 p99 at most 2 ms
                queue 1208 events 240.8 KiB

                COLLECTOR  STATE     BEHIND  OLDEST
                audit      detached       8     <1s
                view       silent         0      0s
                warehouse  attached    1200      2s

                PLUGIN     STATE     PROCESS
                broken     detached  crashLooping
                places     attached  -
                warehouse  attached  running
                """)
    }

    @Test func aLowTerminalHasWhatMattersMost() throws {
        #expect(
            try screen(busy(), 60, 9) == """
                holdgate top  tcp://127.0.0.1:5570
                operating for 3m   lease 42s left   insecure   transition 3
                events/s  accepted 12345   delivered 0.4   refused 0.1
                commits/s 10   p99 at most 2 ms
                queue     1208 events   240.8 KiB   oldest 2s   gated 0
                PLUGIN     STATE     PROCESS       RESTARTS  REQUESTS
                broken     detached  crashLooping         5         -
                places     attached  -                    -         3
                warehouse  attached  running              2         -
                """)
        #expect(try screen(busy(), 30, 1) == "operating for 3m")
        #expect(try screen(busy(), 60, 2).split(separator: "\n").count == 2)
        #expect(try screen(busy(), 12, 1) == "operating f…")
        #expect(try screen(busy(), 0, 5) == "")
        #expect(try screen(busy(), 5, 0) == "")
    }

    @Test func noSizeMakesALineTooLongOrOneTooMany() throws {
        var draining = try busy()
        draining.take(
            .success(
                try sample(
                    .holdRequested, atMs: 1000, uptimeMs: 11_000, plugins: [collector],
                    ["drainTotal": 10, "drainRemaining": 4])), nowMs: 1000, wallMs: wallMs)
        for width in 1...120 {
            for height in [1, 2, 5, 8, 11, 14, 20] {
                _ = try screen(busy(), width, height)
                _ = screen(draining, width, height)
            }
        }
    }

    @Test func aDrainHasABar() throws {
        let model = model(
            try sample(.holdRequested, ["drainTotal": 400, "drainRemaining": 100, "stateSinceMs": 1500]))
        #expect(
            screen(model, 60, 3) == """
                holdRequested for 1s   transition 3   launch 00000000…
                drain     [##################.......] 100 of 400 events left
                events/s  accepted 0   delivered 0   refused 0   discarded 0
                """)
        #expect(TopLine.text(model).contains(", drain 100 of 400 left"))
    }

    @Test func aHostThatIsAwayIsSaidToBeSo() throws {
        var model = try busy()
        let error = HoldgateError(.noAnswer, "no host answered at x within 1000 ms", retryable: true)
        model.take(.failure(error), nowMs: 65_000, wallMs: wallMs)
        #expect(
            screen(model, 80, 3) == """
                away for 65s: no host answers; below is what was heard last
                was operating for 3m   lease 42s left   insecure   transition 3
                events/s  accepted 12345   delivered 0.4   refused 0.1   discarded 0
                """)
        #expect(
            TopLine.text(model) == "2026-01-02T03:04:05.678Z  away for 65s: no host answers\n")
        #expect(
            TopLine.json(model)
                == #"{"time":"2026-01-02T03:04:05.678Z","answers":false,"awayMs":65000,"#
                + #""error":"no host answered at x within 1000 ms"}"# + "\n")
        model.take(
            .failure(HoldgateError(.forbidden, "no\u{1b}[2J role", retryable: false)), nowMs: 66_000,
            wallMs: wallMs)
        #expect(screen(model, 80, 1) == "no look for 66s: no\u{fffd}[2J role")
        model.take(.success(try sample(atMs: 67_000, uptimeMs: 500)), nowMs: 67_000, wallMs: wallMs)
        #expect(model.complaint == nil && model.silentMs == 0)
    }

    @Test func ratesAreOfTheLastIntervalAndAnotherProcessBeginsAnew() throws {
        let first = try sample(commitUs: [50, 0, 0], ["eventsAccepted": 1000, "commits": 50])
        var model = model(first)
        #expect(model.rates.accepted == 100 && model.rates.commitP99 == .atMost(100))
        model.take(
            .success(
                try sample(
                    atMs: 2000, uptimeMs: 12_000, commitUs: [50, 1, 1],
                    ["eventsAccepted": 1500, "commits": 52])),
            nowMs: 2000, wallMs: wallMs)
        #expect(model.rates.accepted == 250 && model.rates.commits == 1)
        #expect(model.rates.commitP99 == .over(2000))
        // Up for longer than the first one was when it was seen last.
        model.take(
            .success(try sample(atMs: 60_000, uptimeMs: 20_000, ["eventsAccepted": 2000])), nowMs: 60_000,
            wallMs: wallMs)
        #expect(model.rates.accepted == 100)
        model.take(
            .success(try sample(atMs: 61_000, uptimeMs: 21_000, ["eventsAccepted": 1])), nowMs: 61_000,
            wallMs: wallMs)
        #expect(model.rates.accepted == 1000.0 / 21_000)
    }

    @Test func aLineSaysWhoIsFurthestBehind() throws {
        #expect(
            try TopLine.text(busy())
                == "2026-01-02T03:04:05.678Z  operating for 3m, accepted 12345/s, delivered 0.4/s, refused 0.1/s, "
                + "discarded 0/s, commits 10/s p99 at most 2 ms, queue 1208 events 240.8 KiB 2s, "
                + "warehouse is 1200 events behind\n")
    }

    @Test func aLineOfJSONHasWhatTheScreenHas() throws {
        let value = try JSONValue.parse(TopLine.json(try busy()))
        #expect(value["state"]?.asString == "operating" && value["answers"]?.asBool == true)
        #expect(value["perSecond"]?["accepted"]?.asDouble == 12_345)
        #expect(value["perSecond"]?["refused"]?.asDouble == 0.1)
        #expect(value["queuedEvents"]?.asUInt64 == 1208 && value["commitP99Us"]?.asUInt64 == 2000)
        #expect(value["plugins"]?.asArray?.count == 5)
    }

    @Test func namesCannotCommandTheTerminal() throws {
        let evil = #"{"name":"a\u001b[31m\nb\u202e","state":"att\u0007ached","durable":true,"cursor":1}"#
        let model = model(try sample(plugins: [evil]))
        let lines = TopScreen(model: model, width: 100, height: 30).lines
        let shown = lines.map { $0.rendered(isColoured: false) }.joined()
        #expect(!shown.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e })
        #expect(shown.contains("a\u{fffd}[31m\u{fffd}b\u{fffd}"))
    }

    @Test func coloursAreThereOnlyWhereTheyAreWanted() throws {
        let line = TopScreen(model: try busy(), width: 30, height: 1).lines[0]
        #expect(line.rendered(isColoured: true) == "\u{1b}[32moperating\u{1b}[0m for 3m")
        #expect(line.rendered(isColoured: false) == "operating for 3m")
    }

    @Test func wideCharactersTakeTwoCells() {
        #expect(Cells.width("日本") == 4 && Cells.width("lëttér") == 6 && Cells.width("e\u{301}") == 1)
        #expect(Cells.cut("日本語", to: 4) == "日…" && Cells.cut("日本語", to: 6) == "日本語")
        #expect(Cells.padded("日", 4) + "|" == "日  |" && Cells.padded("日", 4, isRight: true) == "  日")
        #expect(ScreenLine([.init("ab"), .init("cd")]).cut(to: 3).text == "ab…")
        #expect(ScreenLine([.init("ab"), .init("cd")]).cut(to: 2).text == "a…")
    }

    @Test func quantilesAreTheBoundsThatHoldSoMuch() {
        let histogram = HistogramReport(bounds: [1, 10], counts: [98, 1, 1], sum: 200)
        #expect(histogram.quantile(50) == .atMost(1) && histogram.quantile(99) == .atMost(10))
        #expect(histogram.quantile(100) == .over(10))
        #expect(HistogramReport(bounds: [1], counts: [0, 0], sum: 0).quantile(50) == nil)
        let later = HistogramReport(bounds: [1, 10], counts: [98, 1, 3], sum: 300)
        #expect(later.since(histogram) == HistogramReport(bounds: [1, 10], counts: [0, 0, 2], sum: 100))
        #expect(histogram.since(later) == nil)
    }

    @Test func topRefusesWhatItCannotDo() {
        #expect(run(["top", "--interval", "5ms"]).status == 2)
        #expect(run(["top", "--count", "0"]).status == 2)
        #expect(run(["top", "--control", "tcp://127.0.0.1:9", "--timeout", "50ms"]).status == 3)
    }
}
