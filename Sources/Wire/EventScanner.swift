import CSimdJSON

/// Checks frames of events and writes them into a `LineBlock`, one a line. Keeps its buffers; one owner, one thread.
///
/// An event is an object that conforms to CloudEvents 1.0's JSON format. Its line breaks become spaces, white space
/// around it goes, and nothing else of it changes. With few or many frames alike:
///
/// ```swift
/// scanner.begin(block, byteCount: totalOfAllFrames, frameCount: frames.count)
/// for frame in frames { try scanner.append(frame, to: block, limits: limits) }
/// try scanner.finish(block)
/// ```
public final class EventScanner {
    private let scanner: OpaquePointer
    private let maxNesting: Int
    /// Reads back what was accepted under other limits; made when it is needed.
    private lazy var reader = EventScanner(maxNesting: JSONParser.nestingCeiling)

    /// - Parameter maxNesting: objects and arrays within each other, the event itself included.
    public init(maxNesting: Int = WireLimits().maxNesting) {
        precondition((1...JSONParser.nestingCeiling).contains(maxNesting), "nesting out of bounds")
        guard let scanner = hg_scanner_create(maxNesting) else { preconditionFailure("out of memory") }
        self.scanner = scanner
        self.maxNesting = maxNesting
    }

    deinit { hg_scanner_destroy(scanner) }

    /// Scans all events frames of a message; throws the error of the first bad event, its `index` over all frames.
    public func scan(
        frames: [UnsafeRawBufferPointer], into block: LineBlock, limits: WireLimits = WireLimits()
    ) throws(WireError) {
        begin(block, byteCount: frames.reduce(0) { $0 + $1.count }, frameCount: frames.count)
        for frame in frames { try append(frame, to: block, limits: limits) }
        try finish(block)
    }

    /// Empties `block` and makes room for frames of `byteCount` bytes together.
    public func begin(_ block: LineBlock, byteCount: Int, frameCount: Int) {
        block.reset(capacity: byteCount + frameCount)
    }

    /// Adds one frame's events. After an error the block is empty.
    public func append(
        _ frame: UnsafeRawBufferPointer, to block: LineBlock, limits: WireLimits = WireLimits()
    ) throws(WireError) {
        guard !frame.isEmpty else { return }
        let start = block.byteCount
        precondition(start + frame.count < block.capacity, "begin() was told of fewer bytes or frames")
        precondition(block.capacity < Int(UInt32.max), "a block's places are 32-bit numbers")
        var bounds = hg_scan_limits(
            max_events: max(0, limits.maxEventsPerMessage - block.lines.count),
            max_event_bytes: limits.maxEventBytes, max_type_bytes: limits.maxEventTypeBytes)
        var result = hg_scan_result()
        block.withMutableCapacity { space in
            UnsafeMutableRawBufferPointer(rebasing: space[start...]).copyMemory(from: frame)
            hg_scanner_scan(
                scanner, space.baseAddress?.assumingMemoryBound(to: UInt8.self), start, frame.count, &bounds,
                &result)
        }
        try take(result, into: block, limits: limits)
    }

    /// Ends a message: one without any event is refused.
    public func finish(_ block: LineBlock) throws(WireError) {
        guard block.lines.isEmpty else { return }
        throw WireError(.invalidMessage, "the message has no event: send at least one JSON object")
    }

    /// Finds the lines and types of lines that were written by this scanner before, as the journal gives them back.
    ///
    /// A line of spaces is an erased event: it is counted, and its type is empty. Throws `internal` where the bytes
    /// are no events.
    public func rescan(bytes: UnsafeRawBufferPointer, into block: LineBlock) throws(WireError) {
        block.reset(capacity: bytes.count)
        block.withMutableCapacity { $0.copyMemory(from: bytes) }
        block.byteCount = bytes.count
        try rescan(block)
    }

    /// The same for bytes that stand in the block already: `byteCount` says how many.
    public func rescan(_ block: LineBlock) throws(WireError) {
        block.lines.removeAll(keepingCapacity: true)
        block.escapedTypes = [:]
        let count = block.byteCount
        precondition(count <= block.capacity && count < Int(UInt32.max), "no block has so many bytes")
        guard count > 0 else { return }
        var result = hg_scan_result()
        block.withMutableCapacity { space in
            hg_scanner_rescan(
                reader.scanner, space.baseAddress?.assumingMemoryBound(to: UInt8.self), count, &result)
        }
        do {
            try reader.take(result, into: block, limits: WireLimits())
        } catch {
            throw WireError(.internalError, "stored line \(error.index ?? 0) is no event: \(error.message)")
        }
    }

