import Lifecycle
import Platform
import Wire
import ZeroMQ

/// The host's half of the conversation: four sockets that answer as a host would, and keep what was seen.
///
/// It has no journal and decides nothing; `CheckRun` tells it what to say. Used by one thread.
final class ScriptedHost {
    /// A socket in a class, so that it can be closed and made anew.
    private final class Line {
        let socket: Socket
        init(_ kind: Socket.Kind, in context: Context) throws(ZeroMQError) {
            socket = try Socket(kind, in: context, .linger(ms: 200))
            if kind == .xpub { try socket.set(.xpubVerbose(true)) }
        }
    }

    /// What the plugin has done.
    struct Seen {
        var hellos: [PluginMessage.Hello] = []
        /// Of the present attachment.
        var acknowledged: UInt64 = 0
        var ackProblem: String?
        /// How often each request was answered.
        var results: [UInt64: Int] = [:]
        /// Messages on `plugin` that are none: how many, what was wrong with the first and with the last.
        var invalidCount = 0
        var firstInvalid: String?
        var lastInvalid: String?
        var subscriptions = 0
        var requests = 0
        var published = 0
        /// The longest silence on `plugin`, and since when it lasts.
        var longestSilenceMs: Int64 = 0
        var heardMs: Int64 = 0

        mutating func note(invalid problem: String) {
            invalidCount += 1
            firstInvalid = firstInvalid ?? problem
            lastInvalid = problem
        }
    }

    static let heartbeatMs: Int64 = 500
    private static let messagesPerTurn = 1000

    private let context: Context
    private var control: Line?
    private var ingest: Line?
    private var plugin: Line?
    private var stream: Line?
    /// Control, stream, ingest, plugin; ports filled in.
    private(set) var addresses: [String] = Array(repeating: "tcp://127.0.0.1:0", count: 4)
    private let parser = JSONParser()
    private var writer = JSONWriter()
    private var nextHeartbeatMs: Int64 = 0
    private var lastStateSeq: UInt64 = 0

    var seen = Seen()
    /// Whoever said hello last.
    private(set) var peer: [UInt8]?
    private var isDelimited = false
    var status: HostStatus
    var lastBody: StateBody
    /// The last seq that was delivered in this attachment, or before it.
    var deliveredThrough: UInt64 = 0
    var cursor: UInt64 = 0
    /// Whether a hello is answered.
    var welcomes = true

    init() throws {
        context = try Context()
        status = HostStatus(state: .operating, seq: TransitionSeq(1), launch: Self.launch())
        lastBody = StateBody(
            state: .operating, previous: nil, command: "initialize", wallMs: Clock.wallMs(), pending: 0)
        try open()
    }

    static func launch() -> LaunchID {
        LaunchID(high: .random(in: 0...UInt64.max), low: .random(in: 0...UInt64.max))
    }

    // MARK: Coming and going

    /// Binds all four, where they were before.
    func open() throws {
        control = try bind(.router, 0)
        stream = try bind(.xpub, 1)
        ingest = try bind(.router, 2)
        plugin = try bind(.router, 3)
        seen.heardMs = Clock.monotonicMs()
    }

    private func bind(_ kind: Socket.Kind, _ index: Int) throws -> Line {
        let line = try Line(kind, in: context)
        let endMs = Clock.monotonicMs() + 5000
        while true {
            do throws(ZeroMQError) {
                addresses[index] = try line.socket.bind(addresses[index])
                return line
            } catch {
                guard error.code == .addressInUse, Clock.monotonicMs() < endMs else { throw error }
                var pause = PollSet()
                _ = try pause.wait(timeoutMs: 10)
            }
        }
    }

    /// Gone, as after a crash.
    func close() {
        control = nil
        ingest = nil
        plugin = nil
        stream = nil
        peer = nil
    }

    /// Closes `stream` and `plugin` and binds them again, as a kill does.
    func cut() throws {
        plugin = nil
        stream = nil
        peer = nil
        stream = try bind(.xpub, 1)
        plugin = try bind(.router, 3)
        seen.heardMs = Clock.monotonicMs()
    }

    // MARK: The loop

