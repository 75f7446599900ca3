/// How long to wait before the next attempt: twice as long each time, up to a bound, and up to a half of it taken off at
/// random, so that many do not come at once.
struct Backoff: Hashable {
    let firstMs: Int64
    let maxMs: Int64
    private(set) var attempts = 0

    init(firstMs: Int64, maxMs: Int64) {
        self.firstMs = firstMs
        self.maxMs = maxMs
    }

    /// - Parameter random: any number, by chance.
    mutating func next(random: UInt64) -> Int64 {
        // 2^40 times the first one is beyond every bound.
        let (full, isTooMuch) = firstMs.multipliedReportingOverflow(by: 1 << Int64(min(attempts, 40)))
        attempts += 1
        let bounded = isTooMuch ? maxMs : min(full, maxMs)
        return bounded - Int64(random % UInt64(bounded / 2 + 1))
    }

    mutating func reset() { attempts = 0 }
}
