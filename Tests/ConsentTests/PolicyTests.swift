import HoldgateClient
import Testing

@testable import consent_manager

@Suite struct PolicyTests {
    /// The README's table, a row a state of consent: what the gate is told in each of its states, and, after
    /// the slash, where somebody else closed it after the decision.
    private static let table: [(ConsentState, String)] = [
        (.undecided, "hold queue, hold queue, hold queue, -"),
        (.given, "start, start/-, start/-, newLaunch/-"),
        (.paused, "hold queue, hold queue, hold queue, -"),
        (.expired, "hold queue, hold queue, hold queue, -"),
        (.denied, "hold discard, hold discard, hold discard, -"),
        (.withdrawn, "kill, kill, kill, -"),
    ]

    private func text(_ action: GateAction?) -> String {
        switch action {
        case .start: "start"
        case .hold(let policy): "hold \(policy.rawValue)"
        case .kill: "kill"
        case .newLaunch: "newLaunch"
        case nil: "-"
        }
    }

    @Test func theTableIsWhatItSays() {
        #expect(Self.table.map(\.0) == ConsentState.allCases)
        for (consent, row) in Self.table {
            let cells = LifecycleState.allCases.map { gate in
                let plain = text(Policy.action(consent, gate, isOverruled: false))
                let overruled = text(Policy.action(consent, gate, isOverruled: true))
                return plain == overruled ? plain : "\(plain)/\(overruled)"
            }
            #expect(cells.joined(separator: ", ") == row, "\(consent)")
        }
    }

    @Test func nothingOpensTheGateButConsent() {
        for consent in ConsentState.allCases where consent != .given {
            for gate in LifecycleState.allCases {
                for isOverruled in [false, true] {
                    let action = Policy.action(consent, gate, isOverruled: isOverruled)
                    #expect(action != .start && action != .newLaunch)
                    // And an open gate is always closed.
                    if gate == .operating { #expect(action != nil) }
                }
            }
        }
    }

    @Test func everyVerbIsDecidedInEveryState() {
        let table = ConsentState.allCases.map { state in
            ConsentVerb.allCases.map { state.after($0)?.rawValue ?? "-" }.joined(separator: " ")
        }
        #expect(
            table == [
                "given denied - withdrawn",
                "given - paused withdrawn",
                "given - paused withdrawn",
                "given denied - withdrawn",
                "given denied - withdrawn",
                "given - - withdrawn",
            ])
        #expect(Set(ConsentState.allCases.map(\.strictness)).count == ConsentState.allCases.count)
    }
}
