/// Times as text, `2026-01-02T03:04:05.678Z`, by integer arithmetic in the proleptic Gregorian calendar.
public enum RFC3339 {
    /// What has a four-digit year: milliseconds since 1970, `0000-01-01T00:00:00.000Z` to
    /// `9999-12-31T23:59:59.999Z`.
    public static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    private static let dayMs: Int64 = 86_400_000

    /// UTC with milliseconds. `wallMs` is milliseconds since 1970 and must be in `range`.
    public static func format(_ wallMs: Int64) -> String {
        precondition(range.contains(wallMs), "a time without a four-digit year: \(wallMs)")
        let (day, inDay) = floorDivided(wallMs, by: dayMs)
        let date = civil(daysSince1970: day)
        return String(unsafeUninitializedCapacity: 24) { text in
            var at = 0
            func put(_ value: Int64, _ digits: Int, _ after: Unicode.Scalar) {
                var rest = value
                for place in stride(from: at + digits - 1, through: at, by: -1) {
                    text.initializeElement(at: place, to: 48 + UInt8(rest % 10))
                    rest /= 10
                }
                text.initializeElement(at: at + digits, to: UInt8(ascii: after))
                at += digits + 1
            }
            put(date.year, 4, "-")
            put(date.month, 2, "-")
            put(date.day, 2, "T")
            put(inDay / 3_600_000, 2, ":")
            put(inDay / 60_000 % 60, 2, ":")
            put(inDay / 1000 % 60, 2, ".")
            put(inDay % 1000, 3, "Z")
            return at
        }
    }

    /// Milliseconds since 1970, or nil if `text` is no RFC 3339 time.
    ///
    /// Any offset is taken, and a fraction of any length, cut to milliseconds. A leap second, which stands at
    /// 23:59:60 UTC at the end of a month, is taken for the last millisecond before it.
    public static func parse(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { parse(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// As `parse(_:)`, of UTF-8.
    public static func parse(utf8 bytes: UnsafeRawBufferPointer) -> Int64? {
        var reader = Reader(bytes: bytes)
        guard let year = reader.digits(4), reader.takes("-"),
            let month = reader.digits(2), (1...12).contains(month), reader.takes("-"),
            let day = reader.digits(2), day >= 1, day <= days(in: month, of: year),
            reader.takes("T", or: "t"),
            let hour = reader.digits(2), hour <= 23, reader.takes(":"),
            let minute = reader.digits(2), minute <= 59, reader.takes(":"),
            let second = reader.digits(2), second <= 60,
            let fractionMs = reader.fractionMs(),
            let offsetMinutes = reader.offsetMinutes(),
            reader.isAtEnd
        else { return nil }
        let dayNumber = daysSince1970(year: year, month: month, day: day)
        let minutes = dayNumber * 1440 + hour * 60 + minute - offsetMinutes
        let isLeap = second == 60
        if isLeap && !endsMonth(minutes) { return nil }
        let ms = minutes * 60_000 + (isLeap ? 59_999 : second * 1000 + fractionMs)
        return range.contains(ms) ? ms : nil
    }

    /// Whether this minute, counted from 1970, is the last of a month.
    private static func endsMonth(_ minutes: Int64) -> Bool {
        let (day, inDay) = floorDivided(minutes + 1, by: 1440)
        return inDay == 0 && civil(daysSince1970: day).day == 1
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Years begin in March below, so that the leap day is the last: month m of such a year begins on day
    // (153 * m + 2) / 5. An era is 400 years of 146,097 days; 719,468 days lie between 0000-03-01 and 1970.

    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = floorDivided(month <= 2 ? year - 1 : year, by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civil(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivided(daysSince1970 + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    /// Quotient and remainder, the latter never negative.
    private static func floorDivided(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension RFC3339 {
    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var at = 0

        init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        var isAtEnd: Bool { at == bytes.count }

        mutating func takes(_ first: Unicode.Scalar, or second: Unicode.Scalar? = nil) -> Bool {
            guard at < bytes.count else { return false }
            let byte = Unicode.Scalar(bytes[at])
            guard byte == first || byte == second else { return false }
            at += 1
            return true
        }

        mutating func digit() -> Int64? {
            guard at < bytes.count, (48...57).contains(bytes[at]) else { return nil }
            defer { at += 1 }
            return Int64(bytes[at] - 48)
        }

        mutating func digits(_ count: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        /// 0 if there is no fraction, nil if a point has no digit after it.
        mutating func fractionMs() -> Int64? {
            guard takes(".") else { return 0 }
            guard let tenths = digit() else { return nil }
            var ms = tenths * 100
            var weight: Int64 = 10
            while let digit = digit() {
                ms += digit * weight
                weight /= 10
            }
            return ms
        }

        mutating func offsetMinutes() -> Int64? {
            if takes("Z", or: "z") { return 0 }
            let sign: Int64 = takes("+") ? 1 : -1
            guard sign == 1 || takes("-"),
                let hours = digits(2), hours <= 23, takes(":"),
                let minutes = digits(2), minutes <= 59
            else { return nil }
            return sign * (hours * 60 + minutes)
        }
    }
}
