/// How lines of the log are written. The raw value is the configuration's.
public enum LogFormat: String, Hashable, Sendable, CaseIterable {
    /// `2026-01-02T03:04:05.678Z warning message key=value …`, for people.
    case text
    /// An object a line: `time` (RFC 3339, UTC), `level`, `message`, then the fields, for programs.
    case json
}
