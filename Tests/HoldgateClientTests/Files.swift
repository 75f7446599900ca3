import Glibc

struct NoFile: Error {}

func writeFile(_ path: String, _ text: String) throws {
    guard let file = fopen(path, "w") else { throw NoFile() }
    defer { fclose(file) }
    guard fputs(text, file) >= 0 else { throw NoFile() }
}

func removeFile(_ path: String) { unlink(path) }

extension SystemRandomNumberGenerator {
    static func randomText() -> String {
        var generator = SystemRandomNumberGenerator()
        let number: UInt64 = generator.next()
        return String(number, radix: 16)
    }
}
