import HoldgateClient

/// What `top` knows: what was heard last, what it comes to, and whether the host still answers.
struct TopModel: Hashable, Sendable {
    let endpoint: String
    let interval: Duration
    private(set) var sample: TopSample
    private(set) var rates: TopRates
    /// When the host was looked at last, by the wall clock.
    private(set) var wallMs: Int64
    /// Why there is no newer sample; nil: there is none newer.
    private(set) var trouble: HoldgateError?
    /// How long ago the sample was heard.
    private(set) var silentMs: Int64 = 0

    init(endpoint: String, interval: Duration, _ sample: TopSample, wallMs: Int64) {
        self.endpoint = endpoint
        self.interval = interval
        self.sample = sample
        self.wallMs = wallMs
        rates = TopRates(sample, since: nil)
    }

    mutating func take(_ outcome: Result<TopSample, HoldgateError>, nowMs: Int64, wallMs: Int64) {
        switch outcome {
        case .success(let next):
            rates = TopRates(next, since: sample)
            sample = next
            trouble = nil
        case .failure(let error): trouble = error
        }
        pass(nowMs: nowMs, wallMs: wallMs)
    }

    /// Time passes, and nothing was heard.
    mutating func pass(nowMs: Int64, wallMs: Int64) {
        silentMs = max(0, nowMs - sample.atMs)
        self.wallMs = wallMs
    }

    /// What is wrong, for people; nil: nothing.
    var complaint: String? {
        guard let trouble else { return nil }
        let silent = TopText.duration(ms: silentMs)
        guard trouble.code == .noAnswer else { return "no look for \(silent): \(trouble.message)" }
        return "away for \(silent): no host answers; below is what was heard last"
    }

    /// Whoever events are kept or read for.
    var collectors: [JSONValue] { sample.plugins.filter { $0["cursor"] != nil } }

    /// All others, and those that the host starts itself.
    var others: [JSONValue] {
        sample.plugins.filter {
            $0["cursor"] == nil || $0["supervised"]?.asBool == true || $0["services"] != nil
        }
    }
}

/// Quantities, short enough for a screen.
enum TopText {
    /// In whole seconds, if there are any.
    static func duration(ms: Int64) -> String {
        ms < 1000 ? (ms <= 0 ? "0s" : "<1s") : Durations.text(ms: ms - ms % 1000)
    }

    static func duration(ms: UInt64) -> String { duration(ms: Int64(clamping: ms)) }

    /// With one digit behind the point below 10.
    static func rate(_ rate: Double) -> String {
        guard rate < 9.95 else { return String(UInt64(min(rate.rounded(), 1e18))) }
        let tenths = Int((rate * 10).rounded())
        if tenths == 0, rate > 0 { return "<0.1" }
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    static func p99(_ rates: TopRates) -> String? {
        rates.commitP99.map { "p99 \($0.text(Quantity.microseconds))" }
    }
}
