import Testing
import Wire

@Suite struct TimestampTests {
    static let both: [(Int64, String)] = [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z"),
        (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
        (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"),
        (Timestamp.range.lowerBound, "0000-01-01T00:00:00.000Z"),
        (Timestamp.range.upperBound, "9999-12-31T23:59:59.999Z"),
    ]

    @Test(arguments: both) func aTimeIsWrittenAndReadBack(wallMs: Int64, text: String) {
        #expect(Timestamp.text(ms: wallMs) == text)
        #expect(Timestamp.parse(text) == wallMs)
    }

    /// Day by day over two eras, against a calendar that only counts.
    @Test func everyDayOfEightHundredYearsIsTheOneAfterTheDayBefore() {
        var year = 1600
        var month = 1
        var day = 1
        var wrong = 0
        for number in stride(from: Int64(-135_140), to: Int64(-135_140 + 292_194), by: 1) {
            let date = "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))"
            if Timestamp.text(ms: number * 86_400_000 + 1) != date + "T00:00:00.001Z" { wrong += 1 }
            if Timestamp.parse(date + "T00:00:00Z") != number * 86_400_000 { wrong += 1 }
            let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
            day += 1
            if day > [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] {
                day = 1
                month += 1
            }
            if month > 12 {
                month = 1
                year += 1
            }
        }
        #expect(wrong == 0)
        #expect(year == 2400)
    }

    @Test(arguments: [
        ("1985-04-12T23:20:50.52Z", 482_196_050_520),
        ("1996-12-19T16:39:57-08:00", 851_042_397_000),
        ("1937-01-01T12:00:27.87+00:20", -1_041_337_172_130),
        ("2026-01-02t03:04:05z", 1_767_323_045_000),
        ("2026-01-02T03:04:05-00:00", 1_767_323_045_000),
        ("2026-01-02T03:04:05.6Z", 1_767_323_045_600),
        ("2026-01-02T03:04:05.67Z", 1_767_323_045_670),
        ("2026-01-02T03:04:05.6789999999999999999999999999999999999999Z", 1_767_323_045_678),
        ("2026-01-02T23:59:59+23:59", 1_767_312_059_000),
        ("1990-12-31T23:59:60Z", 662_688_000_000),
        ("1990-12-31T15:59:60.25-08:00", 662_688_000_250),
    ]) func otherFormsAreRead(text: String, wallMs: Int64) {
        #expect(Timestamp.parse(text) == wallMs)
    }

    @Test(arguments: [
        "", "2026", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04Z",
        "2026-1-02T03:04:05Z", "2026-00-02T03:04:05Z", "2026-13-02T03:04:05Z", "2026-01-00T03:04:05Z",
        "2026-01-32T03:04:05Z", "2026-04-31T03:04:05Z", "2026-02-29T03:04:05Z", "2100-02-29T03:04:05Z",
        "2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,6Z",
        "2026-01-02T03:04:05.6", "2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+01:60",
        "2026-01-02T03:04:05+0100", "2026-01-02T03:04:05+01", "2026-01-02T03:04:05ZZ",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z ", "+026-01-02T03:04:05Z", "2026-01-02T03:04:0５Z",
    ]) func whatIsNoTimeIsRefused(text: String) {
        #expect(Timestamp.parse(text) == nil)
    }

    private func pad(_ value: Int, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }
}
