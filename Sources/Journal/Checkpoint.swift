import Ledger
import Lifecycle

/// What the host may know of a segment without reading it.
public struct SegmentFacts: Hashable, Sendable {
    /// 1 for the log's first segment, and one more for each that follows.
    public let number: UInt64
    /// The first event in it, or the next one to come if it has none.
    public let firstSeq: JournalSeq
    /// When its first block was read, in milliseconds since 1970; nil if it has none.
    public internal(set) var firstArrivalMs: Int64?
    /// When its newest block was read; nil if it has none.
    public internal(set) var newestArrivalMs: Int64?
    /// `Ledger.keptBytes` where it begins.
    public let keptBytesBefore: UInt64
}

/// A segment whose events may still be needed.
struct SegmentRecord: Hashable {
    var facts: SegmentFacts
    let generation: UInt64
    /// The number of its checkpoint's commit.
    let firstCommit: UInt64
}

/// The first record of each segment: with it, recovery needs nothing of the segments before.
struct Checkpoint: Hashable {
    var ledger: Ledger
    /// The log was emptied and the old bytes may still be there.
    var isPurging: Bool
    /// All live segments, oldest first; this one is the last.
    var segments: [SegmentRecord]

    init(ledger: Ledger, isPurging: Bool, segments: [SegmentRecord]) {
        self.ledger = ledger
        self.isPurging = isPurging
        self.segments = segments
    }

    func write(to writer: ByteWriter) {
        writer.put(RecordKind.checkpoint.rawValue)
        writer.put(UInt8(isPurging ? 1 : 0))
        writer.put(ledger.lastSeq.raw)
        writer.put(ledger.keptBytes)
        writer.put(UInt8(ledger.head == nil ? 0 : 1))
        if let head = ledger.head { RecordCodec.write(head, to: writer) }
        writer.put(UInt32(ledger.cursors.count))
        for (collector, cursor) in ledger.cursors.sorted(by: { $0.key < $1.key }) {
            writer.put(collector)
            writer.put(cursor.raw)
        }
        writer.put(UInt32(ledger.discarded.count))
        for range in ledger.discarded {
            writer.put(range.first.raw)
            writer.put(range.count)
        }
        writer.put(UInt32(ledger.apps.reports.count))
        for report in ledger.apps.reports { RecordCodec.write(report, to: writer) }
        writer.put(UInt32(ledger.producers.limit))
        writer.put(UInt32(ledger.producers.rows.count))
        for (producer, row) in ledger.producers.rows.sorted(by: { $0.value.heard < $1.value.heard }) {
            writer.put(producer)
            writer.put(row.run)
            writer.put(row.batch)
            writer.put(row.heard)
            writer.put(UInt8(row.superseded.count))
            for run in row.superseded { writer.put(run) }
        }
        writer.put(UInt32(segments.count))
        for segment in segments { segment.write(to: writer) }
    }

    init(_ reader: inout ByteReader) throws(BadRecord) {
        isPurging = try reader.take(UInt8.self) != 0
        let lastSeq = JournalSeq(try reader.take())
        let keptBytes = try reader.take(UInt64.self)
        let head = try reader.take(UInt8.self) != 0 ? try RecordCodec.takeHead(&reader) : nil
        var cursors: [String: JournalSeq] = [:]
        for _ in 0..<(try reader.takeCount(ofSize: 10)) {
            let collector = try reader.takeString()
            cursors[collector] = JournalSeq(try reader.take())
        }
        var discarded: [SeqRange] = []
        for _ in 0..<(try reader.takeCount(ofSize: 16)) {
            discarded.append(try RecordCodec.takeRange(&reader))
        }
        var apps = AppTable()
        for _ in 0..<(try reader.takeCount(ofSize: 11)) { apps.take(try RecordCodec.takeApp(&reader)) }
        let limit = Int(try reader.take(UInt32.self))
        guard limit > 0 else { throw BadRecord(what: "a table without room") }
        ledger = Ledger(producerLimit: limit)
        ledger.lastSeq = lastSeq
        ledger.keptBytes = keptBytes
        ledger.head = head
        ledger.cursors = cursors
        ledger.apps = apps
        for range in discarded { ledger.addDiscard(range) }
        for _ in 0..<(try reader.takeCount(ofSize: 21)) {
            let producer = try reader.takeString()
            let run = try reader.takeString()
            let batch = try reader.take(UInt64.self)
            let heard = try reader.take(UInt64.self)
            var superseded: [String] = []
            for _ in 0..<(try reader.take(UInt8.self)) { superseded.append(try reader.takeString()) }
            ledger.producers.restore(
                producer,
                ProducerTable.Row(run: run, batch: batch, superseded: superseded, heard: heard))
        }
        segments = []
        for _ in 0..<(try reader.takeCount(ofSize: 57)) { segments.append(try SegmentRecord(&reader)) }
        guard !segments.isEmpty else { throw BadRecord(what: "a checkpoint without a segment") }
    }
}

extension SegmentRecord {
    func write(to writer: ByteWriter) {
        writer.put(facts.number)
        writer.put(generation)
        writer.put(firstCommit)
        writer.put(facts.firstSeq.raw)
        writer.put(facts.keptBytesBefore)
        writer.put(UInt8(facts.firstArrivalMs == nil ? 0 : 1))
        writer.put(facts.firstArrivalMs ?? 0)
        writer.put(facts.newestArrivalMs ?? 0)
    }

    init(_ reader: inout ByteReader) throws(BadRecord) {
        let number = try reader.take(UInt64.self)
        generation = try reader.take()
        firstCommit = try reader.take()
        let firstSeq = JournalSeq(try reader.take())
        let keptBytesBefore = try reader.take(UInt64.self)
        let hasBlocks = try reader.take(UInt8.self) != 0
        let first = try reader.take(Int64.self)
        let newest = try reader.take(Int64.self)
        facts = SegmentFacts(
            number: number, firstSeq: firstSeq, firstArrivalMs: hasBlocks ? first : nil,
            newestArrivalMs: hasBlocks ? newest : nil, keptBytesBefore: keptBytesBefore)
    }
}
