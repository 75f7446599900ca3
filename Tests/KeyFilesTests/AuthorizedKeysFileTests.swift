import Access
import Glibc
import KeyFiles
import Platform
import Testing
import ZeroMQ

@Suite struct AuthorizedKeysFileTests {
    private let shopKey = CurveKeyPair.random().publicKey.z85

    private func entry(
        _ name: String, _ roles: String = "observe", _ identity: AuthorizedKeys.Identity? = nil,
        _ comment: String = ""
    ) throws -> AuthorizedKeys.Entry {
        AuthorizedKeys.Entry(
            name: name, permissions: try Permissions(text: roles), identity: identity ?? .key(shopKey),
            comment: comment)
    }

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            try put(text, directory + "/authorized_keys")
            try body(directory + "/authorized_keys")
        }
    }

    @Test func aKeyIsAppendedAndTheOtherLinesStay() throws {
        let before = "# who may\n\n  logs\tobserve:state   uid:1001  the logger\r\n# the end"
        try withFile(before) { path in
            let entry = try entry("shop", "produce:cart.,observe", nil, "the shop, at the front")
            try AuthorizedKeysFile.add([entry], to: path)
            #expect(
                try get(path)
                    == "\(before)\nshop observe,produce:cart. \(shopKey) the shop, at the front\n")
            #expect(try AuthorizedKeysFile.read(path).entries.last == entry)
        }
    }

    @Test func aRevokedNameTakesAllItsLinesAndNoOther() throws {
        let lines = [
            "# shop", "shop observe \(shopKey) one\r", "logs observe uid:7\r", "", "shop observe uid:8 two",
            "shop-2 observe uid:9",
        ]
        try withFile(lines.joined(separator: "\n") + "\n") { path in
            let gone = try AuthorizedKeysFile.remove(from: path) { $0.name == "shop" }
            #expect(
                gone == [
                    try entry("shop", "observe", nil, "one"), try entry("shop", "observe", .uid(8), "two"),
                ]
            )
            let rest = "# shop\nlogs observe uid:7\r\n\nshop-2 observe uid:9\n"
            #expect(try get(path) == rest)
            #expect(try AuthorizedKeysFile.remove(from: path) { $0.identity == .key(shopKey) } == [])
            #expect(try get(path) == rest)
        }
    }

    @Test func whatMakesNoLineIsRefused() throws {
        let before = "logs observe uid:7\n"
        try withFile(before) { path in
            for bad in [
                try entry("shop", "observe", nil, "two\nroot admin uid:0"),
                try entry("shop", "observe", nil, "two\r"), try entry("shop", "produce:a b"),
                AuthorizedKeys.Entry(
                    name: "two words", permissions: Permissions(.observe), identity: .key(shopKey)),
                AuthorizedKeys.Entry(name: "shop", permissions: .none, identity: .key(shopKey)),
                AuthorizedKeys.Entry(name: "#shop", permissions: .all, identity: .key(shopKey)),
                try entry("other", "observe", .uid(7)), try entry("logs", "admin"),
            ] {
                #expect(throws: KeyFileError.self, "\(bad)") {
                    try AuthorizedKeysFile.check([bad], for: path)
                }
                #expect(throws: KeyFileError.self, "\(bad)") { try AuthorizedKeysFile.add([bad], to: path) }
                #expect(try get(path) == before)
            }
        }
    }

    @Test func aFileIsMadeForItsOwnerAndKeepsItsMode() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/authorized_keys"
            #expect(try AuthorizedKeysFile.remove(from: path) { _ in true } == [])
            #expect(try AuthorizedKeysFile.readIfThere(path) == nil)
            try AuthorizedKeysFile.add([entry("shop")], to: path)
            #expect(mode(path) == 0o600)
            try #require(chmod(path, 0o640) == 0)
            try AuthorizedKeysFile.add([entry("logs", "observe", .uid(7))], to: path)
            #expect(mode(path) == 0o640)
            #expect(try AuthorizedKeysFile.read(path).entries.map(\.name) == ["shop", "logs"])
            #expect(names(directory) == ["authorized_keys", "authorized_keys.lock"])
        }
    }

    @Test func aBadFileIsNamedWithTheLineAndNotChanged() throws {
        let bad = "# a\nshop observe \(shopKey)\nlogs observe\n"
        try withFile(bad) { path in
            let error = #expect(throws: KeyFileError.self) { try AuthorizedKeysFile.read(path) }
            #expect(error?.description.hasPrefix("\(path): line 3: ") == true)
            #expect(throws: KeyFileError.self) { try AuthorizedKeysFile.remove(from: path) { _ in true } }
            #expect(throws: KeyFileError.self) { try AuthorizedKeysFile.add([entry("web")], to: path) }
            let after = try get(path)
            #expect(after == bad)
        }
    }

    @Test func aFileThatOthersMayChangeIsRefused() throws {
        try withFile("shop observe \(shopKey)\n") { path in
            try #require(chmod(path, 0o644) == 0)
            #expect(try AuthorizedKeysFile.read(path).entries.count == 1)
            for open: mode_t in [0o664, 0o646, 0o666] {
                try #require(chmod(path, open) == 0)
                let error = #expect(throws: KeyFileError.self) { try AuthorizedKeysFile.read(path) }
                #expect(error?.description.contains("chmod go-w \(path)") == true)
            }
            unlink(path)
            try #require(symlink("elsewhere", path) == 0)
            #expect(throws: KeyFileError.self) { try AuthorizedKeysFile.read(path) }
            #expect(throws: KeyFileError.self) { try AuthorizedKeysFile.add([entry("web")], to: path) }
        }
    }

    @Test func writersGoOneAfterAnother() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/authorized_keys"
            let failures = Locked<[String]>([])
            let running = Locked(8)
            let changed = Platform.Condition()
            for number in 0..<8 {
                _ = try Thread.spawn(name: "writer") {
                    for each in 0..<4 {
                        do {
                            try AuthorizedKeysFile.add(
                                AuthorizedKeys(text: "n observe uid:\(number * 4 + each)").entries, to: path)
                        } catch {
                            failures.withLock { $0.append("\(error)") }
                        }
                    }
                    running.withLock { $0 -= 1 }
                    changed.broadcast()
                }
            }
            _ = running.withLock(waitingOn: changed) { $0 == 0 ? true : nil }
            #expect(failures.withLock { $0 } == [])
            #expect(try AuthorizedKeysFile.read(path).entries.count == 32)
        }
    }
}
