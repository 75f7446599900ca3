import Glibc
import Platform
import Testing

@Suite struct InboxTests {
    @Test func theDescriptorIsReadableWhileSomethingWaits() throws {
        let inbox = try Inbox<Int>()
        var taken = [99]
        #expect(!isReadable(inbox.fileDescriptor))
        inbox.post(1)
        inbox.post(2)
        #expect(isReadable(inbox.fileDescriptor))
        inbox.takeAll(into: &taken)
        #expect(taken == [1, 2])
        #expect(!isReadable(inbox.fileDescriptor))
        inbox.post(3)
        #expect(isReadable(inbox.fileDescriptor))
        inbox.takeAll(into: &taken)
        #expect(taken == [3])
        inbox.takeAll(into: &taken)
        #expect(taken == [])
    }

    @Test func aFullInboxTakesNoMore() throws {
        let inbox = try Inbox<Int>(limit: 2)
        #expect([inbox.offer(1), inbox.offer(2), inbox.offer(3)] == [true, true, false])
        var taken: [Int] = []
        inbox.takeAll(into: &taken)
        #expect(taken == [1, 2])
        #expect(inbox.offer(4))
    }

    @Test func nothingIsLostOrReorderedAcrossThreads() throws {
        let posters = 4
        let each = 20_000
        let inbox = try Inbox<(poster: Int, number: Int)>()
        var threads: [() -> Void] = []
        for poster in 0..<posters {
            threads.append(
                try start("poster \(poster)") {
                    for number in 0..<each { inbox.post((poster, number)) }
                })
        }
        // Sleeps on the descriptor alone: a lost signal would hang it, so the wait has an end.
        var last = [Int](repeating: -1, count: posters)
        var taken: [(poster: Int, number: Int)] = []
        var count = 0
        while count < posters * each {
            try #require(isReadable(inbox.fileDescriptor, timeoutMs: 30_000))
            inbox.takeAll(into: &taken)
            for element in taken {
                if element.number != last[element.poster] + 1 { Issue.record("out of order: \(element)") }
                last[element.poster] = element.number
            }
            count += taken.count
        }
        for join in threads { join() }
        #expect(last == [Int](repeating: each - 1, count: posters))
    }

    @Test func manySignalsAreOneWakeUp() throws {
        let event = try EventFD()
        #expect(!event.drain())
        event.signal()
        event.signal()
        #expect(isReadable(event.fileDescriptor))
        #expect(event.drain())
        #expect(!isReadable(event.fileDescriptor))
    }
}

/// Starts a thread; the result joins it.
func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws -> () -> Void {
    var handle: ThreadHandle? = try Thread.spawn(name: name, body: body)
    return { handle.take()?.join() }
}

func isReadable(_ fileDescriptor: Int32, timeoutMs: Int32 = 0) -> Bool {
    var item = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
    return poll(&item, 1, timeoutMs) == 1 && item.revents == Int16(POLLIN)
}
