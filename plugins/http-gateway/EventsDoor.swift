import Access
import HTTPServer
import HoldgateClient
import Platform

/// `POST /v1/events`: events in, each request one message to the host's `ingest`, answered with what the gate did.
struct EventsDoor: Sendable {
    private let channel: IngestChannel
    /// What the host knows this gateway's batches by.
    private let producer: String
    private let limits = WireLimits()

    /// Requests with an `Idempotency-Key` are batches of a producer of their own, whose name says all that makes them the
    /// same: so the host knows them again, and after its restart and this gateway's, too.
    ///
    /// - Parameter producer: a name that belongs to the gateway's key.
    init(_ channel: IngestChannel, producer: String) {
        self.channel = channel
        self.producer = producer
    }

    /// Bytes that an `Idempotency-Key` may have.
    static let keyBytes = 256

    func handle(_ request: HTTPRequest, from asker: Asker, reply: HTTPReply) throws(Problem) {
        let frame = try EventsBody.frame(request)
        guard !frame.isEmpty || !request.body.isEmpty else {
            throw EventsBody.bad("the request has no events", index: nil)
        }
        let batch = try batch(request, frame, asker)
        guard !frame.isEmpty else { return reply.send(Self.nothing) }
        try check(frame, asker)
        channel.send([frame], as: batch) { result in
            switch result {
            case .success(let answer): reply.send(Self.response(answer))
            case .failure(let error): reply.send(Problem(error).response)
            }
        }
    }

    /// Whether the asker may send events of these types.
    private func check(_ frame: [UInt8], _ asker: Asker) throws(Problem) {
        guard case .prefixes? = asker.permissions.roles[.produce] else { return }
        let block = LineBlock()
        let scanner = EventScanner(maxNesting: JSONParser.nestingCeiling)
        var roomy = limits
        roomy.maxEventBytes = frame.count
        let scanned = frame.withUnsafeBytes { bytes in
            Result { () throws(WireError) in
                try scanner.scan(frames: [bytes], into: block, limits: roomy)
            }
        }
        // The host would say the same.
        if case .failure(let error) = scanned { throw Problem(HoldgateError(error, state: nil)) }
        for index in block.lines.indices where !asker.permissions.reaches(.produce, block.type(of: index)) {
            var problem = Problem(
                403, "forbidden",
                "event \(index) is \(block.type(of: index)), and \(asker.name ?? "anybody") has "
                    + asker.permissions.text)
            problem.index = index
            throw problem
        }
    }

    private func batch(
        _ request: HTTPRequest, _ frame: [UInt8], _ asker: Asker
    ) throws(Problem) -> IngestChannel.Batch? {
        guard let key = try IdempotencyKey.read(request.head, bytes: Self.keyBytes) else { return nil }
        // The events are part of it: another request under the same key is another request, and none of it is lost.
        let parts = [asker.name ?? "", key, SHA256.hex(frame)].joined(separator: "\n")
        let name = "\(producer)/\(SHA256.hex(Array(parts.utf8)).prefix(32))"
        return IngestChannel.Batch(producer: name, run: "1", number: 1)
    }

    /// An empty array: there was nothing to do.
    private static let nothing = HTTPResponse.json(
        202, #"{"accepted":0,"gated":0,"discarded":0,"duplicate":false}"#)

    static func response(_ reply: IngestReply) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        switch reply.outcome {
        case .taken(let accepted, let gated, let discarded, let kept, let last):
            writer.member("accepted", accepted)
            writer.member("gated", gated)
            writer.member("discarded", discarded)
            writer.member("duplicate", false)
            writer.member("kept", kept)
            if let last { writer.member("last", last.raw) }
        case .duplicate:
            writer.member("accepted", 0)
            writer.member("gated", 0)
            writer.member("discarded", 0)
            writer.member("duplicate", true)
        case .refused(let error, _):
            return Problem(HoldgateError(error, state: reply.status.state)).response
        }
        writer.member("state", reply.status.state.rawValue)
        writer.member("isOperating", reply.status.state.isOperating)
        writer.member("seq", reply.status.seq.raw)
        writer.member("launch", reply.status.launch.raw)
        writer.endObject()
        writer.newline()
        return HTTPResponse(
            202, headers: [HTTPHead.Field("Content-Type", "application/json")], body: .bytes(writer.bytes))
    }
}
