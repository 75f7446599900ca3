import HoldgateClient

/// Which items of the inbox are asked for, and after which one to go on: all that the next page needs.
///
/// Its text is the cursor. Places are by time and row, not by number: items that arrive or change meanwhile neither
/// repeat others nor push them out.
struct InboxPlace: Hashable, Sendable {
    enum Filter: String, Hashable, Sendable, CaseIterable {
        case read
        case unread
        case both
    }
    var filter = Filter.both
    /// The store's own numbers; nil: all.
    var categories: [Int64]?
    var pageSize: Int64
    /// The last item that was handed out; nil at the beginning.
    var after: After?
    /// The page before was the last.
    var isEnd = false

    struct After: Hashable, Sendable {
        let timeMs: Int64
        let row: Int64
    }

    /// What a filter may name: so a cursor has at most `cursorBytes`.
    static let categoryLimit = 40
    static let cursorBytes = 1024
    static let pageSizes: ClosedRange<Int64> = 1...100

    /// Fields parted by colons, the last being a checksum: so that a text that nobody made is noticed.
    var cursor: String {
        let categories = self.categories.map { $0.map(String.init).joined(separator: ",") } ?? "*"
        let place = after.map { "\($0.timeMs),\($0.row)" } ?? ""
        let fields = "1:\(filter.rawValue):\(categories):\(pageSize):\(place):\(isEnd ? "end" : "")"
        return "\(fields):\(Self.checksum(fields))"
    }

    /// Nil for what is no cursor.
    init?(cursor: String) {
        guard cursor.utf8.count <= Self.cursorBytes else { return nil }
        let fields = cursor.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 7, fields[0] == "1",
            Self.checksum(fields[..<6].joined(separator: ":")) == fields[6],
            let filter = Filter(rawValue: String(fields[1])),
            let pageSize = Int64(fields[3]), Self.pageSizes.contains(pageSize)
        else { return nil }
        self.init(filter: filter, pageSize: pageSize)
        if fields[2] != "*" {
            let numbers = fields[2].split(separator: ",").map { Int64($0) }
            guard !numbers.contains(nil), numbers.count <= Self.categoryLimit else { return nil }
            categories = numbers.compactMap { $0 }
        }
        if !fields[4].isEmpty {
            let numbers = fields[4].split(separator: ",").compactMap { Int64($0) }
            guard numbers.count == 2 else { return nil }
            after = After(timeMs: numbers[0], row: numbers[1])
        }
        isEnd = fields[5] == "end"
    }

    init(filter: Filter = .both, categories: [Int64]? = nil, pageSize: Int64) {
        self.filter = filter
        self.categories = categories
        self.pageSize = pageSize
    }

    /// FNV-1a: against mistakes, not against anybody.
    private static func checksum(_ text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
