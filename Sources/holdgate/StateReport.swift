import HoldgateClient
import HoldgateHost
import Journal
import Wire

/// What `journal check` found, for people and for programs.
struct StateReport {
    private let check: StateCheck

    init(_ check: StateCheck) { self.check = check }

    // MARK: For people

    var text: String {
        let verdict = check.isEmpty ? "there is no state here" : check.isSound ? "sound" : "not sound"
        var text = "\(check.path): \(verdict)\n"
        if !check.isEmpty { text += "\n" + Table.pairs(rows) }
        if !notes.isEmpty { text += "\n" + notes.map { Help.paragraphs($0) }.joined() }
        guard !check.isSound else { return text }
        text += "\n" + check.problems.map { "\($0.text)\n" }.joined()
        text += "Nothing was changed.\n"
        if check.problems.contains(where: \.isDamage) { text += StartError.damageAdvice + "\n" }
        return text
    }

    private var rows: [(String, String)] {
        var rows: [(String, String)] = []
        if let lifecycle = check.recovered.lifecycle {
            let since =
                check.recovered.last.map { ", since \(Timestamp.text(ms: $0.transition.wallMs))" } ?? ""
            let ended = check.recovered.isEnded ? ", ended" : ""
            rows.append(("launch", "\(lifecycle.launch)\(ended)"))
            rows.append(("state", "\(lifecycle.state.rawValue)\(since), transition \(lifecycle.seq)"))
        }
        rows.append(("history", history))
        rows.append(("journal", journal))
        for segment in check.journal?.segments ?? [] {
            let events =
                segment.lastSeq < segment.firstSeq
                ? "no events yet" : "events \(segment.firstSeq) to \(segment.lastSeq)"
            let size = "\(Table.bytes(segment.usedBytes)) of \(Table.bytes(segment.byteCount))"
            rows.append(("", "\(segment.file): \(events), \(size)"))
        }
        if check.journal != nil { rows.append(("queued", Report.events(check.queuedEvents))) }
        for (index, collector) in check.collectors.enumerated() {
            let lag =
                collector.lagEvents == 0 ? "nothing behind" : "\(Report.events(collector.lagEvents)) behind"
            rows.append((index == 0 ? "collectors" : "", "\(collector.name) at \(collector.cursor), \(lag)"))
        }
        if let letters = check.deadLetters { rows.append(("dead letters", "\(letters.count)")) }
        if let configuration = check.configuration {
            let count = configuration.asMembers?.count ?? 0
            rows.append(("configuration", count == 1 ? "1 member" : "\(count) members"))
        }
        rows.append(("keys", keys))
        rows.append(
            ("formats", Inspection.formats.map { "\($0.name) \($0.version)" }.joined(separator: ", ")))
        return rows
    }

    private var history: String {
        guard let history = check.history else { return "not readable" }
        let count = history.head?.n ?? 0
        let files = history.fileCount == 1 ? "1 file" : "\(history.fileCount) files"
        let tied = check.journal?.ledger.head == nil ? "" : ", and the journal's"
        return count == 1 ? "1 record, linked\(tied)" : "\(count) records in \(files), all linked\(tied)"
    }

    private var journal: String {
        guard let journal = check.journal else {
            return check.problems.isEmpty ? "none" : "not readable"
        }
        let bytes = journal.segments.reduce(0) { $0 + $1.byteCount }
        let count = journal.segments.count == 1 ? "1 segment" : "\(journal.segments.count) segments"
        return
            "\(count), \(Table.bytes(bytes)), \(journal.commits) commits, last event \(journal.ledger.lastSeq)"
    }

    private var keys: String {
        let mode = check.keysMode.map { ", the folder's mode is \(octal($0))" } ?? ""
        guard let count = check.authorized else { return "none: nobody is asked\(mode)" }
        return "\(count) authorised\(mode)"
    }

    private func octal(_ mode: UInt32) -> String { "0" + String(mode, radix: 8) }

    /// What is worth knowing, and keeps no host from starting.
    private var notes: [String] {
        var notes: [String] = []
        if case .copied(let what) = check.origin {
            notes.append(
                "It was copied or restored (\(what)): a host goes on with it with --restored alone, in a new launch, held."
            )
        }
        for torn in tornEnds {
            notes.append(
                "\(torn.file) has a torn end: \(torn.bytes) bytes of what was being written when the host went down. The next "
                    + "start drops them; nobody was answered for them.")
        }
        if check.recovered.mustPurge || check.journal?.isPurging == true {
            notes.append("It was killed: the next start removes again all but the history.")
        }
        if let mode = check.keysMode, mode & 0o077 != 0 {
            notes.append(
                "The folder keys can be entered by others (mode \(octal(mode))): chmod 700 \(check.path)/keys"
            )
        }
        return notes
    }

