import Access
import CSodium
import HTTPServer
import HoldgateClient
import Platform

/// Signed requests, as Standard Webhooks has them: `webhook-id`, `webhook-timestamp` in seconds, and `webhook-signature`,
/// one or more of `v1,` and the base64 of HMAC-SHA-256 over id, timestamp and body, parted by points.
///
/// Nothing is taken twice: a signature counts for five minutes around its timestamp, of those that were taken in that
/// time each is known, and none counts that is older than this process, which can't know it.
final class Webhooks: Sendable {
    static let toleranceSeconds: Int64 = 300
    /// Signatures that are remembered.
    static let memory = 100_000

    private struct Seen: Hashable {
        let name: String
        let id: String
        let timestamp: Int64
    }

    /// A request whose signature counts.
    struct Verified: Hashable, Sendable {
        let webhook: AccessFile.Webhook
        let id: String
        let timestamp: Int64

        var asker: Asker { Asker(name: webhook.name, permissions: webhook.permissions) }
        /// The same for each attempt to deliver the same message.
        var key: String { "webhook-" + SHA256.hex(Array("\(webhook.name)\n\(id)".utf8)).prefix(32) }
    }

    private let seen = Locked<[Seen: Void]>([:])
    private let startSeconds: Int64

    init(startMs: Int64) { startSeconds = startMs / 1000 }

    /// Finds whose signature it is, and remembers it.
    ///
    /// - Parameter webhooks: those whose it may be.
    func verify(
        _ head: HTTPHead, body: [UInt8], among webhooks: [AccessFile.Webhook], nowMs: Int64
    ) throws(Problem) -> Verified {
        guard let id = head.header("webhook-id"), (1...256).contains(id.utf8.count),
            let stamp = head.header("webhook-timestamp"), let timestamp = Int64(stamp),
            let given = head.header("webhook-signature")
        else { throw Self.refused("webhook-id, webhook-timestamp and webhook-signature are needed") }
        let message = [Array("\(id).\(stamp).".utf8), body]
        let signatures = given.split(separator: " ").filter { $0.hasPrefix("v1,") }.prefix(8)
            .compactMap { Base64.decode(String($0.dropFirst(3))) }
        let webhook = webhooks.first { webhook in
            let code = SHA256.authentication(of: message, key: webhook.secret)
            return signatures.contains { $0.count == code.count && sodium_memcmp($0, code, code.count) == 0 }
        }
        guard let webhook else {
            throw Self.refused("the signature is of none of the secrets that are known here")
        }
        let now = nowMs / 1000
        guard abs(now - timestamp) <= Self.toleranceSeconds else {
            throw Self.refused(
                "the timestamp is \(abs(now - timestamp)) seconds off: sign each attempt anew, by a clock that is right"
            )
        }
        guard timestamp >= startSeconds else {
            throw Self.refused(
                "the signature is older than this gateway's process: sign the next attempt anew")
        }
        try remember(Seen(name: webhook.name, id: id, timestamp: timestamp), now: now)
        return Verified(webhook: webhook, id: id, timestamp: timestamp)
    }

    private func remember(_ new: Seen, now: Int64) throws(Problem) {
        let problem: Problem? = seen.withLock { seen in
            if seen[new] != nil {
                return Problem(409, "replayed", "this signature was used already: sign each attempt anew")
            }
            if seen.count >= Self.memory {
                seen = seen.filter { now - $0.key.timestamp <= Self.toleranceSeconds }
            }
            guard seen.count < Self.memory else {
                var problem = Problem(429, ErrorCode.overloaded.raw, "too many signatures in five minutes")
                problem.retryable = true
                return problem
            }
            seen[new] = ()
            return nil
        }
        if let problem { throw problem }
    }

    /// What it asked for was not done: the same may come again.
    func forget(_ verified: Verified) {
        seen.withLock {
            $0[Seen(name: verified.webhook.name, id: verified.id, timestamp: verified.timestamp)] = nil
        }
    }

    private static func refused(_ what: String) -> Problem { Problem(401, "unauthorized", what) }
}

extension AccessFile.Rule {
    /// Whether a body has the value at the place. Numbers and booleans count as their JSON text.
    func matches(_ body: JSONValue) -> Bool {
        var place = body
        for name in pointer {
            if let elements = place.asArray {
                guard let index = Int(name), elements.indices.contains(index) else { return false }
                place = elements[index]
            } else {
                guard let member = place[name] else { return false }
                place = member
            }
        }
        return place.asString.map { $0 == value } ?? (place.text == value)
    }
}
