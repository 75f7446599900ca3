import Access
import Glibc
import KeyFiles

extension HTTPGateway {
    /// `token`: makes one, and says it once. What is kept is its hash.
    static func makeToken(_ order: Options.NewToken) -> Int32 {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let token = Base64.encode(bytes, variant: 7)  // sodium_base64_VARIANT_URLSAFE_NO_PADDING
        let digest = SHA256.hex(Array(token.utf8))
        var line = "token \(order.name) \(order.roles.text) sha256:\(digest)"
        if !order.comment.isEmpty { line += " \(order.comment)" }
        guard let file = order.file, !file.isEmpty else {
            log("without --access nothing is kept: put this line into the file yourself")
            print(line)
            print(token)
            return 0
        }
        do {
            try add(line, to: file)
        } catch {
            log("\(error)")
            return 1
        }
        log("added to \(file); a running gateway reads it on SIGHUP. The token is not kept:")
        print(token)
        return 0
    }

    private static func add(_ line: String, to path: String) throws {
        let known = try PrivateFile.read(path, .others) ?? ""
        let text = known + (known.isEmpty || known.hasSuffix("\n") ? "" : "\n") + line + "\n"
        do throws(AccessError) {
            _ = try AccessFile(text: text)
        } catch {
            throw KeyFileError("\(path), \(error)")
        }
        try PrivateFile.write(text, path, .whatIsThere)
    }
}
