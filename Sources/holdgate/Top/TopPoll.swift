import HoldgateClient
import Platform

/// Asks a host for all that `top` shows.
struct TopPoll: Sendable {
    private var holdgate: Holdgate

    /// - Parameter timeout: nil: the host's own.
    init(_ holdgate: Holdgate, timeout: Duration? = nil) {
        self.holdgate = holdgate
        if let timeout { self.holdgate.timeout = timeout }
    }

    func sample(cancel: EventFD? = nil) throws(HoldgateError) -> TopSample {
        let stats = try holdgate.performBlocking(.raw(ControlRequest(.stats)), cancel: cancel)
        let plugins = try holdgate.performBlocking(.raw(ControlRequest(.plugins)), cancel: cancel)
        return TopSample(stats, plugins, atMs: Clock.monotonicMs())
    }

    func outcome(cancel: EventFD? = nil) -> Result<TopSample, HoldgateError> {
        Result { () throws(HoldgateError) in try sample(cancel: cancel) }
    }
}

/// What a host answered at one look.
struct TopSample: Hashable, Sendable {
    /// By this machine's monotonic clock.
    let atMs: Int64
    let status: HostStatus
    let stats: [String: UInt64]
    let commitUs: HistogramReport?
    let plugins: [JSONValue]

    init(_ stats: Answer, _ plugins: Answer, atMs: Int64) {
        self.init(
            atMs: atMs, status: stats.status, stats: stats.value["stats"]?.asMembers ?? [],
            commitUs: HistogramReport(stats.value["histograms"]?["commitUs"]),
            plugins: plugins.value["plugins"]?.asArray ?? [])
    }

    init(
        atMs: Int64, status: HostStatus, stats: [JSONValue.Member], commitUs: HistogramReport?,
        plugins: [JSONValue]
    ) {
        self.atMs = atMs
        self.status = status
        var numbers: [String: UInt64] = [:]
        for member in stats { numbers[member.name] = member.value.asUInt64 }
        self.stats = numbers
        self.commitUs = commitUs
        self.plugins = plugins
    }

    /// A member of `stats`; 0 where this host has none of that name.
    subscript(name: String) -> UInt64 { stats[name] ?? 0 }

    /// Whether both are of one process, and `earlier` came first.
    func continues(_ earlier: TopSample) -> Bool {
        guard self["uptimeMs"] > earlier["uptimeMs"] else { return false }
        let passed = Int64(clamping: self["uptimeMs"] - earlier["uptimeMs"])
        return abs(passed - (atMs - earlier.atMs)) <= Self.slackMs
            && TopRates.counters.allSatisfy { self[$0] >= earlier[$0] }
    }

    /// How long an answer may be on its way.
    private static let slackMs: Int64 = 10_000
}

/// How much there is of what, a second.
struct TopRates: Hashable, Sendable {
    var accepted: Double
    var delivered: Double
    var discarded: Double
    var refused: Double
    var commits: Double
    /// Nil: there were none.
    var commitP99: HistogramReport.Quantile?

    static let counters = [
        "eventsAccepted", "eventsDelivered", "eventsDiscarded", "eventsRefused", "commits",
    ]

    /// Since `earlier`, or since the host came up where that is another process's.
    init(_ now: TopSample, since earlier: TopSample?) {
        let base = earlier.flatMap { now.continues($0) ? $0 : nil }
        let ms = Double(max(1, now["uptimeMs"] - (base?["uptimeMs"] ?? 0)))
        func rate(_ name: String) -> Double { Double(now[name] - (base?[name] ?? 0)) * 1000 / ms }
        accepted = rate("eventsAccepted")
        delivered = rate("eventsDelivered")
        discarded = rate("eventsDiscarded")
        refused = rate("eventsRefused")
        commits = rate("commits")
        let commitUs = base?.commitUs.flatMap { now.commitUs?.since($0) } ?? now.commitUs
        commitP99 = commitUs?.quantile(99)
    }
}
