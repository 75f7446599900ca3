import Ledger
import Lifecycle
import Testing

@Suite struct LedgerTests {
    @Test func placeholder() {}
}
