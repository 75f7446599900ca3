/// A secret that is no pair of keys: one line in a file that its owner alone may read.
public enum SecretFile {
    /// The file's first and only line, without blanks around it. Throws where there is none, where it can be read or
    /// changed by others, and where it holds nothing.
    public static func read(_ path: String) throws(KeyFileError) -> String {
        guard let text = try PrivateFile.read(path, .others) else {
            throw KeyFileError("there is no \(path)")
        }
        let blanks = Set(" \t\r\n".utf8)
        var line = Array(text.utf8)[...]
        while let first = line.first, blanks.contains(first) { line = line.dropFirst() }
        while let last = line.last, blanks.contains(last) { line = line.dropLast() }
        guard !line.isEmpty else { throw KeyFileError("\(path) is empty") }
        guard line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw KeyFileError("\(path) holds more than one word of visible ASCII characters")
        }
        return String(decoding: line, as: UTF8.self)
    }
}
