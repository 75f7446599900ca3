import Testing
import Wire

@testable import HoldgateClient

/// The safe-retry rules of `ingest`, as a host follows them.
private struct ModelHost {
    var run: String?
    var oldRuns: Set<String> = []
    var last: UInt64?
    var taken: [UInt64] = []

    mutating func receive(_ sent: Sent, refusal: WireError?) -> IngestReply.Outcome {
        let sending = sent.sending
        if oldRuns.contains(sending.run) { return .refused(WireError(.superseded, ""), lastBatch: nil) }
        if sending.run != run {
            if let run { oldRuns.insert(run) }
            run = sending.run
            last = nil
        }
        if let last, sending.batch <= last { return .duplicate(lastBatch: last) }
        if let last, sending.batch > last + 1 {
            return .refused(WireError(.outOfOrder, "", retryable: true), lastBatch: last)
        }
        if let refusal { return .refused(refusal, lastBatch: nil) }
        if sent.isBad { return .refused(WireError(.invalidMessage, "", index: 0), lastBatch: nil) }
        last = sending.batch
        taken.append(sending.ticket)
        return .taken(accepted: 1, gated: 0, discarded: 0, kept: true, last: nil)
    }
}

/// A message on its way: bad if it was so when it was sent.
private struct Sent {
    let sending: ProducerCore.Sending
    let isBad: Bool
}

/// A producer, a host, and a network that breaks: what is on a connection is read in order, a prefix of it
/// only, and perhaps after what the next connection brings.
private struct World {
    var core: ProducerCore
    var host = ModelHost()
    var random: SplitMix
    var now: Int64 = 0
    var toHost: [Sent] = []
    var leftover: [Sent] = []
    var toProducer: [(UInt64, IngestReply.Outcome)] = []
    var isConnected = false
    var nextTicket: UInt64 = 1
    var settled: Set<UInt64> = []
    var refused: Set<UInt64> = []
    var bad: Set<UInt64> = []
    var mended: Set<UInt64> = []
    var failure: WireError?

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        var configuration = ProducerCore.Configuration()
        configuration.window = 5
        core = ProducerCore(configuration, seed: seed)
    }

    mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

    mutating func perform(_ effects: [ProducerCore.Effect]) {
        var effects = effects
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .settled(let ticket, _): settled.insert(ticket)
            case .refused(let ticket, _):
                // Some are mended by taking the bad event out, the others are given up.
                let keep = ticket % 2 == 0
                if keep {
                    bad.remove(ticket)
                    mended.insert(ticket)
                } else {
                    refused.insert(ticket)
                }
                core.resolve(keep: keep, into: &effects)
            case .reconnect: breakConnection()
            case .failed(let error): failure = error
            }
        }
    }

    mutating func breakConnection() {
        guard isConnected else { return }
        isConnected = false
        // The host may still read some of what was under way, at some time.
        let kept = Int(random.next() % UInt64(toHost.count + 1))
        leftover = Array(toHost[..<kept])
        toHost = []
        toProducer = []
        core.disconnected()
    }

    /// A host that starts again without its memory of producers, as after a kill.
    mutating func forget() {
        breakConnection()
        leftover = []
        host.run = nil
        host.last = nil
    }

    mutating func step(faults: Bool, total: UInt64) {
        var effects: [ProducerCore.Effect] = []
        now += Int64(random.next() % 20)
        if !isConnected, chance(50) {
            isConnected = true
            core.connected()
        }
        if faults, chance(3) { breakConnection() }
        if faults, chance(1) { now += 6000 }
        core.tick(now: now, into: &effects)
        perform(effects)
        while core.hasRoom, nextTicket <= total, chance(60) {
            if chance(8) { bad.insert(nextTicket) }
            core.add(ticket: nextTicket, now: now)
            nextTicket += 1
        }
        while isConnected, chance(70), let sending = core.next(now: now) {
            toHost.append(Sent(sending: sending, isBad: bad.contains(sending.ticket)))
        }
        if !leftover.isEmpty, chance(30) {
            _ = host.receive(leftover.removeFirst(), refusal: nil)
        }
        while !toHost.isEmpty, chance(70) {
            let sent = toHost.removeFirst()
            let full = WireError(.overloaded, "", retryable: true)
            let refusal = faults && chance(10) ? full : nil
            toProducer.append((sent.sending.id, host.receive(sent, refusal: refusal)))
        }
        while !toProducer.isEmpty, chance(70) {
            let (id, outcome) = toProducer.removeFirst()
            effects = []
            core.answered(id, outcome, now: now, into: &effects)
            perform(effects)
        }
    }
}

