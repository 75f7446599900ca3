import Testing

@testable import http_collector

@Suite struct BatchTests {
    private func refuse(_ batch: inout Batch) -> Bool { batch.refused() }

    /// Each row of the machine's table.
    @Test func aPartIsDoneOrRejectedOrHalved() {
        var one = Batch(count: 1)
        #expect(one.next == 1)
        one.taken()
        #expect(one.next == nil)

        var bad = Batch(count: 1)
        #expect(refuse(&bad) == false)
        #expect(bad.next == nil)

        var five = Batch(count: 5)
        #expect(refuse(&five) == true)
        #expect(five.next == 3)
        #expect(refuse(&five) == true)
        #expect(five.next == 2)
        five.taken()
        #expect(five.next == 1)
        #expect(refuse(&five) == false)
        #expect(five.next == 2)
        five.taken()
        #expect(five.next == nil)
    }

    /// What a receiver that refuses these gets, and which are rejected.
    private func outcome(count: Int, bad: Set<Int>) -> (taken: [Int], rejected: [Int], posts: Int) {
        var batch = Batch(count: count)
        var (taken, rejected, posts, at) = ([Int](), [Int](), 0, 0)
        while let next = batch.next {
            posts += 1
            let part = Array(at..<(at + next))
            if bad.isDisjoint(with: part) {
                batch.taken()
                taken += part
                at += next
            } else if !batch.refused() {
                rejected += part
                at += next
            }
        }
        return (taken, rejected, posts)
    }

    @Test func everyGoodEventIsTakenOnceAndInOrderAndEveryBadOneIsRejected() {
        for count in 1...12 {
            for mask in 0..<(1 << count) {
                let bad = Set((0..<count).filter { mask & (1 << $0) != 0 })
                let found = outcome(count: count, bad: bad)
                #expect(found.taken == (0..<count).filter { !bad.contains($0) })
                #expect(found.rejected == bad.sorted())
            }
        }
    }

    @Test func oneBadEventIsFoundInTwoPostsADoubling() {
        for bad in 0..<1024 {
            #expect(outcome(count: 1024, bad: [bad]).posts == 21)
        }
        #expect(outcome(count: 1000, bad: Set(0..<1000)).posts == 1999)
    }
}
