@testable import Wire

/// A block's content: its lines, and the type of each.
struct Scanned: Hashable, CustomStringConvertible {
    var text: String
    var types: [String]
    var description: String { "\(text) \(types)" }

    init(_ text: String, types: [String]) {
        self.text = text
        self.types = types
    }

    /// Also checks that the lines are where the block says that they are.
    init(_ block: LineBlock) {
        text = block.withBytes { String(decoding: $0, as: UTF8.self) }
        types = block.lines.indices.map { block.type(of: $0) }
        let lines = block.lines.map { line in
            block.withBytes { bytes in
                String(
                    decoding: bytes[Int(line.offset)..<Int(line.offset + line.length)], as: UTF8.self) + "\n"
            }
        }
        precondition(lines.joined() == text && block.summary.byteCount == text.utf8.count)
    }
}

extension EventScanner {
    func scan(
        _ frames: [[UInt8]], into block: LineBlock, limits: WireLimits = WireLimits()
    ) throws(WireError) {
        begin(block, byteCount: frames.reduce(0) { $0 + $1.count }, frameCount: frames.count)
        for frame in frames {
            let result: Result<Void, WireError> = frame.withUnsafeBytes { bytes in
                Result { () throws(WireError) in try append(bytes, to: block, limits: limits) }
            }
            try result.get()
        }
        try finish(block)
    }

    func scan(_ frames: String..., limits: WireLimits = WireLimits()) throws(WireError) -> Scanned {
        let block = LineBlock(capacity: 16)
        try scan(frames.map { Array($0.utf8) }, into: block, limits: limits)
        return Scanned(block)
    }
}

/// An event's text with the members that every event needs, and `more`.
func event(_ more: String = "", type: String = "a.b") -> String {
    #"{"specversion":"1.0","id":"1","source":"/s","type":"\#(type)"\#(more)}"#
}

/// Calls a reader of bytes with an array.
func reading<Value>(
    _ bytes: [UInt8], _ read: (UnsafeRawBufferPointer) throws(WireError) -> Value
) throws(WireError) -> Value {
    let result: Result<Value, WireError> = bytes.withUnsafeBytes { buffer in
        Result { () throws(WireError) in try read(buffer) }
    }
    return try result.get()
}

func written(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return writer.text
}

/// One kind of message: how it is written, how it is read.
struct Codec<Value: Hashable>: Sendable {
    let write: @Sendable (Value, inout JSONWriter) -> Void
    let read: @Sendable (UnsafeRawBufferPointer, JSONParser) throws(WireError) -> Value?

    func text(_ value: Value) -> String { written { write(value, &$0) } }

    func value(_ bytes: [UInt8], _ parser: JSONParser = JSONParser()) throws(WireError) -> Value? {
        try reading(bytes) { (bytes: UnsafeRawBufferPointer) throws(WireError) in try read(bytes, parser) }
    }

    func value(_ text: String) throws(WireError) -> Value? { try value(Array(text.utf8)) }

    /// Whatever is read can be written, and comes back the same.
    func survives(_ bytes: [UInt8], _ parser: JSONParser) -> Bool {
        guard let value = try? value(bytes, parser) else { return true }
        let again = try? self.value(Array(text(value).utf8), parser)
        return again == value
    }
}

enum Codecs {
    static let request = Codec<ControlRequest>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in
            try ControlRequest.decode(bytes, with: parser).result.get()
        })
    static let reply = Codec<ControlReply>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in
            let reply = try DecodedReply.parse(bytes, with: parser)
            let known = [
                "v", "id", "ok", "state", "isOperating", "seq", "launch", "error",
            ]
            let members = (reply.members.asMembers ?? []).filter { !known.contains($0.name) }
            return ControlReply(id: reply.id, status: reply.status, members: members, error: reply.error)
        })
    static let ingestReply = Codec<IngestReply>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try IngestReply.parse(bytes, with: parser) })
    static let ingestHeader = Codec<IngestHeader>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in
            try IngestHeader.decode(bytes, with: parser).result.get()
        })
    static let plugin = Codec<PluginMessage>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try PluginMessage.parse(bytes, with: parser) })
    static let host = Codec<HostMessage>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try HostMessage.parse(bytes, with: parser) })
    static let streamHeader = Codec<StreamHeader>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try StreamHeader.parse(bytes, with: parser) })
    static let state = Codec<StateBody>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try StateBody.parse(bytes, with: parser) })
    static let drain = Codec<DrainBody>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try DrainBody.parse(bytes, with: parser) })
    static let heartbeat = Codec<HeartbeatBody>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try HeartbeatBody.parse(bytes, with: parser) })
    static let pluginBody = Codec<PluginBody>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try PluginBody.parse(bytes, with: parser) })
    static let app = Codec<AppBody>(
        write: { $0.write(into: &$1) },
        read: { (bytes, parser) throws(WireError) in try AppBody.parse(bytes, with: parser) })
}

/// The same numbers in each run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
