import CSodium
import HoldgateClient

/// One decision about one purpose: a row of the store, and the receipt that the subject is given.
///
/// The members follow ISO/IEC TS 27560 as far as public guides tell of it: who consented to what, told by which
/// notice, how, until when. It claims no more than that.
struct Receipt: Hashable, Sendable {
    static let schemaVersion = "holdgate-consent-1"
    /// The hash before the first decision's.
    static let noHash = String(repeating: "0", count: 64)

    /// From 1 on, without a gap, over all purposes.
    let decision: UInt64
    /// One record for each consent to a purpose, from its first decision to its withdrawal.
    let recordID: String
    let subject: String
    let controller: String
    let purpose: String
    let noticeVersion: String
    let jurisdiction: String
    /// How it was expressed: a form, a call, a setting.
    let method: String
    let state: ConsentState
    /// Milliseconds since 1970.
    let timeMs: Int64
    /// Nil: it doesn't expire.
    let expiresMs: Int64?
    /// The hash of the decision before.
    let previous: String

    /// The receipt as JSON, without its hash.
    var body: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("schemaVersion", Self.schemaVersion)
        writer.member("decision", decision)
        writer.member("recordId", recordID)
        writer.member("subject", subject)
        writer.member("controller", controller)
        writer.member("purpose", purpose)
        writer.member("noticeVersion", noticeVersion)
        writer.member("jurisdiction", jurisdiction)
        writer.member("method", method)
        writer.member("state", state.rawValue)
        writer.member("time", Timestamp.text(ms: timeMs))
        if let expiresMs { writer.member("expires", Timestamp.text(ms: expiresMs)) }
        writer.member("prev", previous)
        writer.endObject()
        return writer.text
    }

    /// SHA-256 of `body`, as 64 hexadecimal digits.
    var hash: String { Self.hash(of: body) }

    /// The receipt with its hash as last member: whoever has it can check it.
    var text: String { String(body.dropLast()) + #","hash":"\#(hash)"}"# }

    static func hash(of text: String) -> String {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: 32)
        let status = bytes.withUnsafeBufferPointer {
            crypto_hash_sha256(&digest, $0.baseAddress, UInt64($0.count))
        }
        precondition(status == 0, "SHA-256 can't fail")
        return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Where the purpose stands at that time.
    func consent(at wallMs: Int64) -> ConsentState {
        switch state {
        case .given, .paused:
            if let expiresMs, expiresMs <= wallMs { .expired } else { state }
        case .undecided, .expired, .denied, .withdrawn: state
        }
    }
}

extension Receipt {
    /// Reads a stored body; nil where it is not one that this wrote.
    init?(body: String) {
        guard let value = try? JSONValue.parse(body), let decision = value["decision"]?.asUInt64,
            let recordID = value["recordId"]?.asString, let subject = value["subject"]?.asString,
            let controller = value["controller"]?.asString, let purpose = value["purpose"]?.asString,
            let noticeVersion = value["noticeVersion"]?.asString,
            let jurisdiction = value["jurisdiction"]?.asString, let method = value["method"]?.asString,
            let state = value["state"]?.asString.flatMap(ConsentState.init(rawValue:)),
            let timeMs = value["time"]?.asString.flatMap({ Timestamp.parse($0) }),
            let previous = value["prev"]?.asString
        else { return nil }
        self.init(
            decision: decision, recordID: recordID, subject: subject, controller: controller,
            purpose: purpose, noticeVersion: noticeVersion, jurisdiction: jurisdiction, method: method,
            state: state, timeMs: timeMs,
            expiresMs: value["expires"]?.asString.flatMap { Timestamp.parse($0) }, previous: previous)
        guard self.body == body else { return nil }
    }
}
