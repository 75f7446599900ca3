import HTTPClient

/// What an answer of the receiver, or none, means for the events that were posted.
enum Verdict: Hashable {
    case taken
    /// For what is in them; the text is for the dead letter of one.
    case refused(String)
    /// Too many bytes at once; the text as above.
    case tooLarge(String)
    /// It does not take compressed ones.
    case plainWanted
    /// The same events again, later: nothing is wrong with them. `afterMs`: as the receiver asked.
    case later(String, afterMs: Int64? = nil)

    /// - Parameters:
    ///   - isCompressed: whether the body was.
    ///   - secret: does not show up in any text.
    init(_ response: HTTPResponse, isCompressed: Bool, secret: String?, wallMs: Int64) {
        let said = Self.excerpt(response, hiding: secret)
        let afterMs = response["retry-after"].flatMap { RetryAfter.parse($0, wallMs: wallMs) }
        switch response.status {
        case 200...299:
            let problem =
                "the receiver took events and did not finish its answer within \(response.body.count) bytes: it is "
                + "to answer briefly"
            self = response.isComplete ? .taken : .later(problem, afterMs: afterMs)
        case 415 where isCompressed: self = .plainWanted
        case 413: self = .tooLarge(said)
        case 300...399:
            let target = response.redirect.map { " to \(Self.clean($0, bytes: 200))" } ?? ""
            self = .later(
                "\(said): it redirects\(target), where nothing is posted: see to --url", afterMs: afterMs)
        case let status where Self.configuration[status] != nil:
            self = .later("\(said): \(Self.configuration[status]!)", afterMs: afterMs)
        case 408, 425, 429: self = .later(said, afterMs: afterMs)
        case 400...499: self = .refused(said)
        default: self = .later(said, afterMs: afterMs)
        }
    }

    /// What speaks of the way, and not of events. Nothing is given up for it.
    private static let configuration: [Int: String] = [
        401: "see to --token-file", 402: "see to the account there", 403: "see to what the token may",
        404: "see to --url", 405: "see to --url, which takes no POST", 406: "see to --url",
        407: "see to --proxy",
        410: "see to --url", 411: "see to the proxies between", 414: "see to --url",
        415: "it takes no application/cloudevents-batch+json: see to --url",
        417: "see to the proxies between",
        421: "see to --url", 426: "see to --url", 428: "see to --url", 431: "see to --header",
        451: "see to the receiver",
    ]

    /// The status, and how the body begins.
    private static func excerpt(_ response: HTTPResponse, hiding secret: String?) -> String {
        var text = String(decoding: response.body.prefix(1024), as: UTF8.self)
        if let secret {
            text = text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "***")
        }
        text = clean(text, bytes: 200)
        return "status \(response.status)" + (text.isEmpty ? "" : ", \(text)")
    }

    /// Without control characters, and no longer than that.
    static func clean(_ text: String, bytes: Int) -> String {
        var result = ""
        var count = 0
        var isBlank = true
        for scalar in text.unicodeScalars {
            let isControl =
                scalar.properties.generalCategory == .control
                || "\u{2028}\u{2029}".unicodeScalars.contains(scalar)
            let scalar = isControl ? " " : scalar
            if scalar == " ", isBlank { continue }
            isBlank = scalar == " "
            count += UTF8.width(scalar)
            guard count <= bytes else { return result + "…" }
            result.unicodeScalars.append(scalar)
        }
        if result.hasSuffix(" ") { result.removeLast() }
        return result
    }
}
