import HoldgateClient
import Simulator
import Testing

@testable import http_collector

/// A host with some events and a receiver that refuses some of them, between them a sender: whatever goes wrong, in any
/// order.
private struct World {
    let bad: Set<UInt64>
    let count: UInt64
    let desk: Desk
    var random: SplitMix64

    // The host: what is not acknowledged is handed over again after each attachment.
    var cursor: UInt64 = 0
    var delivered: UInt64 = 0
    var letters: Set<UInt64> = []
    /// The connection has broken, and nobody knows.
    var isCut = false

    // The receiver, and what came under which key.
    var taken: [UInt64] = []
    var keys: [String: [UInt64]] = [:]
    var posted: [[UInt64]: String] = [:]
    /// It can take so many events at once.
    var room = Int.max

    init(count: UInt64, bad: Set<UInt64>, batch: Int, seed: UInt64) {
        self.count = count
        self.bad = bad
        var limits = Sender.Limits()
        limits.events = batch
        limits.rejectsInRow = 0
        desk = Desk(limits)
        random = SplitMix64(seed: seed)
    }

    mutating func deliver(_ count: UInt64) {
        let last = min(delivered + count, self.count)
        guard last > delivered else { return }
        let effects = desk.take(events((delivered + 1)...last), of: launch)
        delivered = last
        heed(effects)
    }

    mutating func attach() {
        desk.detached()
        delivered = cursor
        isCut = false
        _ = desk.attached(launch, cursor: JournalSeq(cursor), isKilled: false)
    }

    /// An acknowledgement that says more than was handed over to this attachment is not sent.
    mutating func heed(_ effects: [Sender.Effect]) {
        for case .acknowledge(let through, _, let rejects) in effects where through.raw <= delivered {
            // Or it is lost on its way, and those behind it are, too, until the next attachment.
            isCut = isCut || !isCalm && random.chance(10)
            if isCut { continue }
            #expect(rejects.allSatisfy { $0.seq <= through })
            letters.formUnion(rejects.filter { $0.seq.raw > cursor }.map(\.seq.raw))
            cursor = max(cursor, through.raw)
        }
    }

    var isCalm = true

    /// One post, if there is one, and its answer.
    mutating func exchange() throws {
        guard let post = desk.post() else {
            desk.nowMs = desk.untilMs() ?? desk.nowMs
            return
        }
        let seqs = post.events.map(\.seq.raw)
        let key = post.key("c", post.body)
        #expect(keys[key] ?? seqs == seqs, "one key, other events")
        #expect(posted[seqs] ?? key == key, "the same events, another key")
        keys[key] = seqs
        posted[seqs] = key
        let verdict: Verdict
        if !isCalm, random.chance(30) {
            verdict = .later("away")
        } else if seqs.count > room {
            verdict = .tooLarge("413")
        } else if bad.isDisjoint(with: seqs) {
            // A receiver knows a key that it has seen, where its answer was lost.
            if taken.isEmpty || !taken.contains(seqs[0]) { taken += seqs }
            verdict = !isCalm && random.chance(20) ? .later("lost") : .taken
        } else {
            verdict = .refused("400")
        }
        heed(desk.answered(post, verdict))
    }

    mutating func settle() throws {
        isCalm = true
        attach()
        var rounds = 0
        while cursor < count {
            deliver(count)
            try exchange()
            rounds += 1
            // What is done with, and not acknowledged, comes again with the next attachment.
            if rounds % 1000 == 0 { attach() }
            try #require(rounds < 100_000)
        }
    }

    func judge() {
        #expect(taken == (1...count).filter { !bad.contains($0) }, "each good one once, in order")
        #expect(letters == bad)
    }
}

@Suite struct WorldTests {
    @Test func anySubsetOfBadEventsIsFoundWhateverTheBatch() throws {
        for count in 1...9 as ClosedRange<UInt64> {
            for mask in 0..<(UInt64(1) << count) {
                for batch in [1, 2, 3, 9] {
                    let bad = Set((1...count).filter { mask & (1 << ($0 - 1)) != 0 })
                    var world = World(count: count, bad: bad, batch: batch, seed: mask)
                    try world.settle()
                    world.judge()
                }
            }
        }
    }

    @Test func nothingIsLostOrOutOfOrderWhateverGoesWrong() throws {
        for seed in 1...1500 as ClosedRange<UInt64> {
            var random = SplitMix64(seed: seed)
            let count = UInt64.random(in: 1...60, using: &random)
            let bad = Set((1...count).filter { _ in random.chance(15) })
            var world = World(
                count: count, bad: bad, batch: Int.random(in: 1...20, using: &random), seed: seed)
            world.room = random.chance(30) ? Int.random(in: 1...8, using: &random) : .max
            world.isCalm = false
            for _ in 0..<200 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0: world.attach()
                case 1: world.desk.detached()
                case 2...4: world.deliver(UInt64.random(in: 1...10, using: &random))
                default: try world.exchange()
                }
            }
            try world.settle()
            world.judge()
        }
    }
}
