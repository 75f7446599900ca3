import Glibc

/// The two clocks. Read them at the edge, and hand the values in.
public enum Clock {
    /// Milliseconds since some moment before the process began; never goes back, and doesn't count suspension.
    public static func monotonicMs() -> Int64 { nanoseconds(CLOCK_MONOTONIC) / 1_000_000 }

    /// As `monotonicMs`, in nanoseconds.
    public static func monotonicNs() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

    /// Milliseconds since 1970 in UTC, without leap seconds; may be set back.
    public static func wallMs() -> Int64 { nanoseconds(CLOCK_REALTIME) / 1_000_000 }

    /// Both, one right after the other.
    public static func now() -> (monotonicMs: Int64, wallMs: Int64) { (monotonicMs(), wallMs()) }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        let status = clock_gettime(clock, &time)
        precondition(status == 0, "clock_gettime: errno \(errno)")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
