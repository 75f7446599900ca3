// Runs seeded worlds on all processors, and prints the first seed that breaks a promise, with its last events.
//
//     simulate [COUNT [FIRST]]
//
// HOLDGATE_TEST_SEEDS is the count otherwise, HOLDGATE_TEST_SEED one seed to be run alone and told in full.
import Dispatch
import Glibc
import Platform
import Simulation

// Sets and dictionaries must have the same order in every process, or a seed would not tell all.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    execv("/proc/self/exe", CommandLine.unsafeArgv)
}

func number(_ text: String?) -> UInt64? { text.flatMap { UInt64($0) } }
func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

func tell(_ outcome: Outcome) {
    let again = Simulation.run(seed: outcome.seed, traces: true)
    for line in again.trace { print("  \(line)") }
    print("seed \(outcome.seed): \(outcome.failure ?? "kept all promises")")
    if again.failure != outcome.failure { print("run again: \(again.failure ?? "kept all promises")") }
    print("HOLDGATE_TEST_SEED=\(outcome.seed) runs it again")
}

if let seed = number(environment("HOLDGATE_TEST_SEED")) {
    let outcome = Simulation.run(seed: seed)
    tell(outcome)
    exit(outcome.failure == nil ? 0 : 1)
}

let arguments = CommandLine.arguments
let count = number(arguments.count > 1 ? arguments[1] : environment("HOLDGATE_TEST_SEEDS")) ?? 20_000
let first = number(arguments.count > 2 ? arguments[2] : nil) ?? 1
let next = Locked(first)
let failed = Locked<[Outcome]>([])
let crashes = Locked(0)
let served = Locked(0)
let begun = Clock.monotonicMs()

nonisolated func work(
    _ next: Locked<UInt64>, _ failed: Locked<[Outcome]>, _ crashes: Locked<Int>, _ served: Locked<Int>,
    _ end: UInt64
) {
    while failed.withLock({ $0.isEmpty }) {
        let seed = next.withLock { (seed: inout UInt64) -> UInt64 in
            defer { seed += 1 }
            return seed
        }
        guard seed < end else { return }
        let outcome = Simulation.run(seed: seed)
        crashes.withLock { $0 += outcome.crashes }
        served.withLock { $0 += outcome.served }
        if outcome.failure != nil { failed.withLock { $0.append(outcome) } }
    }
}

DispatchQueue.concurrentPerform(iterations: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) { _ in
    work(next, failed, crashes, served, first + count)
}
let seconds = Double(max(1, Clock.monotonicMs() - begun)) / 1000
if let outcome = failed.withLock({ $0.min { $0.seed < $1.seed } }) {
    tell(outcome)
    exit(1)
}
let rate = Int(Double(count) / seconds)
print(
    "\(count) worlds from seed \(first), \(crashes.withLock { $0 }) crashes, \(served.withLock { $0 }) requests "
        + "served, \(rate) a second: every promise kept"
)
