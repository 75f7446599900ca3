import Glibc
import Platform
import Testing
import ZeroMQ

@Suite struct PollSetTests {
    @Test func socketsAndDescriptorsArePolledTogether() throws {
        let context = try Context()
        let sender = try Socket(.pair, in: context)
        let receiver = try Socket(.pair, in: context)
        try receiver.connect(sender.bind("inproc://together"))
        let event = try EventFD()
        var polls = PollSet()
        let socket = polls.add(socket: receiver)
        let wake = polls.add(fileDescriptor: event.fileDescriptor)
        #expect(polls.count == 2)
        #expect(try polls.wait(timeoutMs: 0) == 0)

        event.signal()
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect([polls.isReadable(socket), polls.isReadable(wake)] == [false, true])

        #expect(try sender.send("now") == true)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 2)
        #expect([polls.isReadable(socket), polls.isReadable(wake)] == [true, true])

        event.drain()
        #expect(try message(receiver) == ["now"])
        #expect(try polls.wait(timeoutMs: 0) == 0)
        #expect([polls.isReadable(socket), polls.isReadable(wake)] == [false, false])
    }

    @Test func onlyWhatIsWatchedForIsReady() throws {
        let context = try Context()
        let sender = try Socket(.pair, in: context)
        let receiver = try Socket(.pair, in: context)
        try receiver.connect(sender.bind("inproc://watched"))
        #expect(try sender.send("waiting") == true)
        var polls = PollSet()
        let index = polls.add(socket: receiver, readable: false)
        #expect(try polls.wait(timeoutMs: 0) == 0)
        polls.watch(index, readable: true, writable: false)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect([polls.isReadable(index), polls.isWritable(index)] == [true, false])
        polls.watch(index, readable: true, writable: true)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect([polls.isReadable(index), polls.isWritable(index)] == [true, true])
        polls.watch(index, readable: false, writable: true)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect([polls.isReadable(index), polls.isWritable(index)] == [false, true])
    }

