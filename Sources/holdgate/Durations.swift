/// `500ms`, `30s`, `5m`, `1h`, `2d`: a unit is required, since a bare number may mean any.
enum Durations {
    private static let units: [(String, Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    static func parse(_ text: String, for flag: String) throws -> Duration {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard let number = Int64(digits), let scale = units.first(where: { $0.0 == unit })?.1,
            !number.multipliedReportingOverflow(by: scale).overflow
        else {
            throw UsageError(
                "\(flag) \(text): a duration is a whole number and a unit, as 500ms, 30s, 5m or 1h")
        }
        return .milliseconds(number * scale)
    }

    /// As `parse` reads it, in the largest unit that fits twice or exactly.
    static func text(ms: Int64) -> String {
        for (name, scale) in units.reversed() where ms >= scale && (ms % scale == 0 || ms >= 2 * scale) {
            return "\(ms / scale)\(name)"
        }
        return "\(ms)ms"
    }
}
