import Wire

/// Reads `plugin.json`: JSON with comments, every member known and of its type. An error names file, line
/// and key.
struct ManifestReader {
    typealias Member = ConfigurationFile.Member

    static let maxArguments = 256
    static let maxVariables = 256
    static let maxTextBytes = 4096
    static let maxMs: Int64 = 86_400_000

    private let path: String

    /// - Parameters:
    ///   - path: the file, as errors name it.
    ///   - directory: its folder, absolute; the plugin has the folder's name.
    static func read(
        _ bytes: [UInt8], path: String, directory: String
    ) throws(ConfigurationError) -> PluginManifest {
        let members = try ConfigurationFile.members(of: bytes, path: path)
        let reader = ManifestReader(path: path)
        var manifest = PluginManifest(name: "", version: "", directory: directory, command: "")
        for member in members { try reader.take(member, into: &manifest) }
        for required in ["name", "version", "command"] where !members.contains(where: { $0.name == required })
        {
            throw ConfigurationError(
                .missing, .file(path: path, line: 1), "\(path):1: \(required) is missing")
        }
        return manifest
    }

    private static let keys = [
        "name", "version", "command", "arguments", "environment", "may", "restart",
    ]

    private func take(_ member: Member, into manifest: inout PluginManifest) throws(ConfigurationError) {
        switch member.name {
        case "name":
            let folder = manifest.directory.split(separator: "/").last.map(String.init) ?? ""
            manifest.name = try text(member, allowed: "the folder's name, \(folder)") { $0 == folder }
        case "version":
            manifest.version = try text(member, allowed: "1 to 128 bytes") {
                (1...128).contains($0.utf8.count)
            }
        case "command":
            manifest.command = try text(member, allowed: "a program's name or path") {
                !$0.isEmpty && !$0.hasSuffix("/")
            }
        case "arguments":
            manifest.arguments = try texts(member, allowed: "up to \(Self.maxArguments) strings")
        case "environment": manifest.environment = try environment(member)
        case "may": manifest.may = try capabilities(member)
        case "restart": manifest.restart = try policy(member)
        default: throw unknown(member, "", Self.keys)
        }
    }

    private func environment(_ member: Member) throws(ConfigurationError) -> [String: String] {
        var variables: [String: String] = [:]
        let members = try object(member)
        guard members.count <= Self.maxVariables else {
            throw wrong(member, allowed: "up to \(Self.maxVariables) variables")
        }
        for variable in members {
            guard Self.isVariable(variable.name) else {
                throw wrong(
                    variable, "environment.\(variable.name)",
                    allowed: "names of letters, digits and _, not beginning with a digit")
            }
            guard !HostEnvironment.addresses.contains(variable.name) else {
                throw ConfigurationError(
                    .conflict, .file(path: path, line: variable.line),
                    "\(path):\(variable.line): environment.\(variable.name) is the host's to set")
            }
            variables[variable.name] = try text(
                variable, "environment.\(variable.name)", allowed: "a string"
            ) { _ in true }
        }
        return variables
    }

    private static func isVariable(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(48...57).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122, 95: true
            default: false
            }
        }
    }

    private func capabilities(_ member: Member) throws(ConfigurationError) -> [PluginManifest.Capability] {
        let all = PluginManifest.Capability.allCases
        let allowed = "a list of \(all.map(\.rawValue).joined(separator: ", ")), none twice"
        let names = try texts(member, allowed: allowed)
        let found = all.filter { names.contains($0.rawValue) }
        guard found.count == names.count else { throw wrong(member, allowed: allowed) }
        return found
    }

    private func policy(_ member: Member) throws(ConfigurationError) -> RestartPolicy {
        var policy = RestartPolicy()
        for part in try object(member) {
            let key = "restart.\(part.name)"
            switch part.name {
            case "policy":
                let names = RestartPolicy.When.allCases.map(\.rawValue)
                let name = try text(part, key, allowed: names.joined(separator: ", ")) { names.contains($0) }
                policy.when = RestartPolicy.When(rawValue: name) ?? policy.when
            case "backoffMs": policy.backoffMs = try number(part, key, 1...Self.maxMs)
            case "maxBackoffMs": policy.maxBackoffMs = try number(part, key, 1...Self.maxMs)
            case "crashLoop":
                for bound in try object(part, key) {
                    let key = "\(key).\(bound.name)"
                    switch bound.name {
                    case "restarts": policy.crashLoopRestarts = Int(try number(bound, key, 0...1000))
                    case "withinMs": policy.crashLoopWithinMs = try number(bound, key, 1...Self.maxMs)
                    default: throw unknown(bound, "restart.crashLoop.", ["restarts", "withinMs"])
                    }
                }
            default:
                throw unknown(part, "restart.", ["policy", "backoffMs", "maxBackoffMs", "crashLoop"])
            }
        }
        guard policy.backoffMs <= policy.maxBackoffMs else {
            throw ConfigurationError(
                .conflict, .file(path: path, line: member.line),
                "\(path):\(member.line): restart.backoffMs is \(policy.backoffMs); allowed: at most "
                    + "maxBackoffMs, \(policy.maxBackoffMs)")
        }
        return policy
    }

    // MARK: Values

    private func text(
        _ member: Member, _ key: String? = nil, allowed: String, _ isAllowed: (String) -> Bool
    ) throws(ConfigurationError) -> String {
        guard let text = member.value.asString, text.utf8.count <= Self.maxTextBytes, !text.utf8.contains(0),
            isAllowed(text)
        else { throw wrong(member, key, allowed: allowed) }
        return text
    }

    private func texts(_ member: Member, allowed: String) throws(ConfigurationError) -> [String] {
        guard let elements = member.value.asArray, elements.count <= Self.maxArguments else {
            throw wrong(member, allowed: allowed)
        }
        let texts = elements.compactMap(\.asString)
        guard texts.count == elements.count,
            texts.allSatisfy({ $0.utf8.count <= Self.maxTextBytes && !$0.utf8.contains(0) })
        else { throw wrong(member, allowed: allowed) }
        return texts
    }

    private func number(
        _ member: Member, _ key: String, _ range: ClosedRange<Int64>
    ) throws(ConfigurationError) -> Int64 {
        guard let number = member.value.asInt64, range.contains(number) else {
            throw wrong(
                member, key, allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private func object(_ member: Member, _ key: String? = nil) throws(ConfigurationError) -> [Member] {
        guard let members = try ConfigurationFile.members(within: member, path: path) else {
            throw wrong(member, key, allowed: "an object")
        }
        return members
    }

    private func wrong(_ member: Member, _ key: String? = nil, allowed: String) -> ConfigurationError {
        .wrongValue(key ?? member.name, member.value, allowed: allowed, .file(path: path, line: member.line))
    }

    private func unknown(_ member: Member, _ prefix: String, _ keys: [String]) -> ConfigurationError {
        let near = ConfigurationError.nearest(to: member.name, among: keys)
        let hint = near.map { "did you mean \($0)?" } ?? "known: \(keys.joined(separator: ", "))"
        let name = ConfigurationError.shown(.string(prefix + member.name))
        return ConfigurationError(
            .unknown, .file(path: path, line: member.line),
            "\(path):\(member.line): unknown key \(name); \(hint)")
    }
}
