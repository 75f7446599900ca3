/// What became of one world.
public struct Outcome: Sendable {
    public let seed: UInt64
    /// Nil: every promise was kept.
    public let failure: String?
    /// The last things that happened, where they were asked for.
    public let trace: [String]
    public let crashes: Int
    /// Callback requests that were answered with what a provider said.
    public let served: Int
}

public enum Simulation {
    /// Runs the world of this seed.
    public static func run(seed: UInt64, traces: Bool = false) -> Outcome {
        let world = World(seed: seed, traces: traces)
        var failure: String?
        do { try world.run() } catch { failure = "\(error)" }
        return Outcome(
            seed: seed, failure: failure, trace: Array(world.trace.suffix(World.traceLimit)),
            crashes: world.crashes, served: world.judge.callbacks.servedCount)
    }
}
