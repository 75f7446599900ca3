import HoldgateClient

/// The events files and their receipts: each event once, whenever the process is killed.
///
/// A group of deliveries is taken in four steps, each after the one before has finished: append the events,
/// sync them, append the receipts, sync these. Only then may it be acknowledged. So, wherever it is cut off:
/// - a receipt on disk means that its events are there;
/// - events without a receipt were not acknowledged: they are cut off at the start, and come again;
/// - what has a receipt and comes again, its ack being lost, is known by its seqs and left out.
final class ReceiptedLog {
    struct Damage: Error, CustomStringConvertible {
        let description: String
    }

    private let directory: any Directory
    private let rotateBytes: UInt64
    private var number: Int
    private var events: any AppendFile
    private var receipts: any AppendFile
    /// Bytes of the present events file that have receipts.
    private var end: UInt64 = 0
    /// What the files that were read have. Older ones are read when something as old comes again.
    private var have = SeqSet()
    private var unread: [Int]
    private var writer = JSONWriter(capacity: 4096)
    private let parser = JSONParser()

    /// Opens the newest files, mended, or the first ones.
    ///
    /// - Parameter rotateBytes: an events file that has so many bytes is followed by the next.
    init(_ directory: any Directory, rotateBytes: UInt64) throws {
        self.directory = directory
        self.rotateBytes = rotateBytes
        let numbers = Set(try directory.names().compactMap { Self.number(of: $0) }).sorted()
        number = numbers.last ?? 1
        unread = numbers.dropLast()
        let names = Set(try directory.names())
        if !names.contains(Self.name(number, "ndjson")), names.contains(Self.name(number, "receipts")) {
            let receipts = try directory.open(Self.name(number, "receipts"))
            guard try receipts.byteCount() == 0 else {
                throw Damage(
                    description: "\(Self.name(number, "ndjson")) is missing, and its receipts are there")
            }
        }
        events = try directory.open(Self.name(number, "ndjson"))
        receipts = try directory.open(Self.name(number, "receipts"))
        try directory.sync()
        try mend()
    }

    /// `events-00000001.ndjson`
    static func name(_ number: Int, _ suffix: String) -> String {
        let digits = String(number)
        return "events-" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits + "." + suffix
    }

    private static func number(of name: String) -> Int? {
        guard name.hasPrefix("events-"), let dot = name.firstIndex(of: ".") else { return nil }
        let suffix = name[name.index(after: dot)...]
        guard suffix == "ndjson" || suffix == "receipts" else { return nil }
        return Int(name.dropFirst(7)[..<dot])
    }

    /// Cuts off what was never acknowledged, and notes what is there.
    private func mend() throws {
        let (found, validBytes) = try read(receipts, Self.name(number, "receipts"))
        end = found.last?.end ?? 0
        let size = try events.byteCount()
        guard size >= end else {
            throw Damage(
                description:
                    "\(Self.name(number, "ndjson")) has \(size) bytes, and receipts for \(end): events that "
                    + "were acknowledged are missing. Put the file back, or go on in another directory.")
        }
        if try receipts.byteCount() > validBytes {
            try receipts.truncate(to: validBytes)
            try receipts.sync()
        }
        if size > end {
            try events.truncate(to: end)
            try events.sync()
        }
        for receipt in found { note(receipt) }
    }

    /// The receipts that are whole and follow each other, and their bytes.
    ///
    /// The last group's pages may have reached the disk in any order: it ends at the first line that isn't
    /// right. A line of a later group behind that one means that the group had been synced: then it is
    /// damage.
    private func read(
        _ file: any AppendFile, _ name: String
    ) throws -> (receipts: [Receipt], bytes: UInt64) {
        let bytes = try file.read(Int(file.byteCount()), at: 0)
        var found: [Receipt] = []
        var valid = 0
        var isTorn = false
        var start = 0
        while let feed = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let receipt = bytes[start..<feed].withUnsafeBytes { Receipt(line: $0, with: parser) }
            start = feed + 1
            let end = found.last?.end ?? 0
            if let receipt, !isTorn, receipt.offset == end {
                found.append(receipt)
                valid = start
                continue
            }
            isTorn = true
            if let receipt, receipt.group > end {
                throw Damage(
                    description:
                        "\(name) is damaged after byte \(valid): the events from byte \(end) of its events "
                        + "file on have no receipt, and later ones do. Go on in another directory.")
            }
        }
        return (found, UInt64(valid))
    }

    private func note(_ receipt: Receipt) {
        for range in receipt.ranges { have.insert(range) }
    }

    // MARK: Taking deliveries

    /// Writes and syncs what of these is new. When it returns, all of them may be acknowledged; when it
    /// throws, the process must end and start again.
    func take(_ deliveries: [Delivery], wallMs: Int64) throws {
        var group = Group(end: end)
        for delivery in deliveries {
            try readOlder(than: delivery.header.ranges)
            let isNew = delivery.header.ranges.allSatisfy { have.missing(in: $0) == [$0] }
            let receipt = isNew ? group.addWhole(delivery, wallMs) : group.addNew(delivery, have, wallMs)
            if let receipt { note(receipt) }
        }
        guard !group.receipts.isEmpty else { return }
        try group.append(to: events)
        try events.sync()
        writer.reset()
        for receipt in group.receipts { receipt.write(into: &writer) }
        try writer.bytes.withUnsafeBytes { try receipts.append([$0]) }
        try receipts.sync()
        end = group.end
        if end >= rotateBytes { try rotate() }
    }

    /// Something as old as what an unread file may have: read that one's receipts first.
    private func readOlder(than ranges: [SeqRange]) throws {
        guard let first = ranges.map(\.first.raw).min() else { return }
        while let older = unread.last, first < have.first ?? .max {
            unread.removeLast()
            let name = Self.name(older, "receipts")
            let file = try directory.open(name)
            let (found, validBytes) = try read(file, name)
            guard try file.byteCount() == validBytes else {
                throw Damage(
                    description: "\(name) is damaged after byte \(validBytes). Go on in another directory.")
            }
            for receipt in found { note(receipt) }
        }
    }

    private func rotate() throws {
        number += 1
        events = try directory.open(Self.name(number, "ndjson"))
        receipts = try directory.open(Self.name(number, "receipts"))
        try directory.sync()
        end = 0
    }
}
