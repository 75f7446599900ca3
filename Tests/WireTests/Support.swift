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
