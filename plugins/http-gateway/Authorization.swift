import Access
import CSodium
import HTTPServer
import Wire

/// Who asks, and what that one may do.
struct Asker: Hashable, Sendable {
    /// Nil: nobody in particular.
    let name: String?
    let permissions: Permissions

    /// Why a role is missing; nil: it is there.
    func missing(_ role: Role) -> Problem? {
        guard !permissions.has(role) else { return nil }
        guard let name else {
            return Problem(
                401, "unauthorized",
                "this needs a token with the role \(role.rawValue): Authorization: Bearer …",
                headers: [HTTPHead.Field("WWW-Authenticate", "Bearer realm=\"holdgate\"")])
        }
        return Problem(
            403, "forbidden", "this needs the role \(role.rawValue), and \(name) has \(permissions.text)")
    }
}

/// Finds out who asks, by token.
struct Authorization: Sendable {
    let access: AccessFile
    /// What needs no token.
    let anonymous: Permissions

    /// Who is behind a request's token; whoever has none is anonymous.
    func asker(_ head: HTTPHead) throws(Problem) -> Asker {
        let given = head.all("authorization")
        guard let first = given.first else { return Asker(name: nil, permissions: anonymous) }
        guard given.count == 1 else { throw Self.invalid("more than one Authorization header") }
        let parts = first.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw Self.invalid("the Authorization header is not: Bearer TOKEN")
        }
        let digest = SHA256.digest(Array(parts[1].utf8))
        var found: AccessFile.Token?
        // All are looked at: how long it takes says nothing of the tokens.
        for token in access.tokens where sodium_memcmp(token.digest, digest, digest.count) == 0 {
            found = token
        }
        guard let found else { throw Self.invalid("the token is not known") }
        return Asker(name: found.name, permissions: found.permissions)
    }

    private static func invalid(_ what: String) -> Problem {
        Problem(
            401, "unauthorized", what,
            headers: [
                HTTPHead.Field("WWW-Authenticate", "Bearer realm=\"holdgate\", error=\"invalid_token\"")
            ])
    }
}

enum SHA256 {
    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }

    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in digest(bytes) {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// HMAC with SHA-256.
    static func authentication(of pieces: [[UInt8]], key: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        crypto_auth_hmacsha256_init(&state, key, key.count)
        for piece in pieces { crypto_auth_hmacsha256_update(&state, piece, UInt64(piece.count)) }
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        crypto_auth_hmacsha256_final(&state, &code)
        return code
    }
}
