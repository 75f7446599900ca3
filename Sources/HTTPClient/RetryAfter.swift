/// The header `Retry-After`: seconds, or a date (RFC 9110, sections 10.2.3 and 5.6.7).
public enum RetryAfter {
    /// How long to wait, in milliseconds, from 0 on; nil where the text is neither.
    ///
    /// - Parameter wallMs: the time now, since 1970 in UTC.
    public static func parse(_ text: String, wallMs: Int64) -> Int64? {
        let bytes = Array(text.utf8)
        if !bytes.isEmpty, bytes.allSatisfy({ (48...57).contains($0) }) {
            // More digits than a number has mean for ever.
            let (ms, isTooMuch) = (Int64(text) ?? .max).multipliedReportingOverflow(by: 1000)
            return isTooMuch ? .max : ms
        }
        return HTTPDate.parse(text, wallMs: wallMs).map { max(0, $0 - wallMs) }
    }
}

/// Dates as HTTP writes them, in milliseconds since 1970 in UTC.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete forms that must be read:
    /// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. The day of the week is not looked at.
    static func parse(_ text: String, wallMs: Int64) -> Int64? {
        let words = text.split(separator: " ").map(String.init)
        switch words.count {
        case 6 where words[0].hasSuffix(",") && words[5] == "GMT":
            guard words[3].utf8.count == 4 else { return nil }
            return time(words[3], words[2], words[1], words[4])
        case 4 where words[0].hasSuffix(",") && words[3] == "GMT":
            let date = words[1].split(separator: "-").map(String.init)
            guard date.count == 3, date[2].utf8.count == 2 else { return nil }
            // Of the centuries the one that is not more than 50 years ahead.
            let latest = wallMs + 50 * 31_556_952_000
            let centuries = [2100, 2000, 1900].map { String($0 / 100) + date[2] }
            let times = centuries.compactMap { time($0, date[1], date[0], words[2]) }
            return times.first { $0 <= latest }
        case 5:
            guard words[4].utf8.count == 4 else { return nil }
            return time(words[4], words[1], words[2], words[3])
        default: return nil
        }
    }

    private static func time(_ year: String, _ month: String, _ day: String, _ clock: String) -> Int64? {
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map {
            number(String($0), 2...2)
        }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2], hour < 24,
            minute < 60, second <= 60, let year = number(year, 4...4), let day = number(day, 1...2),
            let month = months.firstIndex(of: month), (1...daysIn(month + 1, year)).contains(day)
        else { return nil }
        let seconds = ((days(year, month + 1, day) * 24 + hour) * 60 + minute) * 60 + second
        return Int64(seconds) * 1000
    }

    private static func number(_ text: String, _ digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func daysIn(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let before = year - 1
        let leaps = before / 4 - before / 100 + before / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400)
        let inYear = (1..<month).reduce(0) { $0 + daysIn($1, year) }
        return (year - 1970) * 365 + leaps + inYear + day - 1
    }
}
