import HoldgateClient
import SQLite

/// The tables. Every query is bounded, and a change is durable when its call returns.
final class EngagementStore {
    enum Status: String, Hashable, Sendable, CaseIterable {
        case read
        case unread
    }

    let database: SQLite

    /// - Parameter path: of the database, which is made where it is missing; ":memory:" for tests.
    init(_ path: String) throws(SQLiteError) {
        database = try SQLite(path)
        for table in [
            "permissions (name TEXT PRIMARY KEY, granted INTEGER NOT NULL) WITHOUT ROWID",
            """
            coupons (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, code TEXT NOT NULL,
            title TEXT NOT NULL, message TEXT NOT NULL, expires TEXT NOT NULL, data TEXT NOT NULL)
            """,
            // Categories of items by number, so that a cursor stays short.
            "labels (row INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
            """
            inbox (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label INTEGER NOT NULL REFERENCES labels,
            time INTEGER NOT NULL, status TEXT NOT NULL, title TEXT NOT NULL, message TEXT NOT NULL, data TEXT NOT NULL)
            """,
            "categories (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, enabled INTEGER NOT NULL)",
        ] { try database.run("CREATE TABLE IF NOT EXISTS \(table)") }
        for index in [
            "coupons_by_time ON coupons (time DESC, row DESC)",
            "inbox_by_time ON inbox (time DESC, row DESC)",
            "inbox_by_label ON inbox (label, status)",
        ] { try database.run("CREATE INDEX IF NOT EXISTS \(index)") }
    }

    // MARK: Permissions

    func isGranted(_ permission: String) throws(SQLiteError) -> Bool {
        let rows = try database.run("SELECT granted FROM permissions WHERE name = ?", [.text(permission)])
        return rows.first?[0].asInt == 1
    }

    func grant(_ permission: String, _ granted: Bool) throws(SQLiteError) {
        try database.run(
            "INSERT INTO permissions VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET granted = excluded.granted",
            [.text(permission), .int(granted ? 1 : 0)])
    }

    // MARK: Coupons

    /// The newest first.
    func coupons(page: Int64, max: Int64) throws(SQLiteError) -> (coupons: [JSONValue], total: Int64) {
        let total = try database.run("SELECT COUNT(*) FROM coupons").first?[0].asInt ?? 0
        // Past the end there are none, and no number is too large.
        guard page <= total / max else { return ([], total) }
        let rows = try database.run(
            """
            SELECT id, code, title, message, expires, data FROM coupons ORDER BY time DESC, row DESC LIMIT ? OFFSET ?
            """, [.int(max), .int(page * max)])
        let coupons = rows.map { row -> JSONValue in
            var members = Self.texts(["id", "code", "title", "message"], row)
            if let expires = row[4].asText, !expires.isEmpty {
                members.append(.init("expires", .string(expires)))
            }
            if let data = row[5].asText, !data.isEmpty { members.append(.init("data", .raw(data))) }
            return .object(members)
        }
        return (coupons, total)
    }

    // MARK: Inbox

    /// The store's numbers of these categories; those that no item has are left out.
    func labels(_ names: [String]) throws(SQLiteError) -> [Int64] {
        var numbers: Set<Int64> = []
        for name in names {
            let rows = try database.run("SELECT row FROM labels WHERE name = ?", [.text(name)])
            if let number = rows.first?[0].asInt { numbers.insert(number) }
        }
        return numbers.sorted()
    }

    /// The items at `place`, the newest first, and where it goes on.
    func items(at place: InboxPlace) throws(SQLiteError) -> (items: [JSONValue], next: InboxPlace) {
        var conditions: [String] = []
        var values: [SQLite.Value] = []
        if let after = place.after {
            conditions.append("(time, inbox.row) < (?, ?)")
            values += [.int(after.timeMs), .int(after.row)]
        }
        if place.filter != .both {
            conditions.append("status = ?")
            values.append(.text(place.filter.rawValue))
        }
        if let categories = place.categories {
            conditions.append("label IN (\(categories.map { _ in "?" }.joined(separator: ", ")))")
            values += categories.map { .int($0) }
        }
        let filter = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        // One more than the page says whether it is the last.
        let rows = try database.run(
            """
            SELECT id, labels.name, title, message, status, data, time, inbox.row FROM inbox
            JOIN labels ON labels.row = label \(filter) ORDER BY time DESC, inbox.row DESC LIMIT ?
            """, values + [.int(place.pageSize + 1)])
        let page = rows.prefix(Int(place.pageSize))
        var next = place
        next.isEnd = page.count == rows.count
        if let last = page.last, let timeMs = last[6].asInt, let row = last[7].asInt {
            next.after = InboxPlace.After(timeMs: timeMs, row: row)
        }
        let items = page.map { row -> JSONValue in
            var members = Self.texts(["id", "category", "title", "message", "status"], row)
            members.append(.init("time", .string(Timestamp.text(ms: row[6].asInt ?? 0))))
            if let data = row[5].asText, !data.isEmpty { members.append(.init("data", .raw(data))) }
            return .object(members)
        }
        return (items, next)
    }

    func counts(_ categories: [Int64]?) throws(SQLiteError) -> (read: Int64, unread: Int64) {
        let marks = categories.map { $0.map { _ in "?" }.joined(separator: ", ") }
        let filter = marks.map { "WHERE label IN (\($0))" } ?? ""
        let rows = try database.run(
            "SELECT status, COUNT(*) FROM inbox \(filter) GROUP BY status",
            (categories ?? []).map { .int($0) })
        var counts: [String: Int64] = [:]
        for row in rows { counts[row[0].asText ?? ""] = row[1].asInt }
        return (counts[Status.read.rawValue] ?? 0, counts[Status.unread.rawValue] ?? 0)
    }

    /// Sets the status of all, or, where one is not there, of none: then its id is thrown.
    func update(_ ids: [String], to status: Status) throws -> Int64 {
        try database.transaction {
            var updated: Int64 = 0
            for id in ids {
                let rows = try database.run("SELECT status FROM inbox WHERE id = ?", [.text(id)])
                guard let before = rows.first?[0].asText else { throw UnknownID(id: id) }
                guard before != status.rawValue else { continue }
                try database.run(
                    "UPDATE inbox SET status = ? WHERE id = ?", [.text(status.rawValue), .text(id)])
                updated += 1
            }
            return updated
        }
    }

    // MARK: Category preferences

    /// At most so many are read from a seed; all are answered at once.
    static let categoryLimit = 1000

    func categories() throws(SQLiteError) -> [JSONValue] {
        try database.run("SELECT id, name, enabled FROM categories ORDER BY row").map { row in
            .object(Self.texts(["id", "name"], row) + [.init("enabled", .bool(row[2].asInt == 1))])
        }
    }

    /// False where there is no such category.
    func set(_ category: String, enabled: Bool) throws(SQLiteError) -> Bool {
        let rows = try database.run(
            "UPDATE categories SET enabled = ? WHERE id = ? RETURNING id",
            [.int(enabled ? 1 : 0), .text(category)])
        return !rows.isEmpty
    }

    private static func texts(_ names: [String], _ row: [SQLite.Value]) -> [JSONValue.Member] {
        zip(names, row).map { JSONValue.Member($0, .string($1.asText ?? "")) }
    }
}

/// Nothing has this identifier.
struct UnknownID: Error, Hashable {
    let id: String
}
