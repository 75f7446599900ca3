// What an operator may set, and what the log writes.
import HoldgateHost
import Testing
import Wire

/// Parses with a home directory, and `file` as the only file there is, at `/etc/h.json`.
func parse(
    _ arguments: [String] = [], _ environment: [String: String] = [:], file: String? = nil
) throws(ConfigurationError) -> Configuration {
    struct NoFile: Error, CustomStringConvertible { let description = "no such file" }
    let parsed = try Configuration.parse(
        arguments: arguments + (file == nil ? [] : ["--config", "/etc/h.json"]),
        environment: ["HOME": "/home/o"].merging(environment) { $1 },
        readFile: { path in
            guard let file, path == "/etc/h.json" else { throw NoFile() }
            return Array(file.utf8)
        })
    guard let parsed else { preconditionFailure("help was asked for") }
    return parsed
}

/// The text of the error that parsing throws.
func refusal(
    _ arguments: [String] = [], _ environment: [String: String] = [:], file: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) -> String? {
    let error = #expect(throws: ConfigurationError.self, sourceLocation: sourceLocation) {
        _ = try parse(arguments, environment, file: file)
    }
    return error?.description
}

extension Configuration.Key {
    /// An allowed value that isn't the default.
    var sample: JSONValue {
        let standard = value(in: Configuration(stateDir: ""))
        switch kind {
        case .number(let range, let step):
            let value = standard.asInt64 ?? 0
            return .int(step == 1 && value > range.lowerBound ? value - 1 : value + step)
        case .choice(let choices):
            return choices.first { .string($0) != standard }.map { .string($0) } ?? .null
        case .addresses: return .array([.string("ipc:///run/\(name)"), .string("tcp://*:0")])
        case .names: return .array([.string("audit"), .string("billing")])
        case .directory, .optionalDirectory, .optionalFile: return .string("/var/lib/h")
        }
    }

    /// `value` as a variable has it.
    func text(_ value: JSONValue) -> String {
        if let text = value.asString { return text }
        return value.asArray?.compactMap(\.asString).joined(separator: ",") ?? value.text
    }
}
