import KeyFiles
import Testing

@Suite struct SecretFileTests {
    private func complaint(_ path: String) -> String? {
        do throws(KeyFileError) {
            _ = try SecretFile.read(path)
            return nil
        } catch {
            #expect(error.description.contains(path))
            #expect(!error.description.contains("s3cret"))
            return error.description
        }
    }

    @Test func oneWordIsRead() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/token"
            for text in ["s3cret", "s3cret\n", "  s3cret\r\n"] {
                try put(text, path)
                #expect(try SecretFile.read(path) == "s3cret")
            }
        }
    }

    @Test func anythingElseIsRefused() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/token"
            #expect(complaint(path) == "there is no \(path)")
            for text in ["", "\n"] {
                try put(text, path)
                #expect(complaint(path) == "\(path) is empty")
            }
            for text in ["s3cret more", "s3cret\nX-Other: header", "s3cr\u{E9}t", "s3cret\0"] {
                try put(text, path)
                #expect(complaint(path)?.contains("more than one word") == true, "\(text)")
            }
            try put("s3cret", path, mode: 0o640)
            #expect(complaint(path)?.contains("chmod 600") == true)
        }
    }
}
