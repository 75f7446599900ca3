import HoldgateClient
import Testing

@testable import file_collector

private func range(_ bounds: ClosedRange<UInt64>) -> SeqRange {
    SeqRange(first: JournalSeq(bounds.lowerBound), count: UInt64(bounds.count))
}

@Suite struct SeqSetTests {
    @Test func rangesMergeWhereTheyTouch() {
        var set = SeqSet()
        for each in [5...9, 20...30, 10...12, 1...2, 3...4, 25...40] as [ClosedRange<UInt64>] {
            set.insert(range(each))
        }
        #expect(set.ranges == [1...12, 20...40])
    }

    @Test func missingPartsAreCutOut() {
        var set = SeqSet()
        for each in [3...4, 8...9] as [ClosedRange<UInt64>] { set.insert(range(each)) }
        #expect(set.missing(in: range(1...10)) == [range(1...2), range(5...7), range(10...10)])
        #expect(set.missing(in: range(3...4)) == [])
        #expect(set.missing(in: range(9...12)) == [range(10...12)])
        #expect(set.missing(in: range(10...12)) == [range(10...12)])
    }

    @Test func itIsASetOfNumbers() {
        var random = Seeded(state: 7)
        for _ in 0..<500 {
            var set = SeqSet()
            var model = Set<UInt64>()
            for _ in 0..<8 {
                let first = UInt64(1 + random.below(30))
                let each = first...(first + UInt64(random.below(8)))
                let missing = set.missing(in: range(each)).flatMap { part in part.first.raw...part.last.raw }
                #expect(missing == each.filter { !model.contains($0) })
                set.insert(range(each))
                model.formUnion(each)
                #expect(set.ranges.flatMap { Array($0) } == model.sorted())
            }
        }
    }
}
