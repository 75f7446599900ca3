import Glibc
import Platform
import Testing

@Suite struct SocketPathTests {
    @Test func theFolderIsMadeForThisUserAlone() throws {
        try withFolder { folder in
            let held = try SocketPath(folder + "/run/control")
            #expect(mode(folder + "/run") == S_IFDIR | 0o700)
            #expect(mode(held.path) == S_IFSOCK | 0o600)
            #expect(connects(held.path) == 0)
        }
    }

    @Test func onlyTheLastFolderIsMade() throws {
        try withFolder { folder in
            #expect(throws: SocketPathError.noFolder(folder + "/a/b/c", folder: folder + "/a/b")) {
                try SocketPath(folder + "/a/b/c")
            }
        }
    }

    @Test func aGroupThatMayEnterMayConnect() throws {
        try withFolder { folder in
            chmod(folder, 0o750)
            let held = try SocketPath(folder + "/control")
            #expect(mode(held.path) == S_IFSOCK | 0o660)
            #expect(status(held.path)?.st_gid == status(folder)?.st_gid)
        }
    }

    @Test(arguments: [0o777, 0o1777, 0o755, 0o770, 0o720, 0o701, 0o704] as [mode_t])
    func aFolderThatLetsOthersInIsRefused(_ mode: mode_t) throws {
        try withFolder { folder in
            chmod(folder, mode)
            #expect(throws: SocketPathError.openFolder(folder + "/control", folder: folder, mode: mode)) {
                try SocketPath(folder + "/control")
            }
            #expect(names(folder).isEmpty)
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func anotherUsersFolderIsRefused() throws {
        try withFolder { folder in
            chown(folder, 65_534, gid_t.max)
            #expect(throws: SocketPathError.foreignFolder(folder + "/control", folder: folder, owner: 65_534))
            {
                try SocketPath(folder + "/control")
            }
        }
    }

    @Test(arguments: ["", "/", "//"])
    func aLinkToAFolderIsNoFolder(_ end: String) throws {
        try withFolder { folder in
            mkdir(folder + "/real", 0o700)
            symlink("real", folder + "/link")
            let path = folder + "/link" + end + "/control"
            #expect(throws: SocketPathError.notAFolder(path, folder: folder + "/link", kind: "a link")) {
                try SocketPath(path)
            }
            #expect(names(folder + "/real").isEmpty)
        }
    }

    @Test func whatIsNoSocketStays() throws {
        try withFolder { folder in
            close(open(folder + "/file", O_CREAT | O_WRONLY, 0o600))
            symlink("nowhere", folder + "/dangling")
            symlink("file", folder + "/link")
            mkfifo(folder + "/pipe", 0o600)
            mkdir(folder + "/folder", 0o700)
            for (name, kind) in [
                ("file", "a file"), ("dangling", "a link"), ("link", "a link"), ("pipe", "a pipe"),
                ("folder", "a folder"),
            ] {
                let before = status(folder + "/" + name)?.st_ino
                #expect(throws: SocketPathError.occupied(folder + "/" + name, kind: kind)) {
                    try SocketPath(folder + "/" + name)
                }
                #expect(before != nil && status(folder + "/" + name)?.st_ino == before)
            }
        }
    }

    @Test func aSocketThatIsListenedAtIsInUse() throws {
        try withFolder { folder in
            let path = folder + "/control"
            let listener = bound(path)
            listen(listener, 1)
            #expect(throws: SocketPathError.inUse(path)) { try SocketPath(path) }
            #expect(connects(path) == 0)
            // Nobody takes the connections: in the end there is no room for more.
            var callers: [Int32] = []
            while true {
                let caller = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                callers.append(caller)
                guard connects(path, caller) == 0 else { break }
            }
            #expect(throws: SocketPathError.inUse(path)) { try SocketPath(path) }
            for caller in callers { close(caller) }
            close(listener)
            let held = try SocketPath(path)
            #expect(connects(held.path) == 0)
        }
    }

    @Test func aPathHasOneHolder() throws {
        try withFolder { folder in
            let path = folder + "/control"
            do {
                let held = try SocketPath(path)
                #expect(throws: SocketPathError.locked(path, holder: getpid())) { try SocketPath(path) }
                // Also while nothing lies there.
                unlink(path)
                #expect(throws: SocketPathError.locked(path, holder: getpid())) { try SocketPath(path) }
                _ = held
            }
            _ = try SocketPath(path)
        }
    }

    @Test func manyAtOnceAreOneHolder() throws {
        try withFolder { folder in
            let holders = Locked<[SocketPath]>([])
            var joins: [() -> Void] = []
            for number in 0..<8 {
                joins.append(
                    try start("racer \(number)") {
                        guard let held = try? SocketPath(folder + "/control") else { return }
                        holders.withLock { $0.append(held) }
                    })
            }
            for join in joins { join() }
            #expect(holders.withLock { $0.count } == 1)
            #expect(connects(folder + "/control") == 0)
        }
    }

    @Test func theLocksFileIsNoLink() throws {
        try withFolder { folder in
            symlink("elsewhere", folder + "/a.lock")
            #expect(throws: SocketPathError.occupied(folder + "/a.lock", kind: "a link")) {
                try SocketPath(folder + "/a")
            }
            #expect(names(folder) == ["a.lock"])
            mkfifo(folder + "/b.lock", 0o600)
            #expect(throws: SocketPathError.occupied(folder + "/b.lock", kind: "a pipe")) {
                try SocketPath(folder + "/b")
            }
        }
    }

    @Test func theEndRemovesItsOwnSocketAndNothingElse() throws {
        try withFolder { folder in
            let path = folder + "/control"
            _ = try SocketPath(path)
            #expect(names(folder) == ["control.lock"])
            do {
                let held = try SocketPath(path)
                rename(path, folder + "/moved")
                close(open(path, O_CREAT | O_WRONLY, 0o600))
                _ = held
            }
            #expect(mode(path) == S_IFREG | 0o600)
            #expect(names(folder).sorted() == ["control", "control.lock", "moved"])
        }
    }

    @Test func aCopyListensWithoutThePath() throws {
        try withFolder { folder in
            let held = try SocketPath(folder + "/control")
            let inode = status(held.path)?.st_ino
            #expect(connects(held.path) == 0)
            for _ in 0..<3 {
                // Who came before there was a copy has waited for it.
                let copy = try held.descriptor()
                let peer = accept(copy, nil, nil)
                #expect(peer >= 0)
                close(peer)
                close(copy)
                #expect(connects(held.path) == 0)
            }
            #expect(status(held.path)?.st_ino == inode)
        }
    }

    @Test func whatFitsNoAddressIsRefused() throws {
        try withFolder { folder in
            let name = String(repeating: "n", count: 107 - folder.utf8.count - 1)
            let held = try SocketPath(folder + "/" + name)
            #expect(connects(held.path) == 0)
            let path = folder + "/" + name + "n"
            #expect(throws: SocketPathError.tooLong(path)) { try SocketPath(path) }
            for path in ["", "/", folder + "/", folder + "/..", "."] {
                #expect(throws: SocketPathError.noName(path)) { try SocketPath(path) }
            }
        }
    }

    // MARK: Helpers

    private func withFolder(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/holdgate-path-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
        try #require(made)
        let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        defer { remove(folder) }
        try body(folder)
    }

    private func remove(_ path: String) {
        guard mode(path).map({ $0 & S_IFMT == S_IFDIR }) == true else {
            unlink(path)
            return
        }
        for name in names(path) { remove(path + "/" + name) }
        rmdir(path)
    }

    private func names(_ folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                String(cString: UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private func mode(_ path: String) -> mode_t? { status(path)?.st_mode }

    private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// A socket at `path` that does not listen yet.
    private func bound(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #expect(withAddress(path) { bind(descriptor, $0, $1) } == 0)
        return descriptor
    }

    /// The errno of connecting, 0 if it worked.
    private func connects(_ path: String, _ caller: Int32? = nil) -> Int32 {
        let descriptor = caller ?? socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { if caller == nil { close(descriptor) } }
        return withAddress(path) { connect(descriptor, $0, $1) } == 0 ? 0 : errno
    }
}
