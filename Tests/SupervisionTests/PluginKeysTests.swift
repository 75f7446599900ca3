import Access
import Glibc
import KeyFiles
import Testing
import ZeroMQ

@testable import HoldgateHost

@Suite struct PluginKeysTests {
    /// The file may authorise somebody of a plugin's name: neither gets the other's roles.
    @Test func aPluginHasTheRolesOfItsManifestWhoeverElseHasItsName() throws {
        var template = Array("/tmp/holdgate-keys-XXXXXX".utf8CString)
        let directory = String(cString: try #require(mkdtemp(&template)))
        defer { for name in ["/shop.key", ""] { remove(directory + name) } }
        let (host, shop) = (CurveKeyPair.random(), CurveKeyPair.random())
        let plugins = PluginKeys(directory: directory)
        let authorized = try AuthorizedKeys(text: "shop admin \(shop.publicKey)")
        let access = AccessControl(
            keys: .init(host: host, authorized: authorized, path: ""), plugins: plugins)
        let path = try plugins.file(for: "shop", Permissions(.observe), host: host.publicKey)
        #expect(path == directory + "/shop.key")
        let key = try KeyFile.read(path).pair.publicKey

        func caller(_ key: CurvePublicKey) -> Caller {
            access.caller(access.admit(Peer(domain: "control", address: "", credentials: .curve(key))))
        }
        #expect(caller(key) == Caller(name: "shop", permissions: Permissions(.observe)))
        #expect(caller(shop.publicKey) == Caller(name: "shop", permissions: Permissions(.admin)))
    }
}
