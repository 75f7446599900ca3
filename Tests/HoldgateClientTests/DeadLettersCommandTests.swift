import HoldgateClient
import Platform
import Testing

@testable import holdgate

/// A host's dead letters, and its answers.
private final class Letters: Sendable {
    private let seqs: Locked<[UInt64]>
    private let chunks = Locked<[[UInt64]]>([])
    /// Events that one block holds.
    private let block: Int
    /// Requeues that are answered before one fails.
    private let patience: Int

    init(_ seqs: [UInt64], block: Int = .max, patience: Int = .max) {
        self.seqs = Locked(seqs)
        self.block = block
        self.patience = patience
    }

    /// What each `requeue` had.
    var asked: [[UInt64]] { chunks.withLock { $0 } }
    var left: [UInt64] { seqs.withLock { $0 } }

    static func line(_ seq: UInt64, reason: String = "no\\u001b[2J") -> String {
        #"{"seq":\#(seq),"collector":"c","reason":"\#(reason)","time":"2026-01-01T00:00:00.000Z","#
            + #""event":{"id":"e\#(seq)","type":"t","data":1.50}}"#
    }

    func router() throws -> FakeRouter {
        try FakeRouter { [self] frames in
            let request = value(frames[0])
            if request["command"] == .string("deadLetters") {
                let after = request["after"]?.asUInt64 ?? 0
                let rows = left.filter { $0 > after }.prefix(request["limit"]?.asInt ?? 0)
                let list = JSONValue.array(rows.map { .raw(Self.line($0)) })
                return [reply(to: frames[0], status(.operating), [.init("deadLetters", list)])]
            }
            return [requeue(request["seqs"]?.asArray?.compactMap(\.asUInt64) ?? [], frames[0])]
        }
    }

    private func requeue(_ asked: [UInt64], _ frame: [UInt8]) -> [[UInt8]] {
        chunks.withLock { $0.append(asked) }
        if self.asked.count > patience {
            let full = WireError(.storageFull, "the disk is full", retryable: true)
            return reply(to: frame, status(.operating), error: full)
        }
        let wanted = Set(asked)
        let taken = Set(left.filter { wanted.contains($0) }.prefix(block))
        guard !taken.isEmpty else {
            let error = WireError(.invalidArgument, "none of these seqs is a dead letter")
            return reply(to: frame, status(.operating), error: error)
        }
        seqs.withLock { $0.removeAll { taken.contains($0) } }
        return reply(to: frame, status(.operating), [.init("requeued", .uint(UInt64(taken.count)))])
    }
}

@Suite struct DeadLettersCommandTests {
    private func withHost(
        _ letters: Letters, _ body: (_ run: ([String], String?) -> Printed) throws -> Void
    ) throws {
        let host = try letters.router()
        try body { arguments, answer in
            run(
                ["dead-letters"] + arguments, environment: ["HOLDGATE_CONTROL": host.endpoint], answer: answer
            )
        }
        host.close()
    }

