import Glibc
import HoldgateClient
import Platform

/// `emit`: events into the host.
enum EmitCommand {
    static let all = [emit]

    static let emit = CommandSpec(
        name: "emit", arguments: "TYPE [DATA] | --file FILE", argumentCount: 0...2,
        summary: "send one event, or a file of them",
        detail: """
            DATA is JSON. --file takes CloudEvents in JSON, one a line, and each is taken exactly once however
            often the connection or the host goes away meanwhile. What the host refuses for good is named, the
            rest is taken.
            """,
        flags: [
            Flag("--file", "FILE", "events, one a line (- is standard input)"),
            Flag("--source", "URI", "the event's source (default: /user@host)"),
            Flag("--id", "ID", "the event's id (default: a random one)"),
            Flag("--subject", "TEXT", "the event's subject"),
            Flag(
                "--producer", "NAME",
                "this sender's name at the host, which begins with its key's; one sender at a time may have it"
            ),
            .ingest,
        ],
        examples: [
            #"holdgate emit demo.clicked '{"button": 1}'"#, "holdgate emit --file events.ndjson",
            "generate | holdgate emit --file -",
        ]
    ) { invocation in
        let path = invocation.values["--file"]
        guard (path == nil) == !invocation.arguments.isEmpty else {
            throw UsageError("emit needs either TYPE or --file")
        }
        let credentials = try invocation.credentials()
        var options = Producer.Options(
            name: invocation.values["--producer"] ?? defaultName(invocation.console, credentials))
        options.endpoint = invocation.endpoints.ingest
        options.credentials = credentials
        options.giveUp = try invocation.timeout()
        options.replyTimeout = max(try invocation.timeout() / 2, .milliseconds(100))
        let event = path == nil ? try event(invocation) : ""
        let producer = try Producer(options)
        let progress = path == nil ? nil : try EmitProgress(producer, invocation)
        var ending: HoldgateError?
        do {
            if let path { try send(path, to: producer) } else { try producer.send(event) }
            try producer.closeBlocking()
        } catch let error as HoldgateError {
            ending = error
        }
        progress?.end()
        return finish(producer, ending, invocation)
    }

    /// The same for processes one after another, so that the host need not remember each of them.
    private static func defaultName(_ console: Console, _ credentials: Credentials?) -> String {
        let process = getpid() % 1000
        return credentials?.named("emit:\(process)") ?? "emit:\(console.identity.prefix(100)):\(process)"
    }

    static func event(_ invocation: Invocation) throws -> String {
        let console = invocation.console
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("specversion", "1.0")
        writer.member("id", invocation.values["--id"] ?? randomID())
        writer.member("source", invocation.values["--source"] ?? "/" + console.identity)
        writer.member("type", invocation.arguments[0])
        if let subject = invocation.values["--subject"] { writer.member("subject", subject) }
        writer.member("time", Timestamp.text(ms: console.wallMs()))
        if invocation.arguments.count == 2 {
            do throws(WireError) {
                writer.member("data", try JSONValue.parse(invocation.arguments[1]))
            } catch {
                throw UsageError("DATA is \(error.message); a text is written as '\"text\"'")
            }
        }
        writer.endObject()
        return writer.text
    }

    private static func randomID() -> String {
        var generator = SystemRandomNumberGenerator()
        let high: UInt64 = generator.next()
        return LaunchID(high: high, low: generator.next()).raw
    }

