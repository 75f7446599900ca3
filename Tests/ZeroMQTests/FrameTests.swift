import Platform
import Testing
import ZeroMQ

@Suite struct FrameTests {
    @Test func aFrameHoldsWhatItWasMadeOf() {
        let empty = Frame()
        #expect([empty.count, empty.isEmpty ? 0 : 1, empty.more ? 1 : 0] == [0, 0, 0])
        for count in [0, 1, 33, 34, 1000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
            #expect([UInt8](copying: Frame(copying: bytes)) == bytes)
            var room = Frame(count: count)
            room.withMutableBytes { $0.copyBytes(from: bytes) }
            #expect([UInt8](copying: room) == bytes)
        }
        #expect(String(decoding: Frame(copying: "grün")) == "grün")
    }

    @Test func movingAFrameMovesItsBytes() {
        let first = Frame(copying: "short enough to lie inside")
        let second = first
        var third = Frame()
        third = second
        #expect(String(decoding: third) == "short enough to lie inside")
        third.clear()
        #expect(third.isEmpty == true)
    }

    @Test func anOwnerIsReleasedOnceItsFrameGoes() {
        let living = Locked(0)
        do {
            var frame = owned([1, 2, 3], living)
            #expect([UInt8](copying: frame) == [1, 2, 3])
            #expect(living.withLock { $0 } == 1)
            frame = owned([4], living)
            #expect([UInt8](copying: frame) == [4])
            #expect(living.withLock { $0 } == 1)
        }
        #expect(living.withLock { $0 } == 0)
        let empty = owned([], living)
        #expect(empty.isEmpty == true)
        #expect(living.withLock { $0 } == 0)
    }

    @Test func sharedBytesStayUntilTheLastFrameGoes() {
        let living = Locked(0)
        var first = owned([UInt8](repeating: 5, count: 100), living)
        let second = first.share()
        var third = first.share()
        first.clear()
        third.clear()
        #expect(living.withLock { $0 } == 1)
        #expect([UInt8](copying: second) == [UInt8](repeating: 5, count: 100))
        drop(second)
        #expect(living.withLock { $0 } == 0)
    }

    /// Inside one process the receiver gets the sender's bytes, so each receive must let go what was there
    /// before.
    @Test func receivingIntoAUsedFrameLetsItsBytesGo() throws {
        let living = Locked(0)
        let context = try Context()
        let sender = try Socket(.pair, in: context)
        let receiver = try Socket(.pair, in: context)
        try sender.bind("inproc://reuse")
        try receiver.connect("inproc://reuse")
        for number in UInt8(0)..<3 {
            var frame = owned([number], living)
            #expect(try sender.send(&frame) == true)
            #expect(frame.isEmpty == true)
        }
        #expect(living.withLock { $0 } == 3)
        var frame = Frame()
        for number in UInt8(0)..<3 {
            try receive(receiver, into: &frame)
            #expect([UInt8](copying: frame) == [number])
            #expect(living.withLock { $0 } == 3 - Int(number))
        }
        #expect(try receiver.receive(into: &frame) == false)
        #expect(living.withLock { $0 } == 0)
    }

    @Test func anOwnerSentOverTheNetworkIsReleasedOnce() throws {
        let living = Locked(0)
        let content = [UInt8](repeating: 9, count: 100_000)
        do {
            let context = try Context()
            let sender = try Socket(.pair, in: context)
            let receiver = try Socket(.pair, in: context)
            try receiver.connect(sender.bind("tcp://127.0.0.1:0"))
            var polls = PollSet()
            polls.add(socket: sender, readable: false, writable: true)
            #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
            var frame = owned(content, living)
            #expect(try sender.send(&frame) == true)
            try receive(receiver, into: &frame)
            #expect([UInt8](copying: frame) == content)
        }
        #expect(living.withLock { $0 } == 0)
    }

    private func owned(_ content: [UInt8], _ living: Locked<Int>) -> Frame {
        let owner = Owner(content, living: living)
        return Frame(owner: owner, bytes: owner.bytes)
    }

    private func drop(_ frame: consuming Frame) {}
}