    private func take(
        _ result: hg_scan_result, into block: LineBlock, limits: WireLimits
    ) throws(WireError) {
        let before = block.lines.count
        if result.error != HG_EVENT_OK {
            block.reset(capacity: 0)
            throw error(result, index: before + result.line_count, limits: limits)
        }
        if let lines = result.lines, result.line_count > 0 {
            lines.withMemoryRebound(to: LineBlock.Line.self, capacity: result.line_count) { lines in
                block.lines.append(contentsOf: UnsafeBufferPointer(start: lines, count: result.line_count))
            }
        }
        var index = 0
        var line = 0
        var length = 0
        var type: UnsafePointer<CChar>?
        while hg_scanner_escaped(scanner, index, &line, &type, &length) != 0 {
            let bytes = UnsafeRawBufferPointer(start: type, count: length)
            block.escapedTypes[before + line] = String(decoding: bytes, as: UTF8.self)
            index += 1
        }
        block.byteCount = result.end
    }

    private func error(_ result: hg_scan_result, index: Int, limits: WireLimits) -> WireError {
        let name = String(
            decoding: UnsafeRawBufferPointer(start: result.name, count: result.name_length), as: UTF8.self)
        let code: ErrorCode =
            switch result.error {
            case HG_EVENT_TOO_LARGE, HG_EVENT_TOO_MANY, HG_EVENT_TYPE_TOO_LONG: .tooLarge
            case HG_EVENT_MEMORY: .overloaded
            default: result.json == HG_JSON_MEMORY ? .overloaded : .invalidMessage
            }
        return WireError(
            code, "event \(index): \(explanation(result, name: quoted(name), limits: limits))",
            retryable: code == .overloaded, index: index)
    }

    private func explanation(_ result: hg_scan_result, name: String, limits: WireLimits) -> String {
        switch result.error {
        case HG_EVENT_JSON: JSONParser.explanation(of: result.json, maxNesting: maxNesting)
        case HG_EVENT_BYTE_ORDER_MARK: "the frame begins with a byte order mark: leave it out"
        case HG_EVENT_NOT_OBJECT: "not a JSON object: a frame is a sequence of objects, one a line"
        case HG_EVENT_TRAILING: "something stands after the object on its line: part events by a line break"
        case HG_EVENT_TOO_LARGE: "larger than \(limits.maxEventBytes) bytes (maxEventBytes)"
        case HG_EVENT_TOO_MANY:
            "a message has at most \(limits.maxEventsPerMessage) events (maxEventsPerMessage)"
        case HG_EVENT_TYPE_TOO_LONG:
            "the type is longer than \(limits.maxEventTypeBytes) bytes (maxEventTypeBytes)"
        case HG_EVENT_REPEATED: "the member \(name) is given twice"
        case HG_EVENT_MISSING: "the attribute \(name) is missing"
        case HG_EVENT_BAD_NAME: "\(name) is no attribute name: lower-case letters a to z and digits only"
        case HG_EVENT_NOT_STRING: "\(name) is not a string"
        case HG_EVENT_EMPTY_STRING: "\(name) is empty"
        case HG_EVENT_BAD_CHARACTER: "\(name) has a control character or a noncharacter"
        case HG_EVENT_BAD_VALUE: "the extension \(name) is no string, boolean or 32-bit whole number"
        case HG_EVENT_SPECVERSION: "specversion is not \"1.0\""
        case HG_EVENT_BAD_REFERENCE: "\(name) is no URI reference"
        case HG_EVENT_BAD_URI: "\(name) is no absolute URI"
        case HG_EVENT_BAD_TIME: "\(name) is no RFC 3339 time"
        case HG_EVENT_BAD_MEDIA_TYPE: "\(name) is no media type"
        case HG_EVENT_BAD_BASE64: "\(name) is no base64"
        case HG_EVENT_DATA_TWICE: "data and data_base64 are both given"
        case HG_EVENT_MEMORY: "not enough memory to read it"
        default: preconditionFailure("the scanner found an error that has no name")
        }
    }
}