    @Test func theyAreListedInColumnsOverPages() throws {
        try withHost(Letters([7, 8])) { run in
            let text = """
                SEQ  TIME                      COLLECTOR  REASON   TYPE  ID
                7    2026-01-01T00:00:00.000Z  c          no·[2J  t     e7
                8    2026-01-01T00:00:00.000Z  c          no·[2J  t     e8

                """
            #expect(run([], nil) == Printed(status: 0, out: text.replacing("REASON   ", with: "REASON  ")))
            #expect(run(["list"], nil) == run([], nil))
            let more = run(["--limit", "1"], nil)
            #expect(
                more.err
                    == "There are more than these 1: `holdgate dead-letters --after 7` goes on, and export has all.\n"
            )
            #expect(run(["--after", "8"], nil) == Printed(status: 0, out: "no dead letters\n"))
            #expect(
                run(["--after", "7", "--json"], nil).out
                    == #"{"ok":true,"deadLetters":["# + Letters.line(8) + #"],"more":false}"# + "\n")
            #expect(run(["--limit", "1", "--json"], nil).out.hasSuffix(#"],"more":true}"# + "\n"))
            #expect(run(["--limit", "0"], nil).status == 2)
        }
        try withHost(Letters(Array(1...2500))) { run in
            #expect(run([], nil).out.split(separator: "\n").count == 2501)
        }
        try withHost(Letters(Array(1...10_001))) { run in
            let printed = run([], nil)
            #expect(printed.out.split(separator: "\n").count == 10_001)
            #expect(printed.err.hasPrefix("There are more than these 10000: "))
        }
    }

    @Test func anExportHasEveryLetterAsItCame() throws {
        let path = "/tmp/holdgate-letters-\(SystemRandomNumberGenerator.randomText()).ndjson"
        defer { removeFile(path) }
        try withHost(Letters(Array(1...1500))) { run throws in
            let all = (1...1500).map { Letters.line($0) + "\n" }.joined()
            #expect(run(["export"], nil) == Printed(status: 0, out: all))
            #expect(
                run(["export", "--output", path], nil)
                    == Printed(status: 0, out: "1500 dead letters in \(path)\n"))
            #expect(try InputFile.contents(of: path, limit: 1 << 20) == all)
            #expect(
                run(["export", "--output", path, "--after", "1499", "--json"], nil).out
                    == #"{"ok":true,"exported":1,"file":"\#(path)"}"# + "\n")
            #expect(try InputFile.contents(of: path, limit: 1 << 20) == Letters.line(1500) + "\n")
            let nowhere = run(["export", "--output", "/nowhere/letters"], nil)
            #expect(nowhere.status == 1 && nowhere.err.contains("/nowhere/letters"))
            #expect(run(["export", "--output", "/dev/null"], nil).err.contains("no regular file"))
        }
    }

    @Test func aFailedExportLeavesTheFileAsItWas() throws {
        let path = "/tmp/holdgate-letters-\(SystemRandomNumberGenerator.randomText()).ndjson"
        try writeFile(path, "old")
        defer { removeFile(path) }
        let printed = run(
            [
                "dead-letters", "export", "--output", path, "--control", "tcp://127.0.0.1:1", "--timeout",
                "50ms",
            ])
        #expect(printed.status == 3)
        #expect(try InputFile.contents(of: path, limit: 100) == "old")
    }

    @Test func requeueingAllAsksFirst() throws {
        let letters = Letters([3, 4, 9])
        try withHost(letters) { run in
            #expect(run(["requeue", "--all"], "no") == Printed(status: 1, err: "Nothing was done.\n"))
            #expect(run(["requeue", "--all"], nil).err.contains("needs --yes where nobody can be asked"))
            #expect(run(["requeue"], nil).status == 2)
            #expect(run(["requeue", "--all", "3"], nil).status == 2)
            #expect(letters.asked == [])
            #expect(
                run(["requeue", "--all"], "requeue") == Printed(status: 0, out: "3 events queued again\n"))
            #expect(letters.asked == [[3, 4, 9]])
            #expect(
                run(["requeue", "--all", "--yes"], nil) == Printed(status: 0, out: "no dead letters\n"))
        }
    }

    @Test func theyAreSentInTheProtocolsBounds() throws {
        let letters = Letters(Array(1...10_005), block: 6000)
        try withHost(letters) { run in
            #expect(
                run(["requeue", "--all", "--yes", "--json"], nil)
                    == Printed(status: 0, out: #"{"ok":true,"requeued":10005,"missing":0,"left":0}"# + "\n"))
        }
        // One block holds 6,000: the first 10,000 take two commands.
        #expect(letters.asked.map(\.count) == [10_000, 10_000, 5])
        #expect(letters.left.isEmpty)
    }

    @Test func seqsThatAreNoLettersAreCounted() throws {
        try withHost(Letters([3, 4])) { run in
            let text = "2 events queued again; 1 of the seqs are no dead letters\n"
            #expect(run(["requeue", "4", "3", "5", "3"], nil) == Printed(status: 0, out: text))
            let none = run(["requeue", "5"], nil)
            #expect(none.status == 1)
            #expect(
                none.err
                    == "holdgate dead-letters requeue: none of these is a dead letter; `holdgate dead-letters` lists them\n"
            )
            #expect(run(["requeue", "0"], nil).status == 2)
        }
    }

    @Test func whatIsLeftIsSaidWhenItFailsOnTheWay() throws {
        for isJSON in [false, true] {
            let letters = Letters(Array(1...20_010), patience: 2)
            try withHost(letters) { run in
                let printed = run(["requeue", "--all", "--yes"] + (isJSON ? ["--json"] : []), nil)
                if isJSON {
                    let out =
                        #"{"ok":false,"requeued":20000,"missing":0,"left":10,"leftFrom":20001,"#
                        + #""error":{"code":"storageFull","message":"the disk is full","retryable":true}}"#
                    #expect(printed == Printed(status: 1, out: out + "\n"))
                } else {
                    #expect(
                        printed
                            == Printed(
                                status: 1,
                                err: """
                                    holdgate dead-letters requeue: the disk is full
                                    20000 events queued again. Not known to be: 10, from seq 20001 on. Those that are still \
                                    listed by `holdgate dead-letters` can be sent again.

                                    """))
                }
            }
        }
        // Nothing was done at all: the host's own words.
        try withHost(Letters([1], patience: 0)) { run in
            #expect(
                run(["requeue", "1"], nil)
                    == Printed(status: 1, err: "holdgate dead-letters: the disk is full\n"))
        }
    }
}