@Suite struct ProducerCoreTests {
    @Test(arguments: 0..<300) func everyBatchIsTakenOnceAndInOrder(seed: UInt64) {
        var world = World(seed: seed)
        let total: UInt64 = 60
        for _ in 0..<400 { world.step(faults: true, total: total) }
        for _ in 0..<3000 where world.settled.count + world.refused.count < Int(total) {
            world.step(faults: false, total: total)
        }
        #expect(world.failure == nil)
        #expect(world.core.isIdle)
        #expect(world.settled.union(world.refused) == Set(1...total))
        #expect(world.host.taken == (1...total).filter { !world.refused.contains($0) }, "seed \(seed)")
    }

    /// What was taken and not answered may be taken again then, but nothing is left out.
    @Test(arguments: 0..<200) func aHostThatForgetsLosesNothing(seed: UInt64) {
        var world = World(seed: seed)
        let total: UInt64 = 60
        for step in 0..<400 {
            world.step(faults: true, total: total)
            if step % 40 == 39 { world.forget() }
        }
        for _ in 0..<3000 where world.settled.count + world.refused.count < Int(total) {
            world.step(faults: false, total: total)
        }
        #expect(world.settled.union(world.refused) == Set(1...total))
        #expect(world.settled.subtracting(world.host.taken) == [], "seed \(seed)")
    }

    @Test func theFirstBatchOfARunGoesAlone() {
        var core = ProducerCore(ProducerCore.Configuration(), seed: 1)
        core.add(ticket: 1, now: 0)
        core.add(ticket: 2, now: 0)
        #expect(core.next(now: 0) == nil)
        core.connected()
        let first = core.next(now: 0)
        #expect(first?.ticket == 1 && first?.batch == 1)
        #expect(core.next(now: 0) == nil)
        var effects: [ProducerCore.Effect] = []
        let taken = IngestReply.Outcome.taken(accepted: 1, gated: 0, discarded: 0, kept: true, last: nil)
        core.answered(first?.id ?? 0, taken, now: 1, into: &effects)
        #expect(effects == [.settled(ticket: 1, taken)])
        #expect(core.next(now: 1)?.ticket == 2)
    }

    @Test func aHostThatForgotWhatItAcknowledgedGetsANewRun() {
        var core = ProducerCore(ProducerCore.Configuration(), seed: 1)
        core.connected()
        core.add(ticket: 1, now: 0)
        core.add(ticket: 2, now: 0)
        var effects: [ProducerCore.Effect] = []
        let taken = IngestReply.Outcome.taken(accepted: 1, gated: 0, discarded: 0, kept: true, last: nil)
        let first = core.next(now: 0)!
        core.answered(first.id, taken, now: 0, into: &effects)
        let second = core.next(now: 0)!
        let error = WireError(.outOfOrder, "", retryable: true)
        core.answered(second.id, .refused(error, lastBatch: 0), now: 0, into: &effects)
        let again = core.next(now: 0)!
        #expect(again.ticket == 2 && again.batch == 1)
        #expect(again.run != first.run)
    }

    @Test func withoutProgressEverythingIsGivenUp() {
        var configuration = ProducerCore.Configuration()
        configuration.giveUpMs = 1000
        var core = ProducerCore(configuration, seed: 1)
        var effects: [ProducerCore.Effect] = []
        core.add(ticket: 1, now: 500)
        core.tick(now: 1499, into: &effects)
        #expect(effects == [])
        #expect(core.deadline() == 1500)
        core.tick(now: 1500, into: &effects)
        #expect(
            effects == [.failed(WireError(.noAnswer, "no host took anything for 1000 ms", retryable: true))])
        #expect(!core.hasRoom)
    }

    @Test func aSupersededProducerEnds() {
        var core = ProducerCore(ProducerCore.Configuration(), seed: 1)
        var effects: [ProducerCore.Effect] = []
        core.connected()
        core.add(ticket: 1, now: 0)
        let error = WireError(.superseded, "a newer run")
        core.answered(core.next(now: 0)!.id, .refused(error, lastBatch: nil), now: 0, into: &effects)
        #expect(effects == [.failed(error)])
    }
}
