import Glibc

/// Sleeps; for progress lines alone.
func pause(ms: Int) { usleep(UInt32(ms) * 1000) }
