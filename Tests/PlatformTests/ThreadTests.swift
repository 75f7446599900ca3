import Glibc
import Platform
import Testing

@Suite struct ThreadTests {
    @Test func aThreadHasItsNameAndBlocksSignals() throws {
        struct Seen: Equatable {
            var name = ""
            var blocksTerm = false
            var blocksFaults = true
        }
        let seen = Locked(Seen())
        try Thread.spawn(name: "a name of more than 15 bytes") {
            var name = [UInt8](repeating: 0, count: 32)
            let file = open("/proc/thread-self/comm", O_RDONLY)
            let count = read(file, &name, name.count)
            close(file)
            var blocked = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &blocked)
            let found = Seen(
                name: String(decoding: name.prefix(count), as: UTF8.self),
                blocksTerm: sigismember(&blocked, SIGTERM) == 1,
                blocksFaults: sigismember(&blocked, SIGSEGV) == 1)
            seen.withLock { $0 = found }
        }.join()
        #expect(
            seen.withLock { $0 } == Seen(name: "a name of more \n", blocksTerm: true, blocksFaults: false))
    }

    @Test func spawningLeavesTheCallersSignalsAsTheyWere() throws {
        var before = sigset_t()
        var after = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &before)
        try Thread.spawn(name: "short") {}.join()
        pthread_sigmask(SIG_BLOCK, nil, &after)
        for signal in Int32(1)...64 { #expect(sigismember(&before, signal) == sigismember(&after, signal)) }
    }

    @Test func aLockAdmitsOneAtATime() throws {
        let counter = Locked(0)
        let joins = try (0..<4).map { number in
            try start("counter \(number)") {
                for _ in 0..<10_000 { counter.withLock { $0 += 1 } }
            }
        }
        for join in joins { join() }
        #expect(counter.withLock { $0 } == 40_000)
    }

    @Test func aQueueHandsOverAllAndThenSaysThatItIsClosed() throws {
        let queue = BlockingQueue<Int>()
        let result = Locked([Int]())
        let join = try start("taker") {
            var taken: [Int] = []
            while queue.takeAll(into: &taken) { result.withLock { $0 += taken } }
            if !taken.isEmpty { Issue.record("closed, and yet \(taken.count) taken") }
        }
        for number in 0..<50_000 { #expect(queue.push(number)) }
        queue.close()
        join()
        #expect(result.withLock { $0 } == Array(0..<50_000))
        #expect(!queue.push(1))
    }

    @Test func whatWaitedBeforeTheCloseIsStillTaken() {
        let queue = BlockingQueue<String>()
        queue.push("a")
        queue.push("b")
        queue.close()
        var taken: [String] = []
        #expect(queue.takeAll(into: &taken))
        #expect(taken == ["a", "b"])
        #expect(!queue.takeAll(into: &taken))
        #expect(taken == [])
    }
}
