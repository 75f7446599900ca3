import Access
import Ledger
import Lifecycle
import Wire

// Who may do what. Where the host asks for no keys everybody is `Caller.anybody`, and may do all.
extension Engine {
    /// Answers what its sender has no role for; lifecycle commands go into the history, too.
    mutating func isAllowed(
        _ request: ControlRequest, _ requester: Requester, _ caller: Caller, now: Now,
        into effects: inout [Effect]
    ) -> Bool {
        let command = request.command
        guard let missing = caller.missing(for: command.requirement, to: command.name) else { return true }
        statistics.forbidden += 1
        refuse(request, requester, WireError(.forbidden, missing), into: &effects)
        if command.isLifecycle, let name = caller.name, forbidden.note(name, command.name) {
            recordForbidden(now: now, into: &effects)
        }
        return false
    }

    mutating func forbids(_ hello: PluginMessage.Hello, _ caller: Caller) -> WireError? {
        var missing: [String] = []
        func need(_ requirement: Requirement, _ what: String) {
            if let text = caller.missing(for: requirement, to: what) { missing.append(text) }
        }
        if hello.collect != nil { need(PluginMessage.Hello.collectRequirement, "a collector") }
        if !hello.services.isEmpty { need(PluginMessage.Hello.serveRequirement, "a provider") }
        if hello.collect == nil, hello.services.isEmpty {
            need(PluginMessage.Hello.listenRequirement, "a plugin")
            missing += Self.unheard(by: caller)
        }
        if let name = caller.name, !caller.owns(hello.name) {
            missing.append("\(hello.name) is not a name of \(name): its plugins are \(name), or \(name)/…")
        }
        guard let first = missing.first else { return nil }
        statistics.forbidden += 1
        return WireError(.forbidden, first)
    }

    /// Every plugin is told of the state and of apps: who has no role but `observe` must be granted both.
    private static func unheard(by caller: Caller) -> [String] {
        let permissions = caller.permissions
        guard permissions.has(.observe), !permissions.has(.collect), !permissions.has(.serve) else {
            return []
        }
        return ["state", "app."].filter { !permissions.reaches(.observe, $0) }.map {
            "a plugin is told of \($0), and \(caller.name ?? "this caller") has \(permissions.text)"
        }
    }

    /// Whether this caller may send a batch of that producer, and events of these types; nil: it may.
    ///
    /// - Parameter firstBad: the index of the first event whose type a prefix doesn't reach, if one is there.
    public mutating func forbidsProducing(
        _ producer: String?, _ caller: Caller, firstBad: (Permissions) -> (index: Int, type: String)?
    ) -> WireError? {
        var error: WireError?
        if let missing = caller.missing(for: IngestHeader.requirement, to: "sending events") {
            error = WireError(.forbidden, missing)
        } else if let name = caller.name {
            if let producer, !caller.owns(producer) {
                error = WireError(
                    .forbidden,
                    "\(producer) is not a name of \(name): its producers are \(name), or \(name)/…")
            } else if let bad = firstBad(caller.permissions) {
                error = WireError(
                    .forbidden,
                    "event \(bad.index) has the type \(bad.type), and \(name) has \(caller.permissions.text)",
                    index: bad.index)
            }
        }
        if error != nil { statistics.forbidden += 1 }
        return error
    }

    /// A subscription that is not granted.
    public mutating func noteForbidden() { statistics.forbidden += 1 }

    /// Every connection of plugins is cut, so that all have to prove again who they are.
    public mutating func cutOff(_ reason: String, now: Now, into effects: inout [Effect]) {
        strangers.removeAll()
        for peer in attachments.keys.sorted() {
            detach(peer, change: .detached, reason: reason, into: &effects)
        }
    }

    mutating func recordForbidden(now: Now, into effects: inout [Effect]) {
        for row in forbidden.takeDue(nowMs: now.monotonicMs, everyMs: configuration.discardRecordMs) {
            var facts = RecordFacts()
            facts.forbidden = row
            take(.note(command: "forbidden", facts), nil, from: nil, now: now, into: &effects)
        }
    }
}

/// Lifecycle commands that their senders have no role for, on their way into the history: the first of a name and a
/// command at once, and then a sum at most once in a while, so that nobody fills the disk with them.
struct ForbiddenTable: Hashable, Sendable {
    private struct Key: Hashable, Sendable {
        let name: String
        let command: String
    }
    private struct Row: Hashable, Sendable {
        var count: UInt64
        var dueMs: Int64?
    }
    private var rows: [Key: Row] = [:]

    /// Pairs that are told apart; names are those of the authorised keys, so more are hardly ever there.
    private static let limit = 4096

    /// Whether it may be due at once.
    mutating func note(_ name: String, _ command: String) -> Bool {
        let key = Key(name: name, command: command)
        guard rows[key] != nil || rows.count < Self.limit else { return false }
        rows[key, default: Row(count: 0, dueMs: nil)].count += 1
        return true
    }

    /// The history had no room for it.
    mutating func takeBack(_ row: Forbidden) {
        let key = Key(name: row.name, command: row.command)
        rows[key, default: Row(count: 0, dueMs: nil)].count += row.count
    }

    /// The sums that are due, and no more of those for `everyMs`.
    mutating func takeDue(nowMs: Int64, everyMs: Int64) -> [Forbidden] {
        var due: [Forbidden] = []
        for (key, row) in rows where row.dueMs ?? nowMs <= nowMs {
            if row.count > 0 {
                due.append(Forbidden(name: key.name, command: key.command, count: row.count))
                rows[key] = Row(count: 0, dueMs: nowMs + everyMs)
            } else {
                rows[key] = nil
            }
        }
        return due.sorted { ($0.name, $0.command) < ($1.name, $1.command) }
    }
}