    /// Serves until `condition` holds or the time is over; returns whether it holds.
    func serve(ms: Int64, until condition: () -> Bool = { false }) throws -> Bool {
        let endMs = Clock.monotonicMs() + ms
        while true {
            if condition() { return true }
            let nowMs = Clock.monotonicMs()
            guard nowMs < endMs else { return false }
            try turn(timeoutMs: Int(min(endMs - nowMs, 20)))
        }
    }

    private func turn(timeoutMs: Int) throws {
        var polls = PollSet()
        for line in [control, ingest, plugin, stream] {
            if let line { polls.add(socket: line.socket) }
        }
        _ = try polls.wait(timeoutMs: timeoutMs)
        try takeAll(control, answerControl)
        try takeAll(ingest, answerIngest)
        try takeAll(stream, subscribed)
        try takeAll(plugin, take)
        let nowMs = Clock.monotonicMs()
        seen.longestSilenceMs = max(seen.longestSilenceMs, nowMs - seen.heardMs)
        guard nextHeartbeatMs <= nowMs else { return }
        nextHeartbeatMs = nowMs + Self.heartbeatMs
        try tell(.heartbeat)
        try publishHeartbeat()
    }

    /// Bounded, so that a flood keeps the script waiting for one turn at most.
    private func takeAll(_ line: Line?, _ body: ([[UInt8]]) throws -> Void) throws {
        guard let line else { return }
        for _ in 0..<Self.messagesPerTurn {
            guard let frames = try receive(line) else { return }
            try body(frames)
        }
    }

    private func receive(_ line: Line) throws(ZeroMQError) -> [[UInt8]]? {
        var frames: [[UInt8]] = []
        var frame = Frame()
        while try line.socket.receive(into: &frame) {
            frames.append(frame.withBytes { Array($0) })
            if !frame.more { return frames }
        }
        return nil
    }

    private func send(_ frames: [[UInt8]], over line: Line?) throws(ZeroMQError) {
        guard let line else { return }
        for (index, frame) in frames.enumerated() {
            guard try line.socket.send(frame, more: index + 1 < frames.count) else { return }
        }
    }

    // MARK: Plugin

    private func take(_ frames: [[UInt8]]) throws {
        guard frames.count > 1 else { return seen.note(invalid: "a message without a frame") }
        guard frames[0].count == 5, frames[0][0] == 0 else {
            return seen.note(invalid: "its socket has a routing id of its own, and would be refused")
        }
        isDelimited = frames[1].isEmpty
        guard let first = frames.dropFirst(isDelimited ? 2 : 1).first else {
            return seen.note(invalid: "a message of an empty frame alone")
        }
        seen.heardMs = Clock.monotonicMs()
        do throws(WireError) {
            let result: Result<PluginMessage, WireError> = first.withUnsafeBytes { bytes in
                Result { () throws(WireError) in try PluginMessage.parse(bytes, with: parser) }
            }
            let message = try result.get()
            if case .hello(let hello) = message { return greet(hello, frames[0]) }
            guard frames[0] == peer else { return }
            take(message)
        } catch {
            seen.note(invalid: error.message)
        }
    }

    private func greet(_ hello: PluginMessage.Hello, _ from: [UInt8]) {
        peer = from
        seen.hellos.append(hello)
        seen.acknowledged = 0
        guard welcomes else { return }
        let cursor = hello.collect == nil ? nil : JournalSeq(cursor)
        try? tell(
            .welcome(
                status: status, run: "check", cursor: cursor, heartbeatMs: Int(Self.heartbeatMs)))
    }

    private func take(_ message: PluginMessage) {
        switch message {
        case .ack(let through, _):
            if through.raw > deliveredThrough {
                seen.ackProblem = "it acknowledged \(through), and only \(deliveredThrough) was delivered"
            } else if through.raw < seen.acknowledged {
                seen.ackProblem = "it acknowledged \(through) after \(seen.acknowledged)"
            }
            seen.acknowledged = max(seen.acknowledged, through.raw)
            cursor = max(cursor, min(through.raw, deliveredThrough))
        case .result(let id, _): seen.results[id, default: 0] += 1
        case .hello, .heartbeat, .bye: break
        }
    }

