import Lifecycle
import Wire

public struct InboxItem: Hashable, Sendable, Identifiable {
    /// The raw value is the name on the wire.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        case read
        case unread
    }
    public let id: String
    public let category: String
    public let title: String
    public let message: String
    public let status: Status
    /// When it came, in milliseconds since 1970.
    public let timeMs: Int64
    /// Whatever else belongs to it, an object.
    public let data: JSONValue?

    init(_ value: JSONValue) throws(HoldgateError) {
        id = try value.string("id")
        category = try value.string("category")
        title = try value.string("title")
        message = try value.string("message")
        status = try value.need("status", "read or unread") { $0.asString.flatMap(Status.init(rawValue:)) }
        timeMs = try value.timeMs("time")
        data = value["data"]
    }
}

/// Which items of the inbox are wanted.
public struct InboxFilter: Hashable, Sendable {
    /// Nil: both read and unread ones.
    public var status: InboxItem.Status?
    /// Nil: all.
    public var categories: [String]?

    public init(status: InboxItem.Status? = nil, categories: [String]? = nil) {
        self.status = status
        self.categories = categories
    }
}

/// Some items of the inbox, the newest first.
public struct InboxPage: Hashable, Sendable {
    public let items: [InboxItem]
    /// After this page there is none.
    public let isLast: Bool
    /// Where the next page begins, in the provider's own words.
    public let cursor: String

    init(_ value: JSONValue) throws(HoldgateError) {
        items = try value.list("items") { item throws(HoldgateError) in try InboxItem(item) }
        isLast = try value.flag("isLast")
        cursor = try value.string("cursor")
    }
}

public struct InboxCounts: Hashable, Sendable {
    public let read: Int
    public let unread: Int
    public var total: Int { read + unread }

    init(_ value: JSONValue) throws(HoldgateError) {
        read = try value.count("read")
        unread = try value.count("unread")
    }
}

/// Why the inbox could not be read or changed.
public enum InboxError: ServiceError, Hashable, Sendable {
    /// The gate is closed.
    case notOperating(NotOperatingError)
    /// The page before was the last.
    case noMorePages
    /// One of the items is not there, and none was changed; says which.
    case unknownItem(String)
    case failed(HoldgateError)

    public init(_ error: HoldgateError) {
        if let closed = error.notOperating {
            self = .notOperating(closed)
        } else if error.code == .noMorePages {
            self = .noMorePages
        } else if error.code == .unknownItem {
            self = .unknownItem(error.message)
        } else {
            self = .failed(error)
        }
    }
}

extension ErrorCode {
    /// Of the inbox: there is no page after the last.
    public static let noMorePages = ErrorCode("noMorePages")
    /// Of the inbox: no such item.
    public static let unknownItem = ErrorCode("unknownItem")
    /// Of category preferences: no such category.
    public static let unknownCategory = ErrorCode("unknownCategory")
}

// Each method once `async`, once with a completion handler, which is called on a thread of its own.
extension Holdgate {
    public typealias InboxHandler<Value> = @Sendable (Result<Value, InboxError>) -> Void

    /// The first page.
    ///
    /// - Parameter pageSize: how many items a page has, 1 to 100.
    public func fetchInbox(
        _ filter: InboxFilter = InboxFilter(), pageSize: Int = 10
    ) async throws(InboxError) -> InboxPage {
        try await ask(Self.inbox(filter, pageSize))
    }

    public func fetchInbox(
        _ filter: InboxFilter = InboxFilter(), pageSize: Int = 10,
        _ completion: @escaping InboxHandler<InboxPage>
    ) {
        ask(Self.inbox(filter, pageSize), completion)
    }

    /// The page after `page`; past the end `InboxError.noMorePages`.
    public func fetchNextInboxPage(after page: InboxPage) async throws(InboxError) -> InboxPage {
        try await ask(Self.inbox(after: page))
    }

    public func fetchNextInboxPage(after page: InboxPage, _ completion: @escaping InboxHandler<InboxPage>) {
        ask(Self.inbox(after: page), completion)
    }

    /// How many items there are, by status.
    ///
    /// - Parameter categories: nil: all.
    public func inboxCounts(categories: [String]? = nil) async throws(InboxError) -> InboxCounts {
        try await ask(Self.counts(categories))
    }

    public func inboxCounts(
        categories: [String]? = nil, _ completion: @escaping InboxHandler<InboxCounts>
    ) {
        ask(Self.counts(categories), completion)
    }

    /// Marks 1 to 1,000 items, all or none; returns how many had another status before.
    @discardableResult
    public func updateInbox(
        _ items: [InboxItem.ID], status: InboxItem.Status
    ) async throws(InboxError) -> Int {
        try await ask(Self.update(items, status))
    }

    public func updateInbox(
        _ items: [InboxItem.ID], status: InboxItem.Status, _ completion: @escaping InboxHandler<Int>
    ) {
        ask(Self.update(items, status), completion)
    }

    private static func inbox(
        _ filter: InboxFilter, _ pageSize: Int
    ) -> ServiceCall<InboxPage, InboxError> {
        let status = filter.status?.rawValue ?? "both"
        let arguments =
            [JSONValue.Member("status", .string(status))] + member(filter.categories)
            + [JSONValue.Member("pageSize", .int(Int64(pageSize)))]
        return ServiceCall(service: "inbox.fetch", arguments: arguments) { value throws(HoldgateError) in
            try InboxPage(value)
        }
    }

    private static func inbox(after page: InboxPage) -> ServiceCall<InboxPage, InboxError> {
        ServiceCall(service: "inbox.next", arguments: [.init("cursor", .string(page.cursor))]) {
            value throws(HoldgateError) in try InboxPage(value)
        }
    }

    private static func counts(_ categories: [String]?) -> ServiceCall<InboxCounts, InboxError> {
        ServiceCall(service: "inbox.counts", arguments: member(categories)) { value throws(HoldgateError) in
            try InboxCounts(value)
        }
    }

    private static func update(
        _ items: [InboxItem.ID], _ status: InboxItem.Status
    ) -> ServiceCall<Int, InboxError> {
        let arguments = [
            JSONValue.Member("items", .array(items.map { .string($0) })),
            .init("status", .string(status.rawValue)),
        ]
        return ServiceCall(service: "inbox.update", arguments: arguments) { value throws(HoldgateError) in
            try value.count("updated")
        }
    }

    private static func member(_ categories: [String]?) -> [JSONValue.Member] {
        categories.map { [.init("categories", .array($0.map { .string($0) }))] } ?? []
    }
}
