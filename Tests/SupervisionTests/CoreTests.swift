import Testing
import Wire

@testable import HoldgateHost

/// A world in each state of plugin `a`.
private func world(_ state: String) -> World {
    var world = World()
    world.apply(.folder(["a": "1"]))
    switch state {
    case "running": break
    case "stopped":
        world.apply(.command("a", .stop))
        world.apply(.exit("a", isSuccess: true))
    case "backingOff": world.apply(.exit("a", isSuccess: false))
    case "stopping, then stop": world.apply(.command("a", .stop))
    case "stopping, then start": world.apply(.command("a", .restart))
    case "stopping, then gone": world.apply(.folder([:]))
    case "crashLooping":
        for _ in 0..<2 {
            world.apply(.exit("a", isSuccess: false))
            world.apply(.due)
        }
        world.apply(.exit("a", isSuccess: false))
    default: Issue.record("no way to \(state)")
    }
    #expect(world.state("a") == state)
    return world
}

@Suite struct CoreTests {
    private static let inputs: [World.Input] = [
        .command("a", .start), .command("a", .stop), .command("a", .restart), .exit("a", isSuccess: true),
        .exit("a", isSuccess: false), .due, .folder(["a": "1"]), .folder(["a": "2"]), .folder([:]), .shutDown,
    ]

    /// Rows as in the table; columns as `inputs`; `-`: the input makes no sense there.
    private static let table: [(String, [String])] = [
        (
            "stopped",
            [
                "running", "stopped", "running", "-", "-", "-", "stopped", "stopped", "gone", "stopped",
            ]
        ),
        (
            "running",
            [
                "running", "stopping, then stop", "stopping, then start", "stopped", "backingOff", "-",
                "running",
                "stopping, then start", "stopping, then gone", "stopping, then stop",
            ]
        ),
        (
            "backingOff",
            [
                "running", "stopped", "running", "-", "-", "running", "backingOff", "running", "gone",
                "stopped",
            ]
        ),
        (
            "stopping, then stop",
            [
                "stopping, then start", "stopping, then stop", "stopping, then start", "stopped", "stopped",
                "stopping, then stop", "stopping, then stop", "stopping, then stop", "stopping, then gone",
                "stopping, then stop",
            ]
        ),
        (
            "stopping, then start",
            [
                "stopping, then start", "stopping, then stop", "stopping, then start", "running", "running",
                "stopping, then start", "stopping, then start", "stopping, then start", "stopping, then gone",
                "stopping, then stop",
            ]
        ),
        (
            "stopping, then gone",
            [
                "stopping, then gone", "stopping, then gone", "stopping, then gone", "gone", "gone",
                "stopping, then gone", "stopping, then start", "stopping, then start", "stopping, then gone",
                "stopping, then stop",
            ]
        ),
        (
            "crashLooping",
            [
                "running", "stopped", "running", "-", "-", "-", "crashLooping", "running", "gone",
                "crashLooping",
            ]
        ),
    ]

    @Test func everyStateTakesEveryInputAsTheTableSays() {
        for (state, cells) in Self.table {
            for (input, expected) in zip(Self.inputs, cells) {
                var world = world(state)
                guard world.takes(input) else {
                    #expect(expected == "-", "\(state), \(input)")
                    continue
                }
                world.apply(input)
                #expect(world.state("a") == expected, "\(state), \(input)")
                #expect(world.problems.isEmpty, "\(state), \(input)")
            }
        }
    }

    /// Everything that five inputs can do to two plugins, whether or not the programs can be started.
    @Test(arguments: [Set<String>(), ["a"], ["a", "b"]])
    func nothingIsLostWhateverComes(broken: Set<String>) {
        var inputs = Self.inputs.map { input -> World.Input in
            if case .folder(let names) = input { return .folder(names.merging(["b": "1"]) { $1 }) }
            return input
        }
        inputs += [.exit("b", isSuccess: false), .command("b", .restart), .folder([:])]
        var first = World()
        first.broken = broken
        first.apply(.folder(["a": "1", "b": "1"]))
        var seen: Set<World> = [first]
        var frontier = [first]
        for _ in 0..<5 {
            var next: [World] = []
            for world in frontier {
                for input in inputs where world.takes(input) {
                    var copy = world
                    copy.apply(input)
                    guard seen.insert(copy).inserted else { continue }
                    if let problem = copy.problems.first {
                        Issue.record("\(problem) after \(input) in \(world.core)")
                        return
                    }
                    next.append(copy)
                }
            }
            frontier = next
        }
        #expect(seen.count > 5000)
        // And whatever was reached, everything ends once it is shut down.
        for var world in frontier.prefix(5000) {
            world.apply(.shutDown)
            let endMs = world.nowMs + world.core.limits.shutdownEndMs
            while world.finished == 0 {
                if let killed = world.alive.first(where: { name in
                    world.effects.contains(.signal(name, .kill))
                }) {
                    world.apply(.exit(killed, isSuccess: false))
                } else if world.takes(.due) {
                    world.apply(.due)
                } else if let name = world.alive.first {
                    world.apply(.exit(name, isSuccess: false))
                }
            }
            #expect(world.nowMs <= endMs && world.problems.isEmpty && world.unanswered.isEmpty)
        }
    }

