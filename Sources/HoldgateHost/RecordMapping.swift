import Engine
import Journal
import Ledger
import Lifecycle
import Wire

// The engine's records as the history writes them, and back.

extension HistoryDraft {
    public init(_ record: Record) {
        self.init(
            wallMs: record.wallMs, launch: record.launch, seq: record.seq, state: record.state,
            previous: record.previous, command: record.command, through: record.through,
            source: record.source,
            reason: record.facts.discardReason?.rawValue ?? record.reason,
            extra: HistoryExtras(record.facts, source: record.source).members)
        if let forbidden = record.facts.forbidden {
            extra.append(.init("forbidden", .string(forbidden.command)))
            extra.append(.init("count", .uint(forbidden.count)))
        }
        if let restart = record.facts.restart { extra.append(.init("restart", .bool(restart))) }
    }
}

extension HistoryExtras {
    init(_ facts: RecordFacts, source: String?) {
        self.init(
            remembered: facts.remembered.map {
                RememberedReply(
                    key: $0.key, source: source, fingerprint: $0.fingerprint, reply: $0.reply.text)
            },
            lease: facts.lease, gatedEvents: facts.gatedEvents, discardedThrough: facts.discardedThrough,
            released: facts.releasedThrough,
            pending: facts.pending, undelivered: facts.undelivered, discarded: facts.discarded,
            inFlight: facts.inFlight.map { inFlight in
                inFlight.sorted { $0.key < $1.key }.map { InFlightRanges(name: $0.key, ranges: $0.value) }
            },
            collector: facts.collector)
    }
}

extension ControlReply {
    /// The reply as JSON text.
    var text: String {
        var writer = JSONWriter()
        write(into: &writer)
        return writer.text
    }
}

extension RememberedReplies {
    /// The launch's replies, from its records.
    public init(_ rows: [RememberedReply], limit: Int) throws(WireError) {
        self.init(limit: limit)
        let parser = JSONParser()
        /// Members that every reply has, which the engine keeps apart.
        let common: Set<String> = ["v", "id", "ok", "state", "isOperating", "seq", "launch"]
        for row in rows {
            let bytes = Array(row.reply.utf8)
            let decoded = try bytes.withUnsafeBytes { raw in
                Result { () throws(WireError) in try DecodedReply.parse(raw, with: parser) }
            }.get()
            let members = (decoded.members.asMembers ?? []).filter { !common.contains($0.name) }
            remember(
                Key(source: row.source, key: row.key),
                Entry(fingerprint: row.fingerprint, status: decoded.status, members: members))
        }
    }
}
