/// Where a message's payload begins among the frames after the routing id.
public enum Envelope {
    /// The payload's first frame. Everything before it is the envelope, which goes back unchanged ahead of a reply.
    ///
    /// The envelope ends with the first empty frame among the first 8; a frame of more than 255 bytes before it, or
    /// no empty one, means that the routing id alone is the envelope: 0. The result is `frameCount` where nothing
    /// follows the empty frame.
    ///
    /// - Parameters:
    ///   - frameCount: frames after the routing id.
    ///   - frameLength: the bytes of frame `i`, from 0.
    public static func payloadStart(frameCount: Int, frameLength: (Int) -> Int) -> Int {
        for index in 0..<min(frameCount, WireBounds.envelopeFrames) {
            let length = frameLength(index)
            if length == 0 { return index + 1 }
            if length > WireBounds.envelopeFrameBytes { return 0 }
        }
        return 0
    }
}

/// Which frames of a message on `ingest` are what.
public struct IngestMessage: Hashable, Sendable {
    /// The header's frame; nil without one.
    public let header: Int?
    public let events: Range<Int>

    /// Splits `[header][events]…`, or `[events]` alone.
    ///
    /// Throws `tooLarge` past a limit, and `invalidMessage` for a message without a frame.
    ///
    /// - Parameters:
    ///   - start: the payload's first frame, as `Envelope.payloadStart` found it.
    ///   - frameCount: all frames after the routing id, the envelope's included.
    ///   - frameLength: the bytes of frame `i`.
    public static func split(
        from start: Int, frameCount: Int, limits: WireLimits, frameLength: (Int) -> Int
    ) throws(WireError) -> IngestMessage {
        precondition(0 <= start && start <= frameCount)
        let count = frameCount - start
        guard count > 0 else {
            throw WireError(.invalidMessage, "the message has no frame: send [header][events]… or [events]")
        }
        try checkSize(from: start, frameCount: frameCount, limits: limits, frameLength: frameLength)
        if count == 1 { return IngestMessage(header: nil, events: start..<frameCount) }
        return IngestMessage(header: start, events: (start + 1)..<frameCount)
    }

    /// Throws `tooLarge` when a message breaks the limit on frames, a frame's bytes, or all frames' bytes.
    public static func checkSize(
        from start: Int, frameCount: Int, limits: WireLimits, frameLength: (Int) -> Int
    ) throws(WireError) {
        guard frameCount - start <= limits.maxFrames else {
            throw WireError(
                .tooLarge, "the message has more than \(limits.maxFrames) frames (maxFrames)")
        }
        var total = 0
        for index in start..<frameCount {
            let length = frameLength(index)
            guard length <= limits.maxFrameBytes else {
                throw WireError(
                    .tooLarge, "frame \(index - start) has more than \(limits.maxFrameBytes) bytes")
            }
            total += length
        }
        guard total <= limits.maxMessageBytes else {
            throw WireError(
                .tooLarge, "the message has more than \(limits.maxMessageBytes) bytes (maxMessageBytes)")
        }
    }

    /// All bytes of the events frames, for `EventScanner.begin`.
    public func eventBytes(frameLength: (Int) -> Int) -> Int {
        events.reduce(0) { $0 + frameLength($1) }
    }
}

/// An ingest header, or what is wrong with it, and the `id` where that could be read: the reply echoes it.
public struct DecodedIngestHeader: Sendable {
    public let id: String?
    public let result: Result<IngestHeader, WireError>
}

extension IngestHeader {
    /// Reads a header frame: one JSON object with `v`, `id`, and all or none of `producer`, `run`, `batch`.
    /// `producer` and `run` have 1 to 128 bytes; other members are ignored.
    public static func decode(_ bytes: UnsafeRawBufferPointer, with parser: JSONParser) -> DecodedIngestHeader
    {
        var header = IngestHeader()
        do throws(WireError) {
            try header.read(bytes, with: parser)
            return DecodedIngestHeader(id: header.id, result: .success(header))
        } catch {
            return DecodedIngestHeader(id: header.id, result: .failure(error))
        }
    }

    private mutating func read(_ bytes: UnsafeRawBufferPointer, with parser: JSONParser) throws(WireError) {
        let value: JSONValue
        do {
            value = try parser.parse(bytes)
        } catch {
            throw WireError(
                error.code, "the first of several frames is the header, one JSON object: \(error.message)")
        }
        var object = try ObjectReader(value, code: .invalidMessage)
        id = try JSONValue.idText(object.value("id"), code: .invalidMessage)
        guard object.value("specversion") == nil else {
            throw WireError(
                .invalidMessage, "the first of several frames is the header, not events: send {} before them")
        }
        try object.checkVersion()
        producer = try object.nameString("producer")
        run = try object.nameString("run")
        batch = try object.uint64("batch")
        guard (producer == nil) == (run == nil), (run == nil) == (batch == nil) else {
            throw WireError(.invalidMessage, "\"producer\", \"run\" and \"batch\" go together: all or none")
        }
    }

    /// Writes the header as `decode` reads it.
    public func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("v", 1)
        if let id { writer.member("id", JSONValue.raw(id)) }
        if let producer { writer.member("producer", producer) }
        if let run { writer.member("run", run) }
        if let batch { writer.member("batch", batch) }
        writer.endObject()
    }
}
