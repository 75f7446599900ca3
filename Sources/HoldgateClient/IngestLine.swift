import Platform
import Wire
import ZeroMQ

/// The ingest channel's thread: owns the socket.
///
/// One socket is one connection, as the producer's: libzmq is told not to reconnect, for it would send later what has
/// been answered as lost. A connection that ends shows as a socket that can't be written to.
struct IngestLine: ~Copyable {
    /// What a thread begins with.
    struct Start: Sendable {
        let queue: IngestQueue
        let options: IngestChannel.Options
        let context: Context

        func run() {
            var line = IngestLine(self)
            do {
                while !queue.isStopped { try line.turn() }
                line.end(HoldgateError(.closed, "the channel was closed", isOutcomeUnknown: true))
            } catch {
                let error = HoldgateError(zeroMQ: error)
                queue.fail(error)
                line.end(error)
            }
        }
    }

    private let queue: IngestQueue
    private let options: IngestChannel.Options
    private let context: Context
    private let timeoutMs: Int64
    private var link: SocketBox?
    private var isConnected = false
    private var connectEndsMs: Int64 = 0
    private var patienceMs = Self.patienceFirstMs
    private var waiting: [IngestQueue.Item] = []
    /// By the number that the host echoes.
    private var underWay: [UInt64: IngestQueue.Item] = [:]
    private var nextNumber: UInt64 = 1
    /// When the oldest of all may run out; looked at anew when it is reached.
    private var deadlineMs: Int64?
    private var frame = Frame()
    private var writer = JSONWriter()
    private let parser = JSONParser()

    /// How long a connection may take to stand before the next is tried; doubles up to the last.
    private static let patienceFirstMs: Int64 = 100
    private static let patienceLastMs: Int64 = 2000
    /// How soon a connection that ended is noticed while batches are under way.
    private static let lookMs: Int64 = 50

    init(_ start: Start) {
        queue = start.queue
        options = start.options
        context = start.context
        timeoutMs = start.options.timeout.milliseconds
    }

    mutating func turn() throws(ZeroMQError) {
        if link == nil { try open() }
        try wait()
        queue.wake.drain()
        let added = queue.take()
        waiting += added
        if let first = added.first { deadlineMs = min(deadlineMs ?? .max, first.sinceMs + timeoutMs) }
        try look()
        try receive()
        try send()
        expire()
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
        let lost = underWay
        underWay = [:]
        let error = HoldgateError(
            .noAnswer, "the connection to \(options.endpoint) ended before the host answered",
            retryable: true, isOutcomeUnknown: true)
        for item in lost.values { queue.settle(item, .failure(error)) }
    }

    private mutating func wait() throws(ZeroMQError) {
        let now = Clock.monotonicMs()
        var end = now + 1000
        if let deadlineMs { end = min(end, deadlineMs) }
        end = min(end, isConnected ? (underWay.isEmpty ? end : now + Self.lookMs) : connectEndsMs)
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
            guard let reply, let id = reply.id.flatMap({ UInt64($0) }),
                let item = underWay.removeValue(forKey: id)
            else { continue }
            queue.settle(item, .success(reply))
        }
    }

    private mutating func send() throws(ZeroMQError) {
        guard isConnected, !waiting.isEmpty else { return }
        var sent = 0
        defer { waiting.removeFirst(sent) }
        for item in waiting {
            guard let link else { return }
            let number = nextNumber
            nextNumber += 1
            sent += 1
            underWay[number] = item
            writer.reset()
            IngestHeader(
                id: String(number), producer: item.batch?.producer, run: item.batch?.run,
                batch: item.batch?.number
            ).write(into: &writer)
            guard try link.socket.send(writer.bytes, more: true) else { return close() }
            for (index, bytes) in item.frames.enumerated() {
                let isLast = index == item.frames.count - 1
                guard try link.socket.send(bytes, more: !isLast) else { return close() }
            }
        }
    }

    private mutating func expire() {
        let now = Clock.monotonicMs()
        guard let deadlineMs, now >= deadlineMs else { return }
        var next = Int64.max
        var late: [IngestQueue.Item] = []
        waiting.removeAll { item in
            guard now - item.sinceMs >= timeoutMs else {
                next = min(next, item.sinceMs + timeoutMs)
                return false
            }
            late.append(item)
            return true
        }
        for item in late { queue.settle(item, .failure(noHost)) }
        let isSilent = underWay.values.contains { now - $0.sinceMs >= timeoutMs }
        // What is late on it may still be answered: by a connection of its own the rest is told from it.
        if isSilent { close() }
        for item in underWay.values { next = min(next, item.sinceMs + timeoutMs) }
        self.deadlineMs = next == .max ? nil : next
    }

    private var noHost: HoldgateError {
        let hint = Credentials.hint(options.endpoint, options.credentials)
        return HoldgateError(
            .noAnswer, "no host answered at \(options.endpoint) within \(timeoutMs) ms\(hint)",
            retryable: true)
    }

    mutating func end(_ error: HoldgateError) {
        link = nil
        for item in waiting + queue.take() + Array(underWay.values) { queue.settle(item, .failure(error)) }
        waiting = []
        underWay = [:]
    }
}
