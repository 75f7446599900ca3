import HoldgateClient
import SQLite

/// What a store begins with: a JSON file.
///
/// ```json
/// {"permissions":{"email":true},
///  "categories":[{"id":"news","name":"News","enabled":true}],
///  "coupons":[{"id":"c-1","code":"SPRING20","title":"20 % off","message":"Until Sunday.",
///              "time":"2026-03-01T12:00:00.000Z","expires":"2026-04-01T00:00:00.000Z","data":{}}],
///  "inbox":[{"id":"m-1","category":"news","title":"Hello","message":"Welcome.","status":"unread",
///            "time":"2026-03-01T12:00:00.000Z","data":{}}]}
/// ```
///
/// What the store has already, by its id, stays as it is: the same seed at each start undoes no change.
struct Seed {
    private let value: JSONValue

    init(_ text: [UInt8]) throws(SeedError) {
        do {
            value = try JSONValue.parse(text)
        } catch {
            throw SeedError(problem: error.message)
        }
        guard value.asMembers != nil else { throw SeedError(problem: "it is no object") }
    }

    /// All of it, or nothing.
    func plant(in store: EngagementStore) throws {
        try store.database.transaction {
            for member in value["permissions"]?.asMembers ?? [] { try permission(member, store) }
            for (place, each) in try list("categories") { try category(place, each, store) }
            for (place, each) in try list("coupons") { try coupon(place, each, store) }
            for (place, each) in try list("inbox") { try item(place, each, store) }
            let count = try store.database.run("SELECT COUNT(*) FROM categories").first?[0].asInt ?? 0
            guard count <= EngagementStore.categoryLimit else {
                throw SeedError(problem: "more than \(EngagementStore.categoryLimit) categories")
            }
        }
    }

    private func permission(_ member: JSONValue.Member, _ store: EngagementStore) throws {
        guard ["email", "sms", "whatsApp"].contains(member.name), let granted = member.value.asBool else {
            throw SeedError(
                problem: "permissions.\(member.name): email, sms and whatsApp are true or false")
        }
        try store.database.run(
            "INSERT OR IGNORE INTO permissions VALUES (?, ?)", [.text(member.name), .int(granted ? 1 : 0)])
    }

    private func category(_ place: String, _ each: JSONValue, _ store: EngagementStore) throws {
        guard let enabled = each["enabled"]?.asBool else {
            throw SeedError(problem: "\(place).enabled must be true or false")
        }
        try store.database.run(
            "INSERT OR IGNORE INTO categories (id, name, enabled) VALUES (?, ?, ?)",
            [try id(place, each, "id"), try text(place, each, "name"), .int(enabled ? 1 : 0)])
    }

    private func coupon(_ place: String, _ each: JSONValue, _ store: EngagementStore) throws {
        let expires = try each["expires"].map { _ in Timestamp.text(ms: try time(place, each, "expires")) }
        let timeMs = try each["time"].map { _ in try time(place, each, "time") }
        try store.database.run(
            """
            INSERT OR IGNORE INTO coupons (id, time, code, title, message, expires, data)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                try id(place, each, "id"), .int(timeMs ?? 0), try text(place, each, "code"),
                try text(place, each, "title"), try text(place, each, "message"), .text(expires ?? ""),
                try data(place, each),
            ])
    }

    private func item(_ place: String, _ each: JSONValue, _ store: EngagementStore) throws {
        guard let status = each["status"]?.asString.flatMap(EngagementStore.Status.init(rawValue:)) else {
            throw SeedError(problem: "\(place).status must be read or unread")
        }
        let category = try id(place, each, "category")
        try store.database.run("INSERT OR IGNORE INTO labels (name) VALUES (?)", [category])
        try store.database.run(
            """
            INSERT OR IGNORE INTO inbox (id, label, time, status, title, message, data)
            VALUES (?, (SELECT row FROM labels WHERE name = ?), ?, ?, ?, ?, ?)
            """,
            [
                try id(place, each, "id"), category, .int(try time(place, each, "time")),
                .text(status.rawValue), try text(place, each, "title"), try text(place, each, "message"),
                try data(place, each),
            ])
    }

    // MARK: Members

    private func list(_ name: String) throws(SeedError) -> [(place: String, value: JSONValue)] {
        guard let list = value[name] else { return [] }
        guard let elements = list.asArray else { throw SeedError(problem: "\(name) must be a list") }
        return elements.enumerated().map { ("\(name)[\($0)]", $1) }
    }

    private func text(_ place: String, _ each: JSONValue, _ name: String) throws(SeedError) -> SQLite.Value {
        guard let text = each[name]?.asString else {
            throw SeedError(problem: "\(place).\(name) must be a string")
        }
        return .text(text)
    }

    private func id(_ place: String, _ each: JSONValue, _ name: String) throws(SeedError) -> SQLite.Value {
        guard let id = each[name]?.asString, Arguments.idBytes.contains(id.utf8.count) else {
            throw SeedError(
                problem: "\(place).\(name) must be a string of 1 to \(Arguments.idBytes.upperBound) bytes")
        }
        return .text(id)
    }

    private func time(_ place: String, _ each: JSONValue, _ name: String) throws(SeedError) -> Int64 {
        guard let ms = each[name]?.asString.flatMap(Timestamp.parse) else {
            throw SeedError(problem: "\(place).\(name) must be a time as 2026-03-01T12:00:00.000Z")
        }
        return ms
    }

    private func data(_ place: String, _ each: JSONValue) throws(SeedError) -> SQLite.Value {
        guard let data = each["data"] else { return .text("") }
        guard data.asMembers != nil else { throw SeedError(problem: "\(place).data must be an object") }
        return .text(data.text)
    }
}

struct SeedError: Error, Hashable, CustomStringConvertible {
    let problem: String
    var description: String { problem }
}
