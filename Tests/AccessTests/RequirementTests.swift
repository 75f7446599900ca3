import Access
import Foundation
import Testing
import Wire

/// Every message that a host reads, and who may send it: `docs/security.md` has the same table.
@Suite struct RequirementTests {
    static let commands: [ControlCommand] = [
        .startOperation(leaseMs: nil), .holdOperation(waitMs: nil, gatedEvents: nil), .kill, .initialize,
        .initializeWithHoldingOperations, .endLaunch(restart: false), .state, .isOperating, .ping, .commands,
        .configuration, .configure(patch: "{}"), .history(after: 0, limit: 1), .plugins, .forget(name: "a"),
        .deadLetters(after: 0, limit: 1), .requeue(seqs: [1]), .stats,
        .request(service: "a", arguments: .object([]), timeoutMs: 1), .plugin(name: "a", .start),
        .appLifecycle(app: "a", .foreground), .reload,
    ]

    static let messages: [(String, Requirement)] =
        commands.map { ("`control`: `\($0.name)`", $0.requirement) } + [
            ("`stream`: a subscription, by topic", Requirement(.observe)),
            ("`ingest`: a batch, by type", IngestHeader.requirement),
            ("`plugin`: `hello` with `collect`", PluginMessage.Hello.collectRequirement),
            ("`plugin`: `hello` with `services`", PluginMessage.Hello.serveRequirement),
            ("`plugin`: any other `hello`", PluginMessage.Hello.listenRequirement),
        ]

    static var table: [String] {
        let roles = Role.allCases
        let head = "| message | " + roles.map(\.rawValue).joined(separator: " | ") + " |"
        let rule = "|---|" + String(repeating: "---|", count: roles.count)
        return [head, rule]
            + messages.map { name, requirement in
                let cells = roles.map { requirement.isMet(by: Permissions($0)) ? "yes" : "–" }
                return "| \(name) | " + cells.joined(separator: " | ") + " |"
            }
    }

    @Test func everyCommandIsInTheTable() {
        #expect(Self.commands.map(\.name) == ControlCommand.names)
    }

    @Test func theTableInTheDocumentIsTheOneInTheCode() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/security.md"), encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        let marker = try #require(lines.firstIndex(of: "<!-- roles-table -->"))
        let written = Array(lines[(marker + 1)...].prefix { $0.hasPrefix("|") })
        #expect(written == Self.table, "it should be:\n\(Self.table.joined(separator: "\n"))")
    }

    /// What opens the gate, and what ends a launch, takes its own role and no other.
    @Test func nothingElseOpensTheGateOrEndsALaunch() {
        #expect(ControlCommand.startOperation(leaseMs: nil).requirement == Requirement(.start))
        #expect(ControlCommand.kill.requirement == Requirement(.revoke))
        #expect(ControlCommand.endLaunch(restart: true).requirement == Requirement(.revoke))
        for command in Self.commands where command.isLifecycle {
            #expect(command.requirement.anyOf.count == 1)
        }
    }

    @Test func whatIsMissingIsSaid() {
        let shop = Caller(name: "shop", permissions: Permissions(.produce))
        #expect(
            shop.missing(for: Requirement(.hold), to: "holdOperation")
                == "holdOperation needs the role hold, and shop has produce")
        #expect(
            Caller(name: "x", permissions: .none).missing(for: Requirement(.observe, .admin), to: "history")
                == "history needs one of the roles observe, admin, and x has none")
        #expect(shop.missing(for: Requirement(), to: "ping") == nil)
        #expect(Caller.anybody.missing(for: Requirement(.admin), to: "configure") == nil)
    }
}
