import CSodium

/// SHA-256 as 64 lowercase hexadecimal digits.
enum SHA256 {
    static let digitCount = 64

    static func hex(of bytes: UnsafeRawBufferPointer) -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        let input = bytes.bindMemory(to: UInt8.self)
        let result = crypto_hash_sha256(&digest, input.baseAddress, UInt64(input.count))
        precondition(result == 0, "SHA-256 can't fail")
        return hex(digest)
    }

    static func hex(of text: String) -> String {
        var text = text
        return text.withUTF8 { hex(of: UnsafeRawBufferPointer($0)) }
    }

    private static func hex(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
