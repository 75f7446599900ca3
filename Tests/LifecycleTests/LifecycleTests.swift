import Lifecycle
import Testing

@Suite struct LifecycleTests {
    @Test func killedIsAbsorbing() {
        for input in LifecycleInput.allCases {
            switch LifecycleState.killed.outcome(of: input) {
            case .unchanged, .impossible: break
            case .transition: Issue.record("\(input) leaves killed")
            }
        }
    }
}