    private var tornEnds: [(file: String, bytes: UInt64)] {
        var torn: [(file: String, bytes: UInt64)] = []
        if let journal = check.journal, journal.tornBytes > 0 {
            torn.append((journal.newestFile, journal.tornBytes))
        }
        if let history = check.history, history.tornBytes > 0 {
            torn.append((history.newestFile, history.tornBytes))
        }
        if let letters = check.deadLetters, letters.tornBytes > 0 {
            torn.append((DeadLetters.fileName, letters.tornBytes))
        }
        return torn
    }

    // MARK: For programs

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("sound", .bool(check.isSound)), .init("stateDir", .string(check.path)),
            .init("origin", .string(origin)),
        ]
        if let lifecycle = check.recovered.lifecycle {
            members += [
                .init("launch", .string(lifecycle.launch.raw)),
                .init("state", .string(lifecycle.state.rawValue)),
                .init("seq", .uint(lifecycle.seq.raw)), .init("ended", .bool(check.recovered.isEnded)),
            ]
            if let last = check.recovered.last {
                members.append(.init("since", .string(Timestamp.text(ms: last.transition.wallMs))))
            }
        }
        if let history = check.history { members.append(.init("history", json(history))) }
        if let journal = check.journal { members.append(.init("journal", json(journal))) }
        members.append(.init("collectors", .array(check.collectors.map(json))))
        if let letters = check.deadLetters {
            members.append(.init("deadLetters", .int(Int64(letters.count))))
        }
        if check.configuration != nil { members.append(.init("configuration", .string("readable"))) }
        members.append(.init("authorizedKeys", check.authorized.map { .int(Int64($0)) } ?? .null))
        members.append(.init("keysMode", check.keysMode.map { .string(octal($0)) } ?? .null))
        members.append(
            .init("formats", .object(Inspection.formats.map { .init($0.name, .uint($0.version)) })))
        let torn = tornEnds.map { end in
            JSONValue.object([.init("file", .string(end.file)), .init("bytes", .uint(end.bytes))])
        }
        members.append(.init("tornEnds", .array(torn)))
        members.append(.init("notes", .array(notes.map { .string($0) })))
        members.append(.init("problems", .array(check.problems.map(json))))
        return .object(members)
    }

    private var origin: String {
        switch check.origin {
        case .new: "empty"
        case .own: "own"
        case .copied: "copied"
        }
    }

    private func json(_ history: Inspection.History) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("records", .uint(history.head?.n ?? 0)), .init("files", .int(Int64(history.fileCount))),
            .init("bytes", .uint(history.byteCount)),
        ]
        if let head = history.head { members.append(.init("hash", .string(head.hash))) }
        return .object(members)
    }

    private func json(_ journal: Inspection.Journal) -> JSONValue {
        let segments = journal.segments.map { segment in
            JSONValue.object([
                .init("file", .string(segment.file)), .init("bytes", .uint(segment.byteCount)),
                .init("usedBytes", .uint(segment.usedBytes)), .init("firstSeq", .uint(segment.firstSeq.raw)),
                .init("lastSeq", .uint(segment.lastSeq.raw)),
            ])
        }
        return .object([
            .init("segments", .array(segments)), .init("commits", .uint(journal.commits)),
            .init("lastSeq", .uint(journal.ledger.lastSeq.raw)),
            .init("doneThrough", .uint(journal.ledger.doneThrough.raw)),
            .init("queuedEvents", .uint(check.queuedEvents)), .init("purging", .bool(journal.isPurging)),
        ])
    }

    private func json(_ collector: (name: String, cursor: JournalSeq, lagEvents: UInt64)) -> JSONValue {
        .object([
            .init("name", .string(collector.name)), .init("cursor", .uint(collector.cursor.raw)),
            .init("lagEvents", .uint(collector.lagEvents)),
        ])
    }

    private func json(_ problem: StateCheck.Problem) -> JSONValue {
        .object([
            .init("file", problem.file.map { .string($0) } ?? .null), .init("text", .string(problem.text)),
            .init("damage", .bool(problem.isDamage)),
        ])
    }
}
