import Foundation
import Lifecycle
import Testing

/// The table that people read, held against the one that is compiled.
@Suite struct DocumentTests {
    private static let document = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/protocol.md")

    /// The cells of the first table after the marker, trimmed; the heading first, the rule left out.
    private static func table() throws -> [[String]] {
        let text = try String(contentsOf: document, encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        let marker = try #require(lines.firstIndex(of: "<!-- lifecycle-table -->"))
        return lines[(marker + 1)...].prefix { $0.hasPrefix("|") }.enumerated().filter { $0.offset != 1 }.map
        {
            $0.element.dropFirst().dropLast().components(separatedBy: "|")
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// What a cell says, its explanations after the state's name left out; nil for an unreadable one.
    private static func outcome(_ cell: String) -> LifecycleOutcome? {
        if cell == "–" { return .impossible }
        if cell.hasPrefix("no-op") { return .unchanged }
        guard cell.hasPrefix("→ ") else { return nil }
        let name = cell.dropFirst(2).prefix { $0.isLetter }
        return LifecycleState(rawValue: String(name)).map { .transition(to: $0) }
    }

    private static func inputs(_ heading: String) -> [LifecycleInput] {
        heading == "drained or drain timeout"
            ? [.drained, .drainTimeout]
            : LifecycleInput(rawValue: heading + "Operation").map { [$0] }
                ?? LifecycleInput(rawValue: heading).map { [$0] } ?? []
    }

    @Test func theTableInTheProtocolIsTheOneInTheCode() throws {
        let table = try Self.table()
        let heading = try #require(table.first).dropFirst().map(Self.inputs)
        #expect(Set(heading.joined()) == Set(LifecycleInput.allCases))
        #expect(table.dropFirst().map(\.first) == LifecycleState.allCases.map(\.rawValue))
        for row in table.dropFirst() {
            let state = try #require(LifecycleState(rawValue: row[0]))
            for (inputs, cell) in zip(heading, row.dropFirst()) {
                for input in inputs {
                    #expect(state.outcome(of: input) == Self.outcome(cell), "\(state) × \(input): \(cell)")
                }
            }
        }
    }
}
