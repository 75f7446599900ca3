import Access
import CSodium
import Wire

/// Who may do what over HTTP: the file that `--access` names.
///
/// ```
/// # who                roles               what proves it
/// token   consent-page hold,start          sha256:9f86d081884c7d65…       the consent page's backend
/// token   shop         produce:cart.       sha256:60303ae22b998861…
/// webhook cmp          hold,start,revoke   whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
/// # what a webhook of cmp means: a member of its body, by JSON pointer, and its value
/// on      cmp          /type               consent.withdrawn              kill
/// on      cmp          /type               consent.given                  start
/// ```
struct AccessFile: Hashable, Sendable {
    struct Token: Hashable, Sendable {
        let name: String
        let permissions: Permissions
        /// SHA-256 of the token's text, 32 bytes.
        let digest: [UInt8]
    }

    struct Webhook: Hashable, Sendable {
        let name: String
        let permissions: Permissions
        /// The key of its signatures.
        let secret: [UInt8]
        var rules: [Rule] = []
    }

    struct Rule: Hashable, Sendable {
        /// RFC 6901.
        let pointer: [String]
        let value: String
        let action: LifecycleAction
    }

    private(set) var tokens: [Token] = []
    private(set) var webhooks: [Webhook] = []

    /// Nobody: only what is open to all is open.
    init() {}

    /// Reads the whole file, or names its first bad line.
    init(text: String) throws(AccessError) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let fields = Substring(line).split { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = fields.first, !first.hasPrefix("#") else { continue }
            do throws(AccessError) {
                try add(String(first), fields.dropFirst().map(String.init))
            } catch {
                throw AccessError("line \(number + 1): \(error)")
            }
        }
    }

    private mutating func add(_ kind: String, _ fields: [String]) throws(AccessError) {
        switch kind {
        case "token":
            guard fields.count >= 3 else {
                throw AccessError("a token's line is: token NAME ROLES sha256:HEX")
            }
            let digest = try Self.digest(fields[2])
            let name = try AuthorizedKeys.name(fields[0])
            guard !tokens.contains(where: { $0.digest == digest }) else {
                throw AccessError("this token is in the file already")
            }
            tokens.append(Token(name: name, permissions: try Self.roles(fields[1]), digest: digest))
        case "webhook":
            guard fields.count >= 3 else {
                throw AccessError("a webhook's line is: webhook NAME ROLES whsec_BASE64")
            }
            let name = try AuthorizedKeys.name(fields[0])
            guard !webhooks.contains(where: { $0.name == name }) else {
                throw AccessError("there is a webhook \(name) already")
            }
            webhooks.append(
                Webhook(
                    name: name, permissions: try Self.roles(fields[1]), secret: try Self.secret(fields[2])))
        case "on":
            guard fields.count >= 4 else {
                throw AccessError("a rule's line is: on WEBHOOK POINTER VALUE start|hold|kill")
            }
            try addRule(fields)
        default: throw AccessError("a line begins with token, webhook, on or #, not with \(kind)")
        }
    }

    private mutating func addRule(_ fields: [String]) throws(AccessError) {
        guard let index = webhooks.firstIndex(where: { $0.name == fields[0] }) else {
            throw AccessError("there is no webhook \(fields[0]) above this line")
        }
        guard let pointer = Self.pointer(fields[1]) else {
            throw AccessError("\(fields[1]) is no JSON pointer: /type, or /data/status")
        }
        guard let action = LifecycleAction(rawValue: fields[3]) else {
            throw AccessError("\(fields[3]) is none of start, hold and kill")
        }
        let role = action.role
        guard webhooks[index].permissions.has(role) else {
            throw AccessError(
                "\(action.rawValue) needs the role \(role.rawValue), which \(fields[0]) has not")
        }
        webhooks[index].rules.append(Rule(pointer: pointer, value: fields[2], action: action))
    }

    /// The roles that mean something here.
    static let roles: [Role] = [.observe, .produce, .hold, .start, .revoke]

    static func roles(_ text: String) throws(AccessError) -> Permissions {
        let permissions = try Permissions(text: text)
        for role in Role.allCases where permissions.has(role) {
            guard roles.contains(role) else {
                let all = roles.map(\.rawValue).joined(separator: ", ")
                throw AccessError(
                    "the role \(role.rawValue) opens nothing over HTTP; those that do are \(all)")
            }
        }
        if permissions.has(.observe), permissions.roles[.observe] != .all {
            throw AccessError("observe takes no prefix over HTTP")
        }
        return permissions
    }

    private static func digest(_ text: String) throws(AccessError) -> [UInt8] {
        let digits = Array(text.utf8.dropFirst(7))
        guard text.hasPrefix("sha256:"), digits.count == 64 else {
            throw AccessError("\(text) is not sha256: and 64 hexadecimal digits")
        }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 64, by: 2) {
            let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16), !pair.hasPrefix("+") else {
                throw AccessError("\(text) is not sha256: and 64 hexadecimal digits")
            }
            bytes.append(byte)
        }
        return bytes
    }

    private static func secret(_ text: String) throws(AccessError) -> [UInt8] {
        guard text.hasPrefix("whsec_"), let bytes = Base64.decode(String(text.dropFirst(6))),
            (16...128).contains(bytes.count)
        else { throw AccessError("a webhook's secret is whsec_ and the base64 of 16 to 128 bytes") }
        return bytes
    }

    /// RFC 6901: `~1` is a slash, `~0` a tilde.
    private static func pointer(_ text: String) -> [String]? {
        guard text.hasPrefix("/") else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropFirst().map { part -> String in
            var name = ""
            var isEscaped = false
            for character in part {
                if isEscaped { name.append(character == "1" ? "/" : "~") }
                if !isEscaped, character != "~" { name.append(character) }
                isEscaped = !isEscaped && character == "~"
            }
            return name
        }
    }
}

/// Base64 by libsodium.
enum Base64 {
    /// With or without padding; nil where it is none.
    static func decode(_ text: String) -> [UInt8]? {
        for variant in [sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING] {
            let length = text.utf8.count
            var bytes = [UInt8](repeating: 0, count: length)
            var count = 0
            let status = text.withCString {
                sodium_base642bin(&bytes, length, $0, length, nil, &count, nil, variant)
            }
            if status == 0 { return Array(bytes[..<count]) }
        }
        return nil
    }

    /// With padding.
    static func encode(_ bytes: [UInt8], variant: Int32 = sodium_base64_VARIANT_ORIGINAL) -> String {
        let capacity = sodium_base64_encoded_len(bytes.count, variant)
        var text = [CChar](repeating: 0, count: capacity)
        sodium_bin2base64(&text, capacity, bytes, bytes.count, variant)
        return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}
