import Glibc
import Platform

/// What a plugin that the host starts finds around it.
struct PluginEnvironment: Sendable {
    /// The variables with the host's addresses.
    static let addresses = ["HOLDGATE_CONTROL", "HOLDGATE_STREAM", "HOLDGATE_INGEST", "HOLDGATE_PLUGIN"]

    /// The host's own variables but those that are its configuration, and the addresses.
    let variables: [String: String]
    /// Where bundled programs lie: the folder of the host's own.
    let programs: String?

    /// - Parameter endpoints: what was bound; a client connects to one address, so the first is handed on.
    init(_ endpoints: Host.Endpoints) {
        var variables = Self.inherited()
        for (name, bound) in zip(
            Self.addresses, [endpoints.control, endpoints.stream, endpoints.ingest, endpoints.plugin])
        {
            // Within the process is out of another's reach.
            variables[name] = bound.first { !$0.hasPrefix("inproc:") }
        }
        self.variables = variables
        programs = Self.programFolder()
    }

    /// How to start it, or why not.
    func order(_ manifest: PluginManifest) -> ChildProcess.Order? {
        guard let executable = find(manifest) else { return nil }
        return ChildProcess.Order(
            executable: executable, arguments: manifest.arguments,
            environment: variables.merging(manifest.environment) { $1 }, directory: manifest.directory)
    }

    /// A command with a slash is a path, a relative one within the manifest's folder. One without is looked for in the
    /// manifest's folder, then beside the host's program (that is where bundled plugins are), then in PATH.
    private func find(_ manifest: PluginManifest) -> String? {
        let command = manifest.command
        if command.hasPrefix("/") { return command }
        if command.contains("/") { return "\(manifest.directory)/\(command)" }
        let path = (manifest.environment["PATH"] ?? variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin")
            .split(separator: ":").map(String.init)
        let places = [manifest.directory] + (programs.map { [$0] } ?? []) + path
        return places.map { "\($0)/\(command)" }.first { Self.isProgram($0) }
    }

    private static func isProgram(_ path: String) -> Bool {
        var found = stat()
        return stat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    private static func programFolder() -> String? {
        guard let resolved = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(resolved) }
        let path = String(cString: resolved)
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }

    private static func inherited() -> [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].hasPrefix("HOLDGATE_") {
                variables[String(parts[0])] = String(parts[1])
            }
            next += 1
        }
        return variables
    }
}