    /// - Parameter extra: members that no version knows, as JSON: `"later":1,`
    func tell(_ message: HostMessage, extra: String = "", events: [UInt8]? = nil) throws(ZeroMQError) {
        guard let peer else { return }
        writer.reset()
        message.write(into: &writer)
        let bytes = Array("{\(extra)".utf8) + writer.bytes.dropFirst()
        try tell(bytes, events, to: peer)
    }

    /// Any first frame.
    func tell(raw text: String) throws(ZeroMQError) {
        guard let peer else { return }
        try tell(Array(text.utf8), nil, to: peer)
    }

    private func tell(_ first: [UInt8], _ events: [UInt8]?, to peer: [UInt8]) throws(ZeroMQError) {
        let envelope = isDelimited ? [peer, []] : [peer]
        try send(envelope + [first] + (events.map { [$0] } ?? []), over: plugin)
    }

    // MARK: Stream

    private func subscribed(_ frames: [[UInt8]]) throws {
        guard let change = frames.first, change.first == 1 else { return }
        seen.subscriptions += 1
        guard "state".utf8.starts(with: change.dropFirst()) else { return }
        var body = lastBody
        body.snapshot = true
        try publish(body)
    }

    func publish(_ body: StateBody, extra: String = "") throws(ZeroMQError) {
        let seq = status.seq.raw
        writer.reset()
        StreamHeader(launch: status.launch, run: "check", seq: seq, prev: body.snapshot ? 0 : lastStateSeq)
            .write(into: &writer)
        let header = Array("{\(extra)".utf8) + writer.bytes.dropFirst()
        writer.reset()
        body.write(into: &writer)
        try send(
            [Array("state".utf8), header, Array("{\(extra)".utf8) + writer.bytes.dropFirst()], over: stream)
        if !body.snapshot { lastStateSeq = seq }
    }

    /// A message on a topic that no version knows.
    func publishUnknown() throws(ZeroMQError) {
        try send(["later", "{\"launch\":\"x\"}", "{}"].map { Array($0.utf8) }, over: stream)
    }

    private func publishHeartbeat() throws(ZeroMQError) {
        writer.reset()
        StreamHeader(launch: status.launch, run: "check", seq: 1, prev: 0).write(into: &writer)
        let header = writer.bytes
        writer.reset()
        HeartbeatBody(
            state: status.state, wallMs: Clock.wallMs(), stateHead: lastStateSeq, eventHead: deliveredThrough
        ).write(into: &writer)
        try send([Array("heartbeat".utf8), header, writer.bytes], over: stream)
    }

    // MARK: Control and ingest

    private func answerControl(_ frames: [[UInt8]]) throws {
        seen.requests += 1
        let start = 1 + Envelope.payloadStart(frameCount: frames.count - 1) { frames[$0 + 1].count }
        guard start < frames.count else { return }
        let decoded = frames[start].withUnsafeBytes { ControlRequest.decode($0, with: parser) }
        var reply = ControlReply(id: decoded.id, status: status)
        switch decoded.result {
        case .success(let request):
            reply.members = try answer(request.command)
            reply.status = status
        case .failure(let error): reply.error = error
        }
        writer.reset()
        reply.write(into: &writer)
        try send(frames[..<start] + [writer.bytes], over: control)
    }

    private func answerIngest(_ frames: [[UInt8]]) throws {
        seen.published += 1
        let start = 1 + Envelope.payloadStart(frameCount: frames.count - 1) { frames[$0 + 1].count }
        guard start < frames.count else { return }
        var id: String?
        if frames.count - start > 1 {
            id = frames[start].withUnsafeBytes { IngestHeader.decode($0, with: parser) }.id
        }
        let lines = frames[(start + (frames.count - start > 1 ? 1 : 0))...].joined()
            .split(separator: UInt8(ascii: "\n")).count
        let outcome = IngestReply.Outcome.taken(
            accepted: lines, gated: 0, discarded: 0, kept: true, last: JournalSeq(UInt64(lines)))
        writer.reset()
        IngestReply(id: id, outcome: outcome, status: status).write(into: &writer)
        try send(frames[..<start] + [writer.bytes], over: ingest)
    }
}
