import HoldgateClient
import SQLite

/// Answers the services' requests from a store.
struct Engagement {
    let store: EngagementStore

    /// The service's prefix, and the permission's name in the store.
    private static let permissions = [
        "emailPermission": "email", "smsPermission": "sms", "whatsAppPermission": "whatsApp",
    ]

    static let services: [String] =
        permissions.keys.sorted().flatMap { ["\($0).get", "\($0).set"] } + [
            "coupons.fetch", "inbox.fetch", "inbox.next", "inbox.counts", "inbox.update",
            "categoryPreferences.get", "categoryPreferences.set",
        ]

    static let couponPages: ClosedRange<Int64> = 0...1_000_000_000

    func answer(_ service: String, _ arguments: JSONValue) -> Service.Outcome {
        do {
            guard arguments.asMembers != nil else {
                throw WireError(.invalidArgument, "arguments must be an object")
            }
            return .success(.object(try members(service, Arguments(arguments))))
        } catch let error as WireError {
            return .failure(error)
        } catch {
            return .failure(WireError(.internalError, "the store failed: \(error)"))
        }
    }

    private func members(_ service: String, _ arguments: Arguments) throws -> [JSONValue.Member] {
        switch service {
        case "coupons.fetch": return try coupons(arguments)
        case "inbox.fetch": return try firstPage(arguments)
        case "inbox.next": return try nextPage(arguments)
        case "inbox.counts": return try counts(arguments)
        case "inbox.update": return try update(arguments)
        case "categoryPreferences.get": return [.init("categories", .array(try store.categories()))]
        case "categoryPreferences.set": return try prefer(arguments)
        default: return try permission(service, arguments)
        }
    }

    private func permission(_ service: String, _ arguments: Arguments) throws -> [JSONValue.Member] {
        let parts = service.split(separator: ".").map(String.init)
        guard parts.count == 2, let permission = Self.permissions[parts[0]],
            ["get", "set"].contains(parts[1])
        else { throw WireError(.unknownService, "no service \(service) here") }
        if parts[1] == "set" { try store.grant(permission, try arguments.bool("granted")) }
        return [.init("granted", .bool(try store.isGranted(permission)))]
    }

    private func coupons(_ arguments: Arguments) throws -> [JSONValue.Member] {
        let page = try arguments.int("page", in: Self.couponPages, default: 0)
        let max = try arguments.int("max", in: 1...100, default: 10)
        let found = try store.coupons(page: page, max: max)
        return [
            .init("coupons", .array(found.coupons)), .init("page", .int(page)), .init("max", .int(max)),
            .init("total", .int(found.total)),
        ]
    }

    private func firstPage(_ arguments: Arguments) throws -> [JSONValue.Member] {
        try page(
            InboxPlace(
                filter: try arguments.choice("status", default: InboxPlace.Filter.both),
                categories: try categories(arguments),
                pageSize: try arguments.int("pageSize", in: InboxPlace.pageSizes, default: 10)))
    }

    private func nextPage(_ arguments: Arguments) throws -> [JSONValue.Member] {
        guard let text = arguments.value["cursor"]?.asString, let place = InboxPlace(cursor: text) else {
            throw Arguments.invalid("cursor", "must be that of a page before")
        }
        guard !place.isEnd else { throw WireError(.noMorePages, "the page before was the last") }
        return try page(place)
    }

    private func page(_ place: InboxPlace) throws -> [JSONValue.Member] {
        let found = try store.items(at: place)
        return [
            .init("items", .array(found.items)), .init("cursor", .string(found.next.cursor)),
            .init("isLast", .bool(found.next.isEnd)),
        ]
    }

    private func counts(_ arguments: Arguments) throws -> [JSONValue.Member] {
        let counts = try store.counts(try categories(arguments))
        return [
            .init("total", .int(counts.read + counts.unread)), .init("read", .int(counts.read)),
            .init("unread", .int(counts.unread)),
        ]
    }

    private func update(_ arguments: Arguments) throws -> [JSONValue.Member] {
        let status: EngagementStore.Status = try arguments.choice("status")
        guard let items = try arguments.ids("items", count: 1...1000) else {
            throw Arguments.invalid("items", "is missing")
        }
        do {
            return [.init("updated", .int(try store.update(items, to: status)))]
        } catch let error as UnknownID {
            throw WireError(.unknownItem, "no item \(JSONValue.string(error.id).text); nothing was changed")
        }
    }

    private func prefer(_ arguments: Arguments) throws -> [JSONValue.Member] {
        let category = try arguments.id("category")
        let enabled = try arguments.bool("enabled")
        guard try store.set(category, enabled: enabled) else {
            throw WireError(.unknownCategory, "no category \(JSONValue.string(category).text)")
        }
        return [.init("categories", .array(try store.categories()))]
    }

    private func categories(_ arguments: Arguments) throws -> [Int64]? {
        try arguments.ids("categories", count: 1...InboxPlace.categoryLimit).map { try store.labels($0) }
    }
}
