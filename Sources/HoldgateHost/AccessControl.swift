import Access
import Glibc
import KeyFiles
import Platform
import ZeroMQ

/// Whom the host lets in, and what they may do.
///
/// Without authorised keys the host asks nobody: it binds to loopback and to paths, whose permissions say who reaches it,
/// or anywhere if it was told `--insecure`.
struct AccessControl: Sendable {
    /// What each of the addresses proves, and by what.
    struct Keys: Sendable {
        let host: CurveKeyPair
        var authorized: AuthorizedKeys
        /// Where `authorized` is read from.
        let path: String
    }

    private(set) var keys: Keys?
    /// The keys of the plugins that the host starts itself.
    let plugins: PluginKeys

    /// Names that sent on `stream` what no subscriber sends.
    private var shutOut: Set<String> = []

    /// The name of a peer on a path whose process runs as the host's own user: no name in a file can be it.
    private static let ownUser = "@own"
    /// Ahead of the name of a plugin that the host starts: whoever has that name in the file is somebody else.
    private static let pluginPrefix = "@plugin/"

    init(keys: Keys?, plugins: PluginKeys) {
        self.keys = keys
        self.plugins = plugins
    }

    /// Reads the files that the configuration names. Keys are asked for where there is a file that authorises some.
    static func read(_ configuration: Configuration) throws(StartError) -> AccessControl {
        let places = KeyPlaces(configuration)
        let plugins = PluginKeys(directory: configuration.stateDir + "/keys/plugins")
        do {
            guard let authorized = try AuthorizedKeysFile.readIfThere(places.authorized) else {
                guard configuration.authorizedKeys.isEmpty, try KeyFile.readIfThere(places.host) == nil else {
                    throw StartError(
                        "there are no authorised keys at \(places.authorized), though this host has a key: put the file "
                            + "back, or remove \(places.host) to go without keys")
                }
                return AccessControl(keys: nil, plugins: plugins)
            }
            guard !configuration.isInsecure else {
                throw StartError(
                    "--insecure goes with no keys at all, and \(places.authorized) authorises some")
            }
            let pair = try KeyFile.read(places.host).pair
            return AccessControl(
                keys: Keys(host: pair, authorized: authorized, path: places.authorized), plugins: plugins)
        } catch let error as StartError {
            throw error
        } catch {
            throw StartError("\(error)")
        }
    }

    /// Refuses to bind where strangers reach a host that asks nobody who they are.
    func checkAddresses(_ configuration: Configuration) throws(StartError) {
        guard keys == nil, !configuration.isInsecure else { return }
        guard let open = configuration.addresses.first(where: { !Configuration.Address.isLocal($0) }) else {
            return
        }
        throw StartError(
            "\(open) is open to other machines, and this host asks nobody for a key: make keys with `holdgate keys new`, "
                + "or bind to 127.0.0.1 or an ipc:// path; --insecure binds anyway, and whoever reaches it may kill the "
                + "launch and read all events")
    }

    /// The file again. Throws, and the one in force stays, if it can't be read.
    ///
    /// - Returns: whether somebody who is in may be in no longer, or may do less.
    mutating func reload() throws -> Bool {
        guard let before = keys else { return false }
        let authorized = try AuthorizedKeysFile.read(before.path)
        keys?.authorized = authorized
        shutOut = []
        return before.authorized.takesAway(whenReplacedBy: authorized)
    }

    /// Lets nobody of that name to `stream` until the keys are read again.
    mutating func shutOutOfStream(_ name: String) { shutOut.insert(name) }

    /// The name under which a peer is let in; nil: it is refused.
    func admit(_ peer: Peer) -> String? {
        guard let name = name(of: peer), peer.domain != Self.streamDomain || !shutOut.contains(name) else {
            return nil
        }
        return name
    }

    /// As which `stream` asks about its peers.
    static let streamDomain = "stream"

    private func name(of peer: Peer) -> String? {
        guard let keys else { return nil }
        switch peer.credentials {
        case .curve(let key):
            return keys.authorized.name(of: .key(key.z85))
                ?? plugins.name(of: key).map { Self.pluginPrefix + $0 }
        case .none(let user?):
            return keys.authorized.name(of: .uid(user.uid)) ?? keys.authorized.name(of: .gid(user.gid))
                ?? (user.uid == geteuid() ? Self.ownUser : nil)
        case .none(nil), .other: return nil
        }
    }

    /// Who sent a message.
    ///
    /// - Parameter userID: as its frames bear it.
    func caller(_ userID: String?) -> Caller {
        guard let keys else { return .anybody }
        // Whoever may read the host's memory and files may do all else, too.
        if userID == Self.ownUser { return .anybody }
        guard let userID else { return Caller(name: "", permissions: .none) }
        guard userID.hasPrefix(Self.pluginPrefix) else {
            return Caller(name: userID, permissions: keys.authorized.permissions(of: userID) ?? .none)
        }
        let name = String(userID.dropFirst(Self.pluginPrefix.count))
        return Caller(name: name, permissions: plugins.permissions(of: name) ?? .none)
    }

    // MARK: Sockets

    /// What a socket must be told ahead of its addresses.
    func options(_ domain: String) -> [SocketOption] {
        keys == nil ? [] : SocketOption.authenticated(domain: domain)
    }

    /// What a socket must be told ahead of this address.
    func options(for address: String) -> [SocketOption] {
        guard let keys else { return [] }
        return address.hasPrefix("tcp://") ? SocketOption.curveServer(keys.host.secretKey) : [.noCurve]
    }
}

/// Where a host's files with keys are.
public struct KeyPlaces: Hashable, Sendable {
    public let authorized: String
    public let host: String

    public init(_ configuration: Configuration) {
        let standard = StateKeys(stateDir: configuration.stateDir)
        authorized = configuration.authorizedKeys.isEmpty ? standard.authorized : configuration.authorizedKeys
        host = configuration.hostKeyFile.isEmpty ? standard.host : configuration.hostKeyFile
    }
}
