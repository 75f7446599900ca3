import Access
import Glibc
import Platform

/// What a plugin that the host starts finds around it.
struct PluginEnvironment: Sendable {
    /// The host's own variables but those that are its configuration, and the addresses.
    let variables: [String: String]
    private let access: AccessControl

    /// - Parameters:
    ///   - endpoints: what was bound; a client connects to one address, so the first is handed on.
    ///   - access: where it asks for keys, each plugin gets one of its own.
    init(_ endpoints: Host.Endpoints, _ access: AccessControl) {
        self.access = access
        var variables = HostEnvironment.inherited()
        let bound = [endpoints.control, endpoints.stream, endpoints.ingest, endpoints.plugin]
        for (name, addresses) in zip(HostEnvironment.addresses, bound) {
            // Within the process is out of another's reach.
            variables[name] = addresses.first { !$0.hasPrefix("inproc:") }.map(Self.reachable)
        }
        self.variables = variables
    }

    /// The address as it is from any folder.
    private static func reachable(_ address: String) -> String {
        let scheme = "ipc://"
        let path = String(address.dropFirst(scheme.count))
        // One that begins with @ is a name and no file.
        guard address.hasPrefix(scheme), !path.hasPrefix("@") else { return address }
        return scheme + absolute(path)
    }

    /// The path as it is from any folder: a plugin starts in its own, and a relative path is from the host's.
    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return path }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }

    /// How to start it; nil where its program is not found. See `HostEnvironment.find`.
    ///
    /// - Throws: when its key could not be written.
    func order(_ manifest: PluginManifest) throws -> ChildProcess.Order? {
        let found = HostEnvironment.find(
            manifest.command, in: manifest.directory, path: manifest.environment["PATH"] ?? variables["PATH"])
        guard let executable = found else { return nil }
        var variables = variables
        if let keys = access.keys {
            let file = try access.plugins.file(
                for: manifest.name, manifest.permissions, host: keys.host.publicKey)
            variables["HOLDGATE_KEY_FILE"] = Self.absolute(file)
        }
        return ChildProcess.Order(
            executable: executable, arguments: manifest.arguments,
            environment: variables.merging(manifest.environment) { $1 }, directory: manifest.directory)
    }
}

extension PluginManifest {
    /// The roles that a plugin has under the key that the host gives it. Every one may hear the stream.
    var permissions: Permissions {
        var roles: [Role] = [.observe]
        for capability in may {
            switch capability {
            case .command: roles += [.hold, .start, .revoke]
            case .publish: roles.append(.produce)
            case .collect: roles.append(.collect)
            case .serve: roles.append(.serve)
            }
        }
        return Permissions(roles: Dictionary(roles.map { ($0, .all) }) { first, _ in first })
    }
}