    @Test func aDescriptorIsWatchedForWriting() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        var polls = PollSet()
        let reading = polls.add(fileDescriptor: ends[0])
        let writing = polls.add(fileDescriptor: ends[1], readable: false, writable: true)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect([polls.isReadable(reading), polls.isWritable(writing)] == [false, true])
        polls.watch(writing, readable: false, writable: false)
        #expect(try polls.wait(timeoutMs: 0) == 0)
        close(ends[1])
        polls.remove(writing)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect(polls.hasFailed(reading) == true)
        close(ends[0])
    }

    /// What was ready and not read stays ready; what becomes ready while something else is read is seen.
    @Test func noSocketIsForgottenForAnother() throws {
        let context = try Context()
        let sender = try Socket(.pair, in: context)
        let other = try Socket(.pair, in: context)
        let first = try Socket(.pair, in: context)
        let second = try Socket(.pair, in: context)
        try first.connect(sender.bind("inproc://first"))
        try second.connect(other.bind("inproc://second"))
        var polls = PollSet()
        polls.add(socket: first)
        polls.add(socket: second)
        for round in 0..<100 {
            #expect(try sender.send("\(round)") == true)
            #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
            #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
            #expect([polls.isReadable(0), polls.isReadable(1)] == [true, false])
            #expect(try other.send("\(round)") == true)
            #expect(try polls.wait(timeoutMs: deadlineMs) == 2)
            #expect(try message(first) == ["\(round)"])
            #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
            #expect([polls.isReadable(0), polls.isReadable(1)] == [false, true])
            #expect(try message(second) == ["\(round)"])
            #expect(try polls.wait(timeoutMs: 0) == 0)
        }
    }

    /// A send on a socket may take in what arrived on it: that is seen without another signal.
    @Test func sendingHidesNothingThatArrived() throws {
        let context = try Context()
        let server = try Socket(.dealer, in: context)
        let client = try Socket(.dealer, in: context)
        try client.connect(server.bind("tcp://127.0.0.1:0"))
        var serverPolls = PollSet()
        var clientPolls = PollSet()
        serverPolls.add(socket: server)
        clientPolls.add(socket: client)
        #expect(try client.send("begin") == true)
        #expect(try message(server) == ["begin"])
        for _ in 0..<20_000 {
            // Both send at the same time, and then wait for what the other one sent.
            #expect(try server.send("from the server") == true)
            #expect(try client.send("from the client") == true)
            try #require(try clientPolls.wait(timeoutMs: deadlineMs) == 1)
            #expect(try message(client) == ["from the server"])
            try #require(try serverPolls.wait(timeoutMs: deadlineMs) == 1)
            #expect(try message(server) == ["from the client"])
        }
    }

    /// A receive that found nothing says as much as asking would, until something else is called or comes.
    @Test func whatComesAfterASocketWasFoundEmptyIsSeen() throws {
        let context = try Context()
        let server = try Socket(.dealer, in: context)
        let client = try Socket(.dealer, in: context)
        try client.connect(server.bind("tcp://127.0.0.1:0"))
        var polls = PollSet()
        let index = polls.add(socket: server)
        var frame = Frame()
        for number in 0..<20_000 {
            #expect(try client.send("\(number)") == true)
            try #require(try polls.wait(timeoutMs: deadlineMs) == 1)
            while try server.receive(into: &frame) { #expect(String(decoding: frame) == "\(number)") }
            // What the client does meanwhile comes before the wait, during it or after it.
            if number % 3 == 0 { #expect(try client.send("more") == true) }
            if number % 2 == 0 { #expect(try server.send("back") == true) }
            if number % 3 == 0 {
                try #require(try polls.wait(timeoutMs: deadlineMs) == 1)
                #expect(try message(server) == ["more"])
                #expect(try !server.receive(into: &frame))
            }
            #expect(try polls.wait(timeoutMs: 0) == 0 && !polls.isReadable(index))
            if number % 2 == 0 { #expect(try message(client) == ["back"]) }
        }
    }

    @Test func aSocketFoundEmptyMayStillBeWritten() throws {
        let context = try Context()
        let socket = try Socket(.pair, in: context)
        let other = try Socket(.pair, in: context)
        try other.connect(socket.bind("inproc://empty"))
        var polls = PollSet()
        let index = polls.add(socket: socket, readable: true, writable: true)
        var frame = Frame()
        #expect(try !socket.receive(into: &frame))
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect([polls.isReadable(index), polls.isWritable(index)] == [false, true])
    }

    @Test func aRemovedPlaceIsSilentAndCanBeTakenAgain() throws {
        let context = try Context()
        let event = try EventFD()
        var polls = PollSet()
        let gone = polls.add(fileDescriptor: event.fileDescriptor)
        let kept = polls.add(fileDescriptor: event.fileDescriptor)
        event.signal()
        polls.remove(gone)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 1)
        #expect([polls.isReadable(gone), polls.isReadable(kept)] == [false, true])

        let socket = try Socket(.dealer, in: context)
        try socket.bind("inproc://again")
        let peer = try Socket(.dealer, in: context)
        try peer.connect("inproc://again")
        #expect(try peer.send("hello") == true)
        polls.replace(gone, with: socket)
        #expect(try polls.wait(timeoutMs: deadlineMs) == 2)
        #expect([polls.isReadable(gone), polls.isReadable(kept)] == [true, true])
        polls.replace(gone, with: event.fileDescriptor)
        event.drain()
        #expect(try polls.wait(timeoutMs: 0) == 0)
    }

    @Test func anInboxWakesALoopThatSleepsOnSockets() throws {
        let context = try Context()
        let socket = try Socket(.router, in: context)
        try socket.bind("inproc://sleeper")
        let inbox = try Inbox<Int>()
        let handle = try Thread.spawn(name: "poster") {
            for number in 0..<1000 { inbox.post(number) }
        }
        var polls = PollSet()
        polls.add(socket: socket)
        let wake = polls.add(fileDescriptor: inbox.fileDescriptor)
        var all: [Int] = []
        var taken: [Int] = []
        while all.count < 1000 {
            try #require(try polls.wait(timeoutMs: deadlineMs) == 1)
            #expect(polls.isReadable(wake) == true)
            inbox.takeAll(into: &taken)
            all += taken
        }
        handle.join()
        #expect(all == Array(0..<1000))
    }

    @Test func sleepingOnASocketOfAContextThatEndsIsAnError() throws {
        let context = try Context()
        let socket = try Socket(.router, in: context)
        var polls = PollSet()
        polls.add(socket: socket)
        context.shutdown()
        let error = #expect(throws: ZeroMQError.self) { _ = try polls.wait(timeoutMs: deadlineMs) }
        #expect(error?.code == .terminated)
    }

    @Test func aSignalEndsTheSleepWithNothingReady() throws {
        // Without SA_RESTART, as handlers of embedding programs may be.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR1, &action, nil)
        let event = try EventFD()
        let sleeper = Locked<pthread_t?>(nil)
        let ready = Locked<Int?>(nil)
        let handle = try Thread.spawn(name: "sleeper") {
            var unblocked = sigset_t()
            sigaddset(&unblocked, SIGUSR1)
            pthread_sigmask(SIG_UNBLOCK, &unblocked, nil)
            sleeper.withLock { $0 = pthread_self() }
            var polls = PollSet()
            polls.add(fileDescriptor: event.fileDescriptor)
            // For ever: only a signal can make it 0.
            let count = (try? polls.wait(timeoutMs: -1)) ?? -1
            ready.withLock { $0 = count }
        }
        // The first ones may come before it sleeps.
        for _ in 0..<1_000_000 where ready.withLock({ $0 == nil }) {
            if let thread = sleeper.withLock({ $0 }) { pthread_kill(thread, SIGUSR1) }
            sched_yield()
        }
        event.signal()
        handle.join()
        #expect(ready.withLock { $0 } == 0)
    }
}
