import Ledger
import Lifecycle
import Wire

extension LineBlock {
    /// A block of these lines, each followed by a line feed.
    public convenience init(lines texts: [String]) {
        var bytes: [UInt8] = []
        for text in texts { bytes += Array(text.utf8) + [0x0A] }
        self.init(capacity: max(bytes.count, 64))
        withMutableCapacity { (room: UnsafeMutableRawBufferPointer) in room.copyBytes(from: bytes) }
        byteCount = bytes.count
        var offset: UInt32 = 0
        for text in texts {
            let length = UInt32(text.utf8.count)
            lines.append(Line(offset: offset, length: length))
            offset += length + 1
        }
    }
}

/// Events of known content, and stamps for them.
public enum SampleEvents {
    public static let launch = LaunchID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)

    /// The event's line: its number, and as much filling as makes `byteCount` bytes (at least about 10).
    public static func line(_ seq: UInt64, byteCount: Int = 24) -> String {
        let text = "{\"id\":\(seq)"
        return text + String(repeating: "x", count: max(0, byteCount - text.utf8.count - 1)) + "}"
    }

    public static func stamp(
        first: UInt64, lines: [String], arrivalMs: Int64 = 1_000, gated: Bool = false, kept: Bool = true,
        batch: ProducerBatch? = nil
    ) -> BlockStamp {
        BlockStamp(
            range: SeqRange(first: JournalSeq(first), count: UInt64(lines.count)), arrivalMs: arrivalMs,
            launch: launch, under: TransitionSeq(1), gated: gated, kept: kept, batch: batch,
            byteCount: lines.reduce(0) { $0 + $1.utf8.count + 1 })
    }
}
