import Foundation
import HoldgateHost
import Testing

/// The tables that people read, held against the ones that are compiled.
@Suite struct DocumentTests {
    private static let document = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/operating.md")

    private static func written(_ marker: String) throws -> [String] {
        let lines = try String(contentsOf: document, encoding: .utf8).components(separatedBy: "\n")
        let start = try #require(lines.firstIndex(of: "<!-- \(marker) -->"))
        return Array(lines[(start + 1)...].prefix { $0.hasPrefix("|") })
    }

    private static var keys: [String] {
        ["| key | variable | flag | default | allowed | what it does |", "|---|---|---|---|---|---|"]
            + Configuration.keys.map { key in
                let flag = key.flag.map { "`\($0)`" } ?? "–"
                return "| `\(key.name)` | `\(key.variable)` | \(flag) | \(key.defaultText) | "
                    + "\(key.kind.allowed) | \(key.help) |"
            }
    }

    private static var switches: [String] {
        ["| flag | what it does |", "|---|---|"]
            + Configuration.Switch.allCases.map { "| `\($0.rawValue)` | \($0.help) |" }
    }

    @Test func theTableOfKeysIsTheOneInTheCode() throws {
        let written = try Self.written("configuration-table")
        #expect(written == Self.keys, "it should be:\n\(Self.keys.joined(separator: "\n"))")
    }

    @Test func theTableOfSwitchesIsTheOneInTheCode() throws {
        let written = try Self.written("switches-table")
        #expect(written == Self.switches, "it should be:\n\(Self.switches.joined(separator: "\n"))")
    }
}
