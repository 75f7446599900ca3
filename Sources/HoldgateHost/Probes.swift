/// When the host asks each plugin's connection whether it is still there.
///
/// A broken connection is heard of a moment before the socket itself knows that it is gone, and which plugin it was
/// isn't said: so all are asked, several times, further and further apart.
struct Probes {
    /// From one time to the next, after the first.
    static let gapsMs: [Int64] = [2, 10, 50, 250]
    /// However many connections break, they are not asked more often than this.
    static let leastGapMs: Int64 = 2

    /// By the monotonic clock; nil: no connection broke lately.
    private(set) var dueMs: Int64?
    private var asked = 0
    private var lastMs = Int64.min / 2

    /// A connection broke.
    mutating func begin(nowMs: Int64) {
        asked = 0
        dueMs = max(nowMs, lastMs + Self.leastGapMs)
    }

    func isDue(nowMs: Int64) -> Bool { dueMs.map { $0 <= nowMs } ?? false }

    /// They are being asked.
    mutating func take(nowMs: Int64) {
        lastMs = nowMs
        dueMs = asked < Self.gapsMs.count ? nowMs + Self.gapsMs[asked] : nil
        asked += 1
    }
}
