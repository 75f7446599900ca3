import HoldgateClient

/// What must outlive a crash, as one small file: who is inside, through which event that is so, and the crossings
/// that the host may not have yet.
///
/// It is written before the readings are acknowledged, and only when there was a crossing: readings that come
/// again after a crash either crossed nothing then and cross nothing now, or are not past `through`. A batch of
/// crossings has its number in here, so that however often it is sent it is taken once.
struct Memory: Hashable, Sendable {
    struct Batch: Hashable, Sendable {
        let number: UInt64
        /// CloudEvents in JSON.
        let events: [String]
    }

    /// The launch of the host that all this belongs to; nil before the first.
    var launch: LaunchID?
    /// Readings up to this one are in `inside` and `outbox`.
    var through = JournalSeq.zero
    /// Batches' numbers belong to a run.
    var run: String
    /// The last number that was given.
    private(set) var lastBatch: UInt64 = 0
    var inside: [String: Set<String>] = [:]
    /// Readings that there was no room for: refused again where they come again, since those up to `through` are not
    /// looked at any more. The newest of them: the host has had the others' refusal long since.
    private(set) var refused: [JournalSeq] = []
    /// Oldest first. What the host has taken leaves with the next writing.
    private(set) var outbox: [Batch] = []

    /// A batch's events: far below what the host allows.
    static let batchEvents = 1000

    private static let refusedLimit = 1000

    init(run: String) { self.run = run }

    mutating func refuse(_ seq: JournalSeq) {
        guard !refused.contains(seq) else { return }
        if refused.count == Self.refusedLimit { refused.removeFirst() }
        refused.append(seq)
    }

    /// Puts crossings into the outbox.
    mutating func add(_ crossings: [Crossing]) {
        for start in stride(from: 0, to: crossings.count, by: Self.batchEvents) {
            let part = crossings[start..<min(start + Self.batchEvents, crossings.count)]
            lastBatch += 1
            outbox.append(Batch(number: lastBatch, events: part.map(\.event)))
        }
    }

    /// Forgets all but the numbers: a number is never used for anything else.
    mutating func forget() {
        launch = nil
        through = .zero
        refused = []
        inside = [:]
        outbox = []
    }

    /// The host has this one.
    mutating func settle(_ number: UInt64) { outbox.removeAll { $0.number == number } }

    // MARK: The file

    private static let format = "holdgate-geofence"
    private static let version: UInt64 = 1

    var text: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("format", Self.format)
        writer.member("version", Self.version)
        if let launch { writer.member("launch", launch.raw) }
        writer.member("through", through.raw)
        writer.member("run", run)
        writer.member("batch", lastBatch)
        writer.name("inside")
        writer.beginObject()
        for (subject, ids) in inside.sorted(by: { $0.key < $1.key }) {
            writer.member(subject, .array(ids.sorted().map { .string($0) }))
        }
        writer.endObject()
        if !refused.isEmpty { writer.member("refused", .array(refused.map { .uint($0.raw) })) }
        writer.name("outbox")
        writer.beginArray()
        for batch in outbox {
            writer.beginObject()
            writer.member("batch", batch.number)
            writer.member("events", .array(batch.events.map { .string($0) }))
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        writer.newline()
        return writer.text
    }

    /// Reads a file's text; throws what is wrong with it.
    init(text: [UInt8]) throws(MemoryError) {
        let value: JSONValue
        do {
            value = try JSONValue.parse(text)
        } catch {
            throw MemoryError(problem: error.message)
        }
        guard value["format"]?.asString == Self.format, value["version"]?.asUInt64 == Self.version else {
            throw MemoryError(problem: "not a state of this version of geofence")
        }
        guard let through = value["through"]?.asUInt64, let run = value["run"]?.asString,
            let last = value["batch"]?.asUInt64, let inside = value["inside"]?.asMembers,
            let outbox = value["outbox"]?.asArray
        else { throw MemoryError(problem: "a member is missing") }
        self.init(run: run)
        launch = value["launch"]?.asString.flatMap(LaunchID.init)
        self.through = JournalSeq(through)
        lastBatch = last
        for member in inside {
            self.inside[member.name] = Set(try Self.strings(member.value))
        }
        for each in value["refused"]?.asArray ?? [] {
            guard let seq = each.asUInt64 else { throw MemoryError(problem: "a refused reading has no seq") }
            refuse(JournalSeq(seq))
        }
        for each in outbox {
            guard let number = each["batch"]?.asUInt64 else {
                throw MemoryError(problem: "a batch has no number")
            }
            self.outbox.append(Batch(number: number, events: try Self.strings(each["events"])))
        }
    }

    private static func strings(_ value: JSONValue?) throws(MemoryError) -> [String] {
        guard let elements = value?.asArray else { throw MemoryError(problem: "a list is missing") }
        let strings = elements.compactMap(\.asString)
        guard strings.count == elements.count else {
            throw MemoryError(problem: "a list has more than strings")
        }
        return strings
    }
}

struct MemoryError: Error, Hashable, CustomStringConvertible {
    let problem: String
    var description: String { "the state can't be read: \(problem)" }
}
