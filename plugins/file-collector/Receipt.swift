import HoldgateClient

/// What one delivery left in a file: a line of `.receipts`.
struct Receipt: Hashable, Sendable {
    /// Where its events begin in the events file, and their bytes, line feeds included.
    var offset: UInt64
    var bytes: UInt64
    /// The offset of the first delivery that was written and synced together with this one.
    var group: UInt64
    /// The events, in the order of their lines.
    var ranges: [SeqRange]
    var launch: String
    /// The transition that had the gate open for them.
    var under: [DeliverHeader.Under]
    /// When they were written, milliseconds since 1970.
    var wallMs: Int64

    var end: UInt64 { offset + bytes }

    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("offset", offset)
        writer.member("bytes", bytes)
        writer.member("group", group)
        writer.name("ranges")
        writer.beginArray()
        for range in ranges { Self.row([range.first.raw, range.count], into: &writer) }
        writer.endArray()
        writer.member("launch", launch)
        writer.name("under")
        writer.beginArray()
        for each in under {
            Self.row([each.range.first.raw, each.range.count, each.transition.raw], into: &writer)
        }
        writer.endArray()
        writer.member("time", Timestamp.text(ms: wallMs))
        writer.endObject()
        writer.newline()
    }

    private static func row(_ numbers: [UInt64], into writer: inout JSONWriter) {
        writer.beginArray()
        for number in numbers { writer.value(number) }
        writer.endArray()
    }

    /// Nil where the line is no receipt.
    init?(line: UnsafeRawBufferPointer, with parser: JSONParser) {
        guard let value = try? parser.parse(line), let offset = value["offset"]?.asUInt64,
            let bytes = value["bytes"]?.asUInt64, let group = value["group"]?.asUInt64,
            let launch = value["launch"]?.asString,
            let ranges = Self.rows(value["ranges"], 2), let under = Self.rows(value["under"], 3),
            !offset.addingReportingOverflow(bytes).overflow
        else { return nil }
        self.offset = offset
        self.bytes = bytes
        self.group = group
        self.launch = launch
        self.ranges = ranges.map { SeqRange(first: JournalSeq($0[0]), count: $0[1]) }
        self.under = under.map {
            DeliverHeader.Under(
                range: SeqRange(first: JournalSeq($0[0]), count: $0[1]), transition: TransitionSeq($0[2]))
        }
        wallMs = value["time"]?.asString.flatMap { Timestamp.parse($0) } ?? 0
    }

    init(
        offset: UInt64, bytes: UInt64, group: UInt64, ranges: [SeqRange], launch: String,
        under: [DeliverHeader.Under],
        wallMs: Int64
    ) {
        self.offset = offset
        self.bytes = bytes
        self.group = group
        self.ranges = ranges
        self.launch = launch
        self.under = under
        self.wallMs = wallMs
    }

    private static func rows(_ value: JSONValue?, _ width: Int) -> [[UInt64]]? {
        guard let elements = value?.asArray else { return nil }
        var rows: [[UInt64]] = []
        for element in elements {
            guard let row = element.asArray?.compactMap(\.asUInt64), row.count == width, row[0] > 0,
                row[1] > 0,
                !row[0].addingReportingOverflow(row[1]).overflow
            else { return nil }
            rows.append(row)
        }
        return rows
    }
}
