/// Times on the wire: RFC 3339 in text, milliseconds since 1970-01-01T00:00:00Z in values.
public enum Timestamp {
    /// The years that RFC 3339 can write: 0000 to 9999.
    public static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// `2026-01-31T12:00:00.000Z`; a time out of `range` is written as its nearest end.
    public static func text(ms: Int64) -> String {
        let ms = min(max(ms, range.lowerBound), range.upperBound)
        let (days, ofDay) = ms.flooredQuotientAndRemainder(by: 86_400_000)
        let (year, month, day) = civil(days: days)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let minutes = ofDay / 60_000
        let time = "\(padded(minutes / 60, 2)):\(padded(minutes % 60, 2)):\(padded(ofDay / 1000 % 60, 2))"
        return "\(date)T\(time).\(padded(ofDay % 1000, 3))Z"
    }

    /// Nil unless `text` is an RFC 3339 date-time. What is finer than a millisecond is cut off; second 60 is the
    /// first of the next minute.
    public static func parse(_ text: String) -> Int64? {
        var reader = DigitReader(bytes: Array(text.utf8))
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T", or: "t"), let hour = reader.number(2),
            reader.take(":"),
            let minute = reader.number(2), reader.take(":"), let second = reader.number(2),
            (1...12).contains(month), (1...daysIn(month: month, year: year)).contains(day), hour < 24,
            minute < 60, second <= 60
        else { return nil }
        var fractionMs: Int64 = 0
        if reader.take(".") {
            guard let ms = reader.fractionMs() else { return nil }
            fractionMs = ms
        }
        guard let offsetMinutes = reader.offset(), reader.isAtEnd else { return nil }
        let minutes = (days(year: year, month: month, day: day) * 24 + hour) * 60 + minute - offsetMinutes
        return minutes * 60_000 + second * 1000 + fractionMs
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // The calendar repeats every 400 years (146,097 days). Years begin in March here, so that a leap day is a
    // year's last.

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, ofEra) = (month <= 2 ? year - 1 : year).flooredQuotientAndRemainder(by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = ofEra * 365 + ofEra / 4 - ofEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredQuotientAndRemainder(by: 146_097)
        let ofEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * ofEra + ofEra / 4 - ofEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = ofEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension Int64 {
    fileprivate func flooredQuotientAndRemainder(by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

private struct DigitReader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { index == bytes.count }

    private var digit: Int64? {
        guard index < bytes.count, (0x30...0x39).contains(bytes[index]) else { return nil }
        return Int64(bytes[index] - 0x30)
    }

    mutating func number(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit else { return nil }
            value = value * 10 + digit
            index += 1
        }
        return value
    }

    mutating func take(_ character: Unicode.Scalar, or other: Unicode.Scalar? = nil) -> Bool {
        guard index < bytes.count else { return false }
        let found = Unicode.Scalar(bytes[index])
        guard found == character || found == other else { return false }
        index += 1
        return true
    }

    mutating func fractionMs() -> Int64? {
        var value: Int64 = 0
        var count = 0
        while let digit {
            if count < 3 { value = value * 10 + digit }
            count += 1
            index += 1
        }
        guard count > 0 else { return nil }
        return count == 1 ? value * 100 : count == 2 ? value * 10 : value
    }

    /// Minutes east of UTC.
    mutating func offset() -> Int64? {
        if take("Z", or: "z") { return 0 }
        let sign: Int64
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
        guard let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 60 + minutes)
    }
}
