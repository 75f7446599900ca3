import Platform
import Wire
import ZeroMQ

/// The producer's thread: owns the socket, and does what `ProducerCore` says.
///
/// One socket is one connection: libzmq is told not to reconnect, since it would lose what was on its way in
/// between and go on with what came after. A connection that ends shows as a socket that can't be written to.
final class ProducerWorker: Sendable {
    private let queue: ProducerQueue
    private let options: Producer.Options
    private let context: Context
    private let seed: UInt64

    init(_ queue: ProducerQueue, _ options: Producer.Options, context: Context, seed: UInt64) {
        self.queue = queue
        self.options = options
        self.context = context
        self.seed = seed
    }

    func run() {
        var line = ProducerLine(queue, options, context: context, seed: seed)
        do {
            while !queue.isStopped, line.isUsable { try line.turn() }
        } catch {
            queue.fail(HoldgateError(zeroMQ: error))
        }
    }
}

/// The state of the producer's thread.
private struct ProducerLine: ~Copyable {
    private let queue: ProducerQueue
    private let options: Producer.Options
    private let context: Context
    private var core: ProducerCore
    private var blocks: [UInt64: EventBlock] = [:]
    private var sent: Set<UInt64> = []
    private var nextTicket: UInt64 = 1
    private var link: SocketBox?
    private var isConnected = false
    private var connectEndsMs: Int64 = 0
    private var patienceMs = Self.patienceFirstMs
    private var frame = Frame()
    private let parser = JSONParser()
    private var writer = JSONWriter()
    private var effects: [ProducerCore.Effect] = []

    /// How long a connection may take to stand before the next is tried; doubles up to the last.
    private static let patienceFirstMs: Int64 = 100
    private static let patienceLastMs: Int64 = 5000
    /// How soon a connection that ended is noticed.
    private static let lookMs: Int64 = 50

    init(_ queue: ProducerQueue, _ options: Producer.Options, context: Context, seed: UInt64) {
        self.queue = queue
        self.options = options
        self.context = context
        var configuration = ProducerCore.Configuration()
        configuration.window = min(options.unacknowledgedBatches, 16)
        configuration.replyTimeoutMs = options.replyTimeout.milliseconds
        configuration.giveUpMs = options.giveUp?.milliseconds
        core = ProducerCore(configuration, seed: seed)
    }

    var isUsable: Bool { core.failure == nil }

    mutating func turn() throws(ZeroMQError) {
        if link == nil { try open() }
        try wait()
        queue.wake.drain()
        try look()
        try receive()
        core.tick(now: Clock.monotonicMs(), into: &effects)
        perform()
        while core.hasRoom, let block = queue.next(isIdle: core.isIdle) {
            blocks[nextTicket] = block
            core.add(ticket: nextTicket, now: Clock.monotonicMs())
            nextTicket += 1
        }
        try send()
    }

    private mutating func open() throws(ZeroMQError) {
        let socket = try Socket(
            .dealer, in: context, .linger(ms: 0), .immediate(true), .reconnectInterval(ms: -1),
            .sendHighWaterMark(0), .receiveHighWaterMark(0), .heartbeatInterval(ms: 1000),
            .heartbeatTimeout(ms: 5000))
        try socket.connect(options.endpoint, options.credentials)
        link = SocketBox(socket)
        isConnected = false
        connectEndsMs = Clock.monotonicMs() + patienceMs
        patienceMs = min(patienceMs * 2, Self.patienceLastMs)
    }

    private mutating func close() {
        link = nil
        isConnected = false
        core.disconnected()
    }

    private mutating func wait() throws(ZeroMQError) {
        let now = Clock.monotonicMs()
        var end = now + 1000
        if let deadline = core.deadline() { end = min(end, deadline) }
        end = min(end, isConnected ? (core.isIdle ? end : now + Self.lookMs) : connectEndsMs)
        var polls = PollSet()
        polls.add(fileDescriptor: queue.wake.fileDescriptor)
        if let link { polls.add(socket: link.socket, readable: true, writable: !isConnected) }
        _ = try polls.wait(timeoutMs: Int(max(0, end - now)))
    }

    /// Notices that the connection stands, or is gone.
    private mutating func look() throws(ZeroMQError) {
        guard let link else { return }
        let isWritable = try link.socket.events.contains(.writable)
        if !isConnected, isWritable {
            isConnected = true
            patienceMs = Self.patienceFirstMs
            core.connected()
        } else if isConnected, !isWritable {
            // Answers that came before the end still count.
            try receive()
            close()
        } else if !isConnected, Clock.monotonicMs() >= connectEndsMs {
            close()
        }
    }

    private mutating func receive() throws(ZeroMQError) {
        while let link, try link.socket.receive(into: &frame) {
            let reply = frame.withBytes { bytes in try? IngestReply.parse(bytes, with: parser) }
            while frame.more, try link.socket.receive(into: &frame) {}
            guard let reply, let id = reply.id.flatMap({ UInt64($0) }) else { continue }
            core.answered(id, reply.outcome, now: Clock.monotonicMs(), into: &effects)
            perform()
        }
    }

    private mutating func perform() {
        while !effects.isEmpty {
            let effect = effects.removeFirst()
            switch effect {
            case .settled(let ticket, let outcome):
                sent.remove(ticket)
                if let block = blocks.removeValue(forKey: ticket) { queue.settled(block, outcome) }
            case .refused(let ticket, let error): refuse(ticket, error)
            case .reconnect: close()
            case .failed(let error): queue.fail(failure(error))
            }
        }
    }

    /// The core knows of no addresses.
    private func failure(_ error: WireError) -> HoldgateError {
        guard error.code == .noAnswer else { return HoldgateError(error, state: nil) }
        let hint = Credentials.hint(options.endpoint, options.credentials)
        return HoldgateError(
            error.code, "\(error.message) at \(options.endpoint)\(hint)", retryable: error.retryable)
    }

    private mutating func refuse(_ ticket: UInt64, _ error: WireError) {
        guard let block = blocks[ticket] else { preconditionFailure("no block for ticket \(ticket)") }
        let error = HoldgateError(error, state: nil)
        if let index = error.index, let rest = block.without(index) {
            blocks[ticket] = rest
            let failure = Producer.Failure(index: block.place(of: index), count: 1, error: error)
            queue.refused(failure, bytes: block.byteCount - rest.byteCount, endsBlock: false)
            core.resolve(keep: true, into: &effects)
        } else {
            blocks[ticket] = nil
            sent.remove(ticket)
            let failure = Producer.Failure(index: block.place(of: 0), count: block.eventCount, error: error)
            queue.refused(failure, bytes: block.byteCount, endsBlock: true)
            core.resolve(keep: false, into: &effects)
        }
    }

    private mutating func send() throws(ZeroMQError) {
        while let link, isConnected, let sending = core.next(now: Clock.monotonicMs()) {
            guard let block = blocks[sending.ticket] else { preconditionFailure("no block to send") }
            if !sent.insert(sending.ticket).inserted { queue.resent() }
            writer.reset()
            IngestHeader(
                id: String(sending.id), producer: options.name, run: sending.run, batch: sending.batch
            ).write(into: &writer)
            var events = Frame(owner: block, bytes: block.bytes)
            let went = try link.socket.send(writer.bytes, more: true)
            guard went, try link.socket.send(&events) else { return close() }
        }
    }
}
