import Access
import KeyFiles
import Platform
import ZeroMQ

/// The keys of the plugins that the host starts itself: new ones in each run of the host, a file for each.
///
/// The supervisor's thread makes them, the reactor's looks them up.
final class PluginKeys: Sendable {
    private struct Row {
        let pair: CurveKeyPair
        let path: String
        var permissions: Permissions
    }

    private let directory: String
    private let rows = Locked<[String: Row]>([:])

    init(directory: String) { self.directory = directory }

    /// The file with the key that this plugin has while it may do what `may` says.
    func file(for name: String, _ may: Permissions, host: CurvePublicKey) throws -> String {
        if let path = rows.withLock({ rows -> String? in
            rows[name]?.permissions = may
            return rows[name]?.path
        }) {
            return path
        }
        let pair = CurveKeyPair.random()
        let path = "\(directory)/\(name).key"
        try KeyFile(name: name, pair: pair, hostKey: host).replace(path)
        rows.withLock { $0[name] = Row(pair: pair, path: path, permissions: may) }
        return path
    }

    func name(of key: CurvePublicKey) -> String? {
        rows.withLock { rows in rows.first { $0.value.pair.publicKey == key }?.key }
    }

    func permissions(of name: String) -> Permissions? { rows.withLock { $0[name]?.permissions } }
}
