import HTTPClient
import Testing

@testable import http_collector

private func answer(
    _ status: Int, _ body: String = "", headers: [(name: String, value: String)] = [],
    isComplete: Bool = true,
    redirect: String? = nil, isCompressed: Bool = false, secret: String? = nil
) -> Verdict {
    let response = HTTPResponse(
        status: status, headers: headers, body: Array(body.utf8), isComplete: isComplete, redirect: redirect)
    return Verdict(response, isCompressed: isCompressed, secret: secret, wallMs: 0)
}

@Suite struct VerdictTests {
    private enum Kind { case taken, refused, tooLarge, later }

    private func kind(_ answer: Verdict) -> Kind {
        switch answer {
        case .taken: .taken
        case .refused: .refused
        case .tooLarge: .tooLarge
        case .later, .plainWanted: .later
        }
    }

    @Test func everyStatusHasItsMeaning() {
        let later: Set<Int> = [
            401, 402, 403, 404, 405, 406, 407, 408, 410, 411, 414, 415, 417, 421, 425, 426, 428, 429, 431,
            451,
        ]
        for status in 100...999 {
            let expected: Kind =
                switch status {
                case 200...299: .taken
                case 413: .tooLarge
                case 400...499: later.contains(status) ? .later : .refused
                default: .later
                }
            #expect(kind(answer(status)) == expected, "\(status)")
        }
    }

    @Test func anAnswerThatIsNotWholeTakesNothingButRefuses() {
        #expect(kind(answer(200, "x", isComplete: false)) == .later)
        #expect(answer(422, "x", isComplete: false) == .refused("status 422, x"))
    }

    @Test func only415ToACompressedBodyAsksForAPlainOne() {
        #expect(answer(415, isCompressed: true) == .plainWanted)
        #expect(kind(answer(415)) == .later)
        #expect(kind(answer(400, isCompressed: true)) == .refused)
    }

    @Test func retryAfterGoesAlong() {
        #expect(
            answer(503, headers: [("retry-after", "7")]) == .later("status 503", afterMs: 7000))
        #expect(answer(503, headers: [("retry-after", "soon")]) == .later("status 503"))
        #expect(
            answer(429, headers: [("retry-after", "Thu, 01 Jan 1970 00:01:00 GMT")])
                == .later("status 429", afterMs: 60_000))
    }

    @Test func whatTheReceiverSaysIsCleanedAndCut() {
        #expect(answer(400, "\u{1B}[31m a\r\n\tb\u{2028}c \0") == .refused("status 400, [31m a b c"))
        let long = String(repeating: "é", count: 300)
        #expect(answer(400, long) == .refused("status 400, " + String(repeating: "é", count: 100) + "…"))
        #expect(
            answer(400, "no Bearer s3cret here", secret: "s3cret")
                == .refused("status 400, no Bearer *** here"))
    }

    @Test func aRedirectIsNamed() {
        #expect(
            answer(302, redirect: "http://other/x")
                == .later("status 302: it redirects to http://other/x, where nothing is posted: see to --url")
        )
    }
}

@Suite struct RetryAfterTests {
    /// 2026-03-01T12:00:00Z
    private let nowMs: Int64 = 1_772_366_400_000

    @Test func secondsAreRead() {
        #expect(RetryAfter.parse("0", wallMs: nowMs) == 0)
        #expect(RetryAfter.parse("120", wallMs: nowMs) == 120_000)
        #expect(RetryAfter.parse("99999999999999999999", wallMs: nowMs) == .max)
        #expect(RetryAfter.parse("9223372036854775807", wallMs: nowMs) == .max)
        for text in ["", "-1", "+1", "1.5", " 1", "1 s", "one"] {
            #expect(RetryAfter.parse(text, wallMs: nowMs) == nil, "\(text)")
        }
    }

    @Test func datesAreReadInAllThreeForms() {
        for text in [
            "Sun, 01 Mar 2026 12:00:30 GMT", "Sunday, 01-Mar-26 12:00:30 GMT", "Sun Mar  1 12:00:30 2026",
        ] {
            #expect(RetryAfter.parse(text, wallMs: nowMs) == 30_000, "\(text)")
        }
        #expect(RetryAfter.parse("Sun, 06 Nov 1994 08:49:37 GMT", wallMs: nowMs) == 0, "a past one")
        #expect(RetryAfter.parse("Sun, 06 Nov 1994 08:49:37 GMT", wallMs: 784_111_770_000) == 7_000)
        #expect(RetryAfter.parse("Sunday, 06-Nov-94 08:49:37 GMT", wallMs: 784_111_770_000) == 7_000)
        #expect(RetryAfter.parse("Thu, 29 Feb 2024 00:00:00 GMT", wallMs: 1_709_164_790_000) == 10_000)
    }

    @Test func whatIsNoDateIsNone() {
        for text in [
            "Sun, 32 Mar 2026 12:00:30 GMT", "Sun, 29 Feb 2026 12:00:30 GMT", "Sun, 01 Mär 2026 12:00:30 GMT",
            "Sun, 01 Mar 2026 24:00:30 GMT", "Sun, 01 Mar 2026 12:00 GMT", "Sun, 01 Mar 2026 12:00:30 CET",
            "Sun, 01 Mar 26 12:00:30 GMT", "2026-03-01T12:00:30Z", "Sun, 00 Mar 2026 12:00:30 GMT",
        ] {
            #expect(RetryAfter.parse(text, wallMs: nowMs) == nil, "\(text)")
        }
    }
}
