import HoldgateClient

/// Deliveries that are written together: pointers to whole frames, copies of the lines of those that overlap.
struct Group {
    private enum Part {
        case frame(EventsFrame)
        case bytes([UInt8])
    }

    /// Frames up to this size are copied together: a call with thousands of small parts is slower than the
    /// copy.
    private static let copiedBytes = 16 << 10
    private static let sliceParts = 64

    private var parts: [Part] = []
    private let start: UInt64
    private(set) var receipts: [Receipt] = []
    /// The events file's bytes once this is written.
    private(set) var end: UInt64

    init(end: UInt64) {
        start = end
        self.end = end
    }

    /// Takes a delivery of which nothing is there yet. Its lines are not looked at.
    mutating func addWhole(_ delivery: Delivery, _ wallMs: Int64) -> Receipt? {
        let offset = end
        for frame in delivery.frames where frame.byteCount > 0 {
            let endsLine = frame.withBytes { $0.last == UInt8(ascii: "\n") }
            if frame.byteCount > Self.copiedBytes {
                parts.append(.frame(frame))
                end += UInt64(frame.byteCount)
            } else {
                frame.withBytes { add($0) }
            }
            // The last line of a frame may come without its line feed.
            if !endsLine { add([UInt8(ascii: "\n")]) }
        }
        return receipt(delivery, delivery.header.ranges, from: offset, wallMs)
    }

    private mutating func add(_ bytes: some Collection<UInt8>) {
        end += UInt64(bytes.count)
        if case .bytes(var last)? = parts.last, last.count < Self.copiedBytes {
            // Taken out first, so that it is not copied.
            parts.removeLast()
            last.append(contentsOf: bytes)
            parts.append(.bytes(last))
        } else {
            parts.append(.bytes(Array(bytes)))
        }
    }

    /// Takes the lines whose seqs `have` lacks; nil where it has all.
    mutating func addNew(_ delivery: Delivery, _ have: SeqSet, _ wallMs: Int64) -> Receipt? {
        var seen = have
        var ranges: [SeqRange] = []
        for range in delivery.header.ranges {
            ranges += seen.missing(in: range)
            seen.insert(range)
        }
        guard !ranges.isEmpty else { return nil }
        var bytes: [UInt8] = []
        var wanted = ranges[...]
        delivery.forEachEvent { seq, line in
            while let range = wanted.first, range.last < seq { wanted = wanted.dropFirst() }
            guard let range = wanted.first, range.contains(seq) else { return }
            bytes.append(contentsOf: line)
            bytes.append(UInt8(ascii: "\n"))
        }
        let offset = end
        add(bytes)
        return receipt(delivery, ranges, from: offset, wallMs)
    }

    private mutating func receipt(
        _ delivery: Delivery, _ ranges: [SeqRange], from offset: UInt64, _ wallMs: Int64
    ) -> Receipt {
        let receipt = Receipt(
            offset: offset, bytes: end - offset, group: start, ranges: ranges,
            launch: delivery.header.launch.raw,
            under: Self.cut(delivery.header.under, to: ranges), wallMs: wallMs)
        receipts.append(receipt)
        return receipt
    }

    /// What of `under` speaks of `ranges`.
    private static func cut(_ under: [DeliverHeader.Under], to ranges: [SeqRange]) -> [DeliverHeader.Under] {
        var result: [DeliverHeader.Under] = []
        for each in under {
            for range in ranges {
                let first = max(each.range.first, range.first)
                let last = min(each.range.last, range.last)
                guard let common = SeqRange(first: first, through: last) else { continue }
                result.append(DeliverHeader.Under(range: common, transition: each.transition))
            }
        }
        return result
    }

    /// Writes all parts at the file's end.
    func append(to file: any AppendFile) throws {
        // In slices, since those of one call are nested.
        for start in stride(from: 0, to: parts.count, by: Self.sliceParts) {
            var pointers: [UnsafeRawBufferPointer] = []
            try append(parts[start..<min(start + Self.sliceParts, parts.count)], &pointers, to: file)
        }
    }

    /// Nested, since each part's pointer is good inside its closure alone.
    private func append(
        _ rest: ArraySlice<Part>, _ pointers: inout [UnsafeRawBufferPointer], to file: any AppendFile
    ) throws {
        guard let part = rest.first else { return try file.append(pointers) }
        switch part {
        case .frame(let frame):
            try frame.withBytes { bytes in
                pointers.append(bytes)
                try append(rest.dropFirst(), &pointers, to: file)
            }
        case .bytes(let bytes):
            try bytes.withUnsafeBytes { bytes in
                pointers.append(bytes)
                try append(rest.dropFirst(), &pointers, to: file)
            }
        }
    }
}
