import Glibc

/// What is around this process: its variables, and programs.
public enum HostEnvironment {
    /// The variables that hand a plugin the host's addresses.
    public static let addresses = [
        "HOLDGATE_CONTROL", "HOLDGATE_STREAM", "HOLDGATE_INGEST", "HOLDGATE_PLUGIN",
    ]

    /// Variables of the name `HOLDGATE_…` that are none of a host's and speak to a plugin as well: where
    /// consent-manager takes decisions is where `holdgate consent` brings them.
    private static let shared: Set = ["HOLDGATE_CONSENT"]

    /// All variables but a host's configuration, which begins with `HOLDGATE_`, and what is a client's alone.
    public static func inherited() -> [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].hasPrefix("HOLDGATE_") || shared.contains(String(parts[0])) {
                variables[String(parts[0])] = String(parts[1])
            }
            next += 1
        }
        return variables
    }

    /// A command with a slash is a path, a relative one within `directory`. One without is looked for in
    /// `directory`, then beside this program (that is where bundled plugins are), then in `path`. Nil: not found
    /// there.
    public static func find(_ command: String, in directory: String = ".", path: String?) -> String? {
        if command.hasPrefix("/") { return command }
        if command.contains("/") { return "\(directory)/\(command)" }
        let places = (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map(String.init)
        let all = [directory] + (programs.map { [$0] } ?? []) + places
        return all.map { "\($0)/\(command)" }.first { isProgram($0) }
    }

    /// The folder of this program.
    private static var programs: String? {
        guard let resolved = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(resolved) }
        let path = String(cString: resolved)
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }

    private static func isProgram(_ path: String) -> Bool {
        var found = stat()
        return stat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