    @Test func aShutdownStopsTheLastStartedFirst() {
        var world = World()
        world.apply(.folder(["a": "1", "b": "1", "c": "1"]))
        world.apply(.shutDown)
        #expect(world.effects == [.signal("c", .terminate)])
        world.apply(.exit("c", isSuccess: true))
        #expect(world.effects == [.report("c", .stopped, reason: "it ended"), .signal("b", .terminate)])
        world.apply(.due)
        #expect(world.effects == [.signal("b", .kill)])
        world.apply(.exit("b", isSuccess: false))
        world.apply(.exit("a", isSuccess: true))
        #expect(world.effects == [.report("a", .stopped, reason: "it ended"), .finished])
    }

    @Test func aShutdownThatTakesTooLongEndsAllAtOnce() {
        var world = World()
        world.apply(.folder(["a": "1", "b": "1", "c": "1", "d": "1", "e": "1"]))
        let begin = world.nowMs
        world.apply(.shutDown)
        for name in ["e", "d"] {
            world.apply(.due)
            #expect(world.effects == [.signal(name, .kill)])
            world.apply(.exit(name, isSuccess: false))
        }
        world.apply(.due)
        #expect(world.nowMs - begin == 2500)
        #expect(world.effects == [.signal("b", .terminate), .signal("a", .terminate)])
        world.apply(.due)
        #expect(world.effects == [.signal("c", .kill)])
        world.apply(.due)
        #expect(world.nowMs - begin == 3500)
        #expect(world.effects == [.signal("a", .kill), .signal("b", .kill)])
    }

    @Test func backoffDoublesIsBoundedAndNeverLessThanHalf() {
        var delays: [[Int64]] = []
        for seed in 0..<50 as Range<UInt64> {
            var core = SupervisorCore(seed: seed)
            var manifest = World.manifest("a", restarts: 8)
            manifest.restart.backoffMs = 100
            manifest.restart.maxBackoffMs = 1000
            var effects: [SupervisorCore.Effect] = []
            core.manifests([manifest], nowMs: 0, into: &effects)
            var now: Int64 = 0
            var row: [Int64] = []
            for pid in 1...8 as ClosedRange<Int32> {
                core.spawned("a", pid: pid, nowMs: now, into: &effects)
                core.exited("a", isSuccess: false, "x", nowMs: now, into: &effects)
                row.append((core.nextTickMs ?? -1) - now)
                now = core.nextTickMs ?? now
                core.tick(nowMs: now, into: &effects)
            }
            delays.append(row)
        }
        let full: [Int64] = [100, 200, 400, 800, 1000, 1000, 1000, 1000]
        for (index, bound) in full.enumerated() {
            let column = delays.map { $0[index] }
            #expect(column.allSatisfy { (bound / 2...bound).contains($0) })
            #expect(Set(column).count > 10)
        }
    }

    @Test func restartsThatLieFarApartAreNoCrashLoop() {
        var core = SupervisorCore(seed: 1)
        var effects: [SupervisorCore.Effect] = []
        core.manifests([World.manifest("a")], nowMs: 0, into: &effects)
        var now: Int64 = 0
        for pid in 1...20 as ClosedRange<Int32> {
            core.spawned("a", pid: pid, nowMs: now, into: &effects)
            now += 60_000
            core.exited("a", isSuccess: false, "x", nowMs: now, into: &effects)
            let delay = (core.nextTickMs ?? -1) - now
            #expect((100...200).contains(delay))
            now += delay
            core.tick(nowMs: now, into: &effects)
        }
        core.spawned("a", pid: 30, nowMs: now, into: &effects)
        #expect(core.entry("a")?.restarts == 20)
    }

    @Test func aManifestThatCannotBeReadKeepsItsPlugin() {
        var world = World()
        world.apply(.folder(["a": "1"]))
        var core = world.core
        var effects: [SupervisorCore.Effect] = []
        core.manifests([], keeping: ["a"], nowMs: 2000, into: &effects)
        #expect(effects.isEmpty && core == world.core)
    }

    @Test func commandsAreAnsweredWhenWhatTheyAskedForIsSo() {
        var world = World()
        world.apply(.folder(["a": "1"]))
        world.apply(.command("a", .restart))
        #expect(world.unanswered == [1])
        world.apply(.command("a", .stop))
        #expect(
            world.effects == [.answer(1, WireError(.conflict, "overtaken by a later stop"))]
                && world.unanswered == [2])
        world.apply(.exit("a", isSuccess: true))
        #expect(world.effects == [.report("a", .stopped, reason: "it ended"), .answer(2, nil)])
        world.broken = ["a"]
        world.apply(.command("a", .start))
        #expect(
            world.effects.contains(
                .answer(3, WireError(.serviceUnavailable, "a could not be started: broken"))))
    }
}
