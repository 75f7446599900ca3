import Simulation
import Testing

/// A few worlds in a debug build; `simulate`, built for release, runs thousands of them.
@Suite struct SimulationTests {
    @Test(arguments: 1...40) func everyPromiseIsKept(seed: UInt64) {
        let outcome = Simulation.run(seed: seed)
        #expect(outcome.failure == nil, "HOLDGATE_TEST_SEED=\(seed) .build/release/simulate runs it again")
    }

    @Test func aSeedAlwaysTellsTheSame() {
        let traces = (1...2).map { _ in Simulation.run(seed: 7, traces: true).trace }
        #expect(traces[0] == traces[1])
        #expect(traces[0].count > 20)
    }
}
