import CMallocCount
import Testing

@Suite(.enabled(if: hg_malloc_is_counted(), "a sanitizer stands in for malloc"))
struct AllocationTests {
    /// Allocations that a block may take from the frame to the ack, in a debug build.
    private static let limit: UInt64 = 200
    private static let rounds = 12

    @Test func aBlockOfAThousandEventsAllocatesNoMoreThanOneOfTen() throws {
        let small = try typical(events: 10)
        let large = try typical(events: 1000)
        // One that crosses a 64 KiB mark gets an entry in the journal's index, and a bucket in the queue's meter.
        #expect(large <= small + 2)
        #expect((1...Self.limit).contains(large), "\(large) allocations a block")
    }

    @Test func anAllocationIsCounted() {
        let before = hg_malloc_count()
        let array = [UInt8](repeating: 1, count: 100 + Int(before & 1))
        #expect(array.count >= 100)
        #expect(hg_malloc_count() > before)
    }

    /// What most blocks take: once in a while a table grows.
    private func typical(events: Int) throws -> UInt64 {
        let path = try Path()
        let frame = (0..<events).map { Array(Self.event($0).utf8) }.joined(separator: [UInt8(ascii: "\n")])
        let bytes = Array(frame)
        var counts: [UInt64] = []
        for _ in 0..<2 * Self.rounds {
            counts.append(try bytes.withUnsafeBytes { try path.carry($0) })
        }
        // The first ones make what is used again and again.
        counts.removeFirst(Self.rounds)
        #expect(path.replies == 2 * Self.rounds)
        #expect(path.handedEvents == UInt64(2 * Self.rounds * events))
        #expect(path.handedBytes == 2 * Self.rounds * (bytes.count + 1))
        return counts.sorted()[counts.count / 2]
    }

    private static func event(_ number: Int) -> String {
        #"{"specversion":"1.0","id":"\#(number)","source":"/tests","type":"demo.test","data":{"pad":""#
            + String(repeating: "x", count: 100) + #""}}"#
    }
}