    /// Sends a file's lines in pieces; a line that a piece cuts goes with the next.
    private static func send(_ path: String, to producer: Producer) throws {
        let file = try InputFile(path)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var used = 0
        while true {
            if used == buffer.count { buffer += [UInt8](repeating: 0, count: buffer.count) }
            let count = try buffer.withUnsafeMutableBytes { bytes in
                try file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[used...]))
            }
            used += count
            let whole =
                count == 0 ? used : buffer[..<used].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            try buffer.withUnsafeBytes {
                try producer.send(lines: UnsafeRawBufferPointer(rebasing: $0[..<whole]))
            }
            if count == 0 { return }
            buffer.withUnsafeMutableBytes { bytes in
                _ = memmove(bytes.baseAddress!, bytes.baseAddress! + whole, used - whole)
            }
            used -= whole
        }
    }

    private static func finish(
        _ producer: Producer, _ ending: HoldgateError?, _ invocation: Invocation
    ) -> Int32 {
        let report = producer.report
        let failures = producer.takeFailures()
        // A refused event ends the flush with its own error, which `failures` tells better.
        let isEnded = ending != nil && failures.isEmpty
        let isOK = ending == nil
        if invocation.isJSON {
            Report.json(json(report, failures, isEnded ? ending : nil, isOK: isOK), invocation.console)
        } else {
            let isOne = invocation.values["--file"] == nil
            if isOK || (report.settled > 0 && !isOne) { invocation.console.out(text(report)) }
            for failure in failures.prefix(20) {
                let place = isOne ? "" : Self.place(of: failure) + " refused: "
                invocation.console.err("holdgate emit: \(place)\(reason(of: failure))\n")
            }
            if failures.count > 20 { invocation.console.err("… and \(failures.count - 20) more\n") }
            if isEnded, let ending {
                invocation.console.err("holdgate emit: \(ending.message)\n")
                if ending.code == .noAnswer { invocation.console.err(Report.absentHint("--ingest")) }
            }
        }
        if isOK { return 0 }
        return ending?.code == .noAnswer ? 3 : isEnded && ending?.code == .invalidArgument ? 2 : 1
    }

    private static func place(of failure: Producer.Failure) -> String {
        failure.count == 1
            ? "event \(failure.index)" : "events \(failure.index) to \(failure.index + failure.count - 1)"
    }

    /// Why, without the event's place in its batch, which is not its place in the file.
    private static func reason(of failure: Producer.Failure) -> String {
        let message = failure.error.message
        guard let index = failure.error.index, message.hasPrefix("event \(index): ") else { return message }
        return String(message.dropFirst("event \(index): ".count))
    }

    static func text(_ report: Producer.Report) -> String {
        let taken = report.accepted + report.duplicate
        var text = "\(Report.events(UInt64(taken))) accepted"
        if report.gated > 0 {
            let share = report.gated == taken ? "" : " \(report.gated) of them"
            text += ",\(share) gated until the next start"
        }
        if report.duplicate > 0 { text += ", \(report.duplicate) of them at an attempt whose reply was lost" }
        if report.discarded > 0 { text += ", \(report.discarded) discarded by the gate" }
        if report.refused > 0 { text += ", \(report.refused) refused" }
        if report.unkept > 0 {
            text += "; no durable collector is known: \(report.unkept) are published, and gone"
        }
        return text + "\n"
    }

    private static func json(
        _ report: Producer.Report, _ failures: [Producer.Failure], _ ending: HoldgateError?, isOK: Bool
    ) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("ok", isOK)
        writer.member("accepted", report.accepted)
        writer.member("gated", report.gated)
        writer.member("discarded", report.discarded)
        writer.member("duplicate", report.duplicate)
        writer.member("refused", report.refused)
        writer.member("unkept", report.unkept)
        writer.member("bytes", report.bytes)
        if !failures.isEmpty {
            writer.name("failures")
            writer.beginArray()
            for failure in failures {
                writer.beginObject()
                writer.member("index", failure.index)
                writer.member("count", failure.count)
                writer.name("error")
                WireError(failure.error.code, reason(of: failure), retryable: failure.error.retryable)
                    .write(into: &writer)
                writer.endObject()
            }
            writer.endArray()
        }
        if let ending {
            writer.name("error")
            WireError(ending.code, ending.message, retryable: ending.retryable).write(into: &writer)
        }
        writer.endObject()
        return writer.text
    }
}

/// A line on the terminal that says how far the sending is.
private final class EmitProgress: Sendable {
    private let isEnded = Locked(false)
    private let console: Console
    private let isShown: Bool

    init(_ producer: Producer, _ invocation: Invocation) throws {
        console = invocation.console
        isShown = console.isErrTerminal && !invocation.isJSON
        guard isShown else { return }
        let console = console
        let isEnded = isEnded
        _ = try Thread.spawn(name: "progress") {
            let start = Clock.monotonicMs()
            while true {
                pause(ms: 200)
                let report = producer.report
                let rate = Int64(report.settled) * 1000 / max(1, Clock.monotonicMs() - start)
                let line =
                    "\r\(Report.events(UInt64(report.settled))), \(rate) a second, "
                    + "\(Table.bytes(UInt64(report.bytes))) \u{1b}[K"
                // Under the lock, so that nothing is written after the end.
                let isOver = isEnded.withLock { ended in
                    if !ended { console.err(line) }
                    return ended
                }
                if isOver { return }
            }
        }
    }

    func end() {
        guard isShown else { return }
        isEnded.withLock { $0 = true }
        console.err("\r\u{1b}[K")
    }
}
