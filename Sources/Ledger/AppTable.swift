/// The latest report of each app, for at most `limit` apps: the least recently heard goes.
public struct AppTable: Hashable, Sendable {
    /// How many apps are remembered.
    public static let limit = 1024

    /// Oldest report first.
    public private(set) var reports: [AppReport] = []

    public init() {}

    public mutating func take(_ report: AppReport) {
        reports.removeAll { $0.app == report.app }
        reports.append(report)
        if reports.count > Self.limit { reports.removeFirst() }
    }

    /// Everybody has been told of everything.
    public mutating func settle() {
        reports = reports.map(\.told)
    }
}
