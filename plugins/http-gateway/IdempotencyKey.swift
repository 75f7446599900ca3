import HTTPServer
import HoldgateClient

/// What a client tells its attempts at one request by.
enum IdempotencyKey {
    /// Nil: there is none.
    static func read(_ head: HTTPHead, bytes: Int) throws(Problem) -> String? {
        let keys = head.all("idempotency-key")
        guard let key = keys.first else { return nil }
        let isPrintable = key.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        guard keys.count == 1, isPrintable, (1...bytes).contains(key.utf8.count) else {
            throw Problem(
                400, ErrorCode.invalidArgument.raw,
                "an Idempotency-Key is given once, and has 1 to \(bytes) characters of ASCII without spaces")
        }
        return key
    }
}
