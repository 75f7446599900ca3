import Glibc
import KeyFiles
import Platform
import Testing
import ZeroMQ

@Suite struct KeyFileTests {
    private let keys = CurveKeyPair.random()
    private let host = CurveKeyPair.random().publicKey

    /// Why the file is not taken; nil: it is.
    private func complaint(_ path: String) -> String? {
        do throws(KeyFileError) {
            _ = try KeyFile.read(path)
            return nil
        } catch {
            #expect(error.description.contains(path))
            #expect(!error.description.contains(keys.secretKey.z85))
            return error.description
        }
    }

    private func text(
        name: String = "shop", public publicKey: String? = nil, secret: String? = nil, more: String = ""
    ) -> String {
        """
        {"name":"\(name)","publicKey":"\(publicKey ?? keys.publicKey.z85)",
         "secretKey":"\(secret ?? keys.secretKey.z85)"\(more)}
        """
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        try withTemporaryDirectory { directory in
            for file in [
                KeyFile(name: "shop", pair: keys, hostKey: host), KeyFile(name: "host", pair: keys),
            ] {
                let path = "\(directory)/\(file.name).key"
                try file.write(path)
                #expect(mode(path) == 0o600)
                #expect(try KeyFile.read(path) == file)
            }
            #expect(names(directory) == ["host.key", "shop.key"])
            #expect(try KeyFile.readIfThere(directory + "/none.key") == nil)
        }
    }

    @Test func nothingIsEverWrittenOver() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.key"
            try put("mine", path)
            try #require(symlink("nowhere", directory + "/link") == 0)
            for path in [path, directory + "/link", directory + "/none/shop.key"] {
                #expect(throws: KeyFileError.self) { try KeyFile(name: "shop", pair: keys).write(path) }
            }
            #expect(try get(path) == "mine")
            #expect(names(directory) == ["link", "shop.key"])
        }
    }

    /// A stale one may have been opened to others.
    @Test func aReplacedFileIsItsOwnersAlone() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.key"
            try put("old", path, mode: 0o644)
            try KeyFile(name: "shop", pair: keys).replace(path)
            #expect(mode(path) == 0o600)
            #expect(try KeyFile.read(path).pair == keys)
        }
    }

    @Test(arguments: [0o640, 0o604, 0o601, 0o620, 0o666, 0o610] as [mode_t])
    func aFileThatOthersMayUseIsRefusedWithTheCure(open: mode_t) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.key"
            try put(text(), path, mode: open)
            #expect(complaint(path)?.contains("chmod 600 \(path)") == true)
            try #require(chmod(path, 0o600) == 0)
            #expect(complaint(path) == nil)
            try #require(chmod(path, 0o400) == 0)
            #expect(complaint(path) == nil)
        }
    }

    @Test func whatIsNoRegularFileIsRefused() throws {
        try withTemporaryDirectory { directory in
            try put(text(), directory + "/real")
            try #require(symlink("real", directory + "/link") == 0)
            // Nobody ever writes into it: reading it must not wait for that.
            try #require(mkfifo(directory + "/pipe", 0o600) == 0)
            try #require(mkdir(directory + "/folder", 0o700) == 0)
            #expect(complaint(directory + "/real") == nil)
            for name in ["link", "pipe", "folder", "none"] {
                #expect(complaint(directory + "/" + name) != nil, "\(name)")
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func rootLooksAfterTheFilesOfADirectorysOwner() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.key"
            try put(text(), path)
            try #require(chown(path, 4242, 4343) == 0)
            #expect(complaint(path)?.contains("belongs to user 4242") == true)
            try #require(chown(directory, 4242, 4343) == 0)
            #expect(complaint(path) == nil)
            _ = try KeyFile.readOrCreate(directory + "/keys/host.key", name: "host")
            try AuthorizedKeysFile.add([], to: directory + "/keys/authorized_keys")
            for made in ["keys", "keys/host.key", "keys/authorized_keys.lock"] {
                var status = stat()
                try #require(stat(directory + "/" + made, &status) == 0)
                #expect(status.st_uid == 4242 && status.st_gid == 4343, "\(made)")
            }
            for made in names(directory + "/keys") { unlink(directory + "/keys/" + made) }
        }
    }

    @Test func ofTwoThatMakeTheHostsKeyOneDoes() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/host.key"
            let found = Locked<[Result<KeyFile, KeyFileError>]>([])
            let changed = Platform.Condition()
            for _ in 0..<4 {
                _ = try Thread.spawn(name: "maker") {
                    let file = Result { () throws(KeyFileError) in
                        try KeyFile.readOrCreate(path, name: "host")
                    }
                    found.withLock { $0.append(file) }
                    changed.broadcast()
                }
            }
            let files = found.withLock(waitingOn: changed) { $0.count == 4 ? $0 : nil }
            let file = try KeyFile.read(path)
            #expect(files.allSatisfy { $0 == .success(file) })
            #expect(names(directory) == ["host.key"])
        }
    }

    @Test func whatIsNoKeyIsRefused() throws {
        let other = CurveKeyPair.random()
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.key"
            for bad in [
                "", "[]", "not JSON", text() + text(), text(name: ""),
                text(name: String(repeating: "n", count: 129)), text(public: other.publicKey.z85),
                text(public: "short"), text(secret: "short"), text(secret: other.secretKey.z85),
                text(more: #","hostKey":"short""#), text(more: #","hostKey":7"#),
                text(more: #","name":"twice""#), "{}",
                text(more: #","more":""# + String(repeating: "x", count: 1 << 20) + "\""),
            ] {
                try put(bad, path)
                #expect(complaint(path) != nil, "\(bad.prefix(200))")
            }
        }
    }

    @Test func unknownMembersAreIgnored() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.key"
            try put(text(more: #","note":{"made":2026},"hostKey":null"#), path)
            #expect(try KeyFile.read(path) == KeyFile(name: "shop", pair: keys))
            try put(text(more: #","hostKey":"\#(host.z85)""#), path)
            #expect(try KeyFile.read(path) == KeyFile(name: "shop", pair: keys, hostKey: host))
        }
    }
}
