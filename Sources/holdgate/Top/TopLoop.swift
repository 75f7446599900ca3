import Glibc
import HoldgateClient
import Platform

/// The live screen: one thread asks the host, this one waits for its answers, keys and signals, and draws.
struct TopLoop {
    private var model: TopModel
    private var left: UInt64?
    private let console: Console
    private let signals: SignalFD
    private let asker: TopAsker

    private static let keysThatEnd: Set<UInt8> = [UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4]

    init(_ model: TopModel, _ poll: TopPoll, _ count: UInt64?, _ console: Console) throws(PlatformError) {
        self.model = model
        self.console = console
        left = count
        // libzmq's threads have all signals blocked by themselves.
        signals = try SignalFD(Signals.service + [SIGQUIT, SIGWINCH])
        asker = try TopAsker(poll, everyMs: model.interval.wholeMs)
    }

    mutating func run() throws(PlatformError) {
        let terminal = Terminal(output: console.out)
        defer { terminal.leave() }
        if isLastLook(terminal) { return }
        let thread = try asker.start()
        let failure = watch(terminal)
        asker.stop()
        thread.join()
        if let failure { throw failure }
    }

    /// Until it is enough; returns what failed.
    private mutating func watch(_ terminal: Terminal) -> PlatformError? {
        var watched = [terminal.keys, signals.fileDescriptor, asker.answered].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        while true {
            // Each second, so that it is seen how long a host is away.
            let count = poll(&watched, nfds_t(watched.count), 1000)
            guard count >= 0 || errno == EINTR else { return PlatformError(call: "poll", number: errno) }
            if count > 0, watched[0].revents != 0 {
                guard let keys = terminal.read() else { return nil }
                if keys.contains(where: Self.keysThatEnd.contains) { return nil }
            }
            while let signal = signals.next() {
                guard signal == SIGWINCH else { return nil }
            }
            model.pass(nowMs: Clock.monotonicMs(), wallMs: console.wallMs())
            for outcome in asker.take() {
                model.take(outcome, nowMs: Clock.monotonicMs(), wallMs: console.wallMs())
                if isLastLook(terminal) { return nil }
            }
            draw(terminal)
        }
    }

    /// Draws what was heard; true if that was the last time.
    private mutating func isLastLook(_ terminal: Terminal) -> Bool {
        draw(terminal)
        left = left.map { $0 - 1 }
        return left == 0
    }

    private func draw(_ terminal: Terminal) {
        let size = Terminal.size
        let screen = TopScreen(model: model, width: size.width, height: size.height)
        terminal.draw(screen, isColoured: console.isColoured)
    }
}

/// Asks the host again and again, on a thread of its own: a host that is away must not keep keys waiting.
private final class TopAsker: Sendable {
    private let poll: TopPoll
    private let everyMs: Int64
    private let outcomes = Locked<[Result<TopSample, HoldgateError>]>([])
    private let wake: EventFD
    private let cancel: EventFD

    init(_ poll: TopPoll, everyMs: Int64) throws(PlatformError) {
        self.poll = poll
        self.everyMs = everyMs
        wake = try EventFD()
        cancel = try EventFD()
    }

    /// Readable once there is something to take.
    var answered: Int32 { wake.fileDescriptor }

    func start() throws(PlatformError) -> ThreadHandle {
        try Thread.spawn(name: "top") { [self] in
            var due = Clock.monotonicMs() + everyMs
            while !cancel.wait(timeoutMs: Int(max(0, due - Clock.monotonicMs()))) {
                due = max(due, Clock.monotonicMs() - everyMs) + everyMs
                let outcome = poll.outcome(cancel: cancel)
                outcomes.withLock { $0.append(outcome) }
                wake.signal()
            }
        }
    }

    func stop() { cancel.signal() }

    func take() -> [Result<TopSample, HoldgateError>] {
        wake.drain()
        return outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes
        }
    }
}
