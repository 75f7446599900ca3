import Platform
import Wire
import ZeroMQ

/// The state of the thread that runs a plugin: owns the socket, and does what `PluginCore` says.
struct PluginLine: ~Copyable {
    private let configuration: Plugin.Configuration
    private let context: Context
    private var core = PluginCore(now: Clock.monotonicMs())
    private var link: PluginLink?
    private var gathered: [Delivery] = []
    private var gatheredBytes = 0
    private var ending: Plugin.Ending?
    private let parser = JSONParser()
    private var writer = JSONWriter()
    private var effects: [PluginCore.Effect] = []
    private var notices: [Plugin.Notice] = []
    /// Whether the host may be silent because of the key, and nobody has been told.
    private var isDoubtful = true

    /// What services answer in tasks of their own.
    private let answers: Inbox<Answered>
    private var answered: [Answered] = []
    private let acknowledgements: Inbox<Acknowledgement>
    private var acknowledged: [Acknowledgement] = []

    /// What becomes of deliveries that were handed over.
    enum Taken {
        case acknowledge([Reject])
        /// An `Acknowledgement` comes later.
        case later
    }

    typealias Take = ([Delivery]) throws -> Taken

    private struct Answered: Sendable {
        let ticket: PluginCore.Ticket
        let outcome: Service.Outcome
    }

    init(
        _ configuration: Plugin.Configuration, _ acknowledgements: Inbox<Acknowledgement>, context: Context
    ) throws(HoldgateError) {
        self.configuration = configuration
        self.acknowledgements = acknowledgements
        self.context = context
        do {
            answers = try Inbox()
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    /// One wait, and what came of it.
    mutating func turn(
        _ wake: EventFD, notice: (Plugin.Notice) -> Void, take: Take
    ) throws -> Plugin.Ending? {
        if link == nil { try open() }
        try wait(wake)
        // Looked at first, and heeded last: what came before the connection broke is still read.
        let isLost = try isConnectionLost()
        var isMore = true
        while isMore {
            isMore = try receive()
            // What came before another message is acknowledged before that is looked at.
            try handOver(take)
            tell(notice)
            if let ending { return ending }
        }
        takeAnswers()
        takeAcknowledgements()
        if isLost { core.disconnected(now: Clock.monotonicMs(), into: &effects) }
        core.tick(now: Clock.monotonicMs(), into: &effects)
        try perform(frames: [])
        tell(notice)
        return ending
    }

    /// Says goodbye as well as it can.
    mutating func leave() {
        takeAcknowledgements()
        try? perform(frames: [])
        guard let link else { return }
        writer.reset()
        PluginMessage.bye.write(into: &writer)
        // Linger, so that the bye leaves: an attachment that is not ended lasts until its connection is
        // missed.
        try? link.socket.set(.linger(ms: 200))
        _ = try? link.socket.send(writer.bytes)
        self.link = nil
    }

    private mutating func open() throws(HoldgateError) {
        do {
            let socket = try Socket(
                .dealer, in: context, .linger(ms: 0), .receiveHighWaterMark(0), .heartbeatInterval(ms: 1000),
                .heartbeatTimeout(ms: 5000))
            try socket.connect(configuration.endpoint, configuration.credentials)
            link = try PluginLink(socket)
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
        core.opened(now: Clock.monotonicMs(), into: &effects)
        try perform(frames: [])
    }

    private borrowing func wait(_ wake: EventFD) throws {
        let now = Clock.monotonicMs()
        let end = core.deadline ?? now + 1000
        var polls = PollSet()
        polls.add(fileDescriptor: wake.fileDescriptor)
        polls.add(fileDescriptor: answers.fileDescriptor)
        polls.add(fileDescriptor: acknowledgements.fileDescriptor)
        if let link {
            polls.add(socket: link.socket)
            polls.add(socket: link.monitor.socket)
        }
        _ = try polls.wait(timeoutMs: Int(max(0, min(end - now, 1000))))
        wake.drain()
    }

    /// Reads messages until none is left, enough is gathered, or one that is no delivery has come. False:
    /// none left.
    private mutating func receive() throws -> Bool {
        while let link, gatheredBytes < configuration.gatherBytes {
            var frame = Frame()
            guard try link.socket.receive(into: &frame) else { return false }
            let isMore = frame.more
            let message = frame.withBytes { bytes in
                Result { () throws(WireError) in try HostMessage.parse(bytes, with: parser) }
            }
            let frames = isMore ? try rest(link) : []
            switch message {
            case .success(let message?):
                core.heard(message, now: Clock.monotonicMs(), into: &effects)
                // One after a delivery waits until that is handled, but for another delivery.
                if case .deliver = message { try perform(frames: frames) } else { return true }
            case .success(nil): break
            case .failure(let error): notices.append(.problem(HoldgateError(error, state: nil)))
            }
        }
        return link != nil
    }

    private func rest(_ link: PluginLink) throws(ZeroMQError) -> [EventsFrame] {
        var frames: [EventsFrame] = []
        while true {
            var frame = Frame()
            guard try link.socket.receive(into: &frame) else { return frames }
            let isMore = frame.more
            if !frame.isEmpty { frames.append(EventsFrame(frame)) }
            if !isMore { return frames }
        }
    }

    private mutating func handOver(_ take: Take) throws {
        if let last = gathered.map(\.last).max() {
            let deliveries = gathered
            gathered = []
            gatheredBytes = 0
            switch try take(deliveries) {
            case .acknowledge(let rejects): try send(.ack(through: last, rejects: rejects))
            case .later: break
            }
        }
        try perform(frames: [])
    }

    private mutating func tell(_ notice: (Plugin.Notice) -> Void) {
        let waiting = notices
        notices = []
        for each in waiting { notice(each) }
    }

    private mutating func perform(frames: [EventsFrame]) throws(HoldgateError) {
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .sendHello:
                let hello = PluginMessage.Hello(
                    name: configuration.name, version: configuration.version,
                    collect: configuration.collect, services: configuration.services.keys.sorted())
                try send(.hello(hello))
            case .sendHeartbeat: try send(.heartbeat)
            case .sendAck(let through, let rejects): try send(.ack(through: through, rejects: rejects))
            case .reconnect:
                link = nil
                gathered = []
                gatheredBytes = 0
                doubt()
                notices.append(.detached)
            case .deliver(let header):
                let delivery = Delivery(header: header, frames: frames)
                gathered.append(delivery)
                gatheredBytes += delivery.byteCount
            case .state(let body, let seq, let launch):
                notices.append(.state(body, seq: seq, launch: launch))
            case .attached(let cursor, let status):
                isDoubtful = false
                notices.append(.attached(cursor: cursor, status))
            case .app(let body): notices.append(.app(body))
            case .serve(let ticket, let service, let arguments, let deadlineMs):
                serve(
                    ticket,
                    ServiceRequest(service: service, arguments: arguments, deadlineMs: deadlineMs))
            case .sendResult(let id, let result): try send(.result(id: id, result))
            case .report(let error): notices.append(.problem(HoldgateError(error, state: nil)))
            case .ended(let error):
                guard error.code == .superseded else { throw HoldgateError(error, state: nil) }
                ending = .superseded
            }
        }
    }

    /// A host refuses a key without a word, so that only the silence tells. Says so once, until it has been attached.
    private mutating func doubt() {
        guard isDoubtful, let credentials = configuration.credentials else { return }
        isDoubtful = false
        let hint = Credentials.hint(configuration.endpoint, credentials)
        guard !hint.isEmpty else { return }
        let message = "no host has answered at \(configuration.endpoint)\(hint)"
        notices.append(.problem(HoldgateError(.noAnswer, message, retryable: true)))
    }

    private mutating func serve(_ ticket: PluginCore.Ticket, _ request: ServiceRequest) {
        guard let service = configuration.services[request.service] else {
            let error = WireError(
                .unknownService, "\(configuration.name) does not provide \(request.service)")
            return core.answered(ticket, .failure(error), now: Clock.monotonicMs(), into: &effects)
        }
        switch service.body {
        case .blocking(let body):
            // One that others have kept waiting for too long need not be done.
            guard core.isWanted(ticket, now: Clock.monotonicMs()) else { return }
            core.answered(ticket, body(request), now: Clock.monotonicMs(), into: &effects)
        case .asynchronous(let body):
            let answers = answers
            Task {
                // No room: the plugin's thread has been busy for so long that nobody waits any more.
                _ = answers.offer(Answered(ticket: ticket, outcome: await body(request)))
            }
        }
    }

    private mutating func takeAnswers() {
        answers.takeAll(into: &answered)
        let now = Clock.monotonicMs()
        for each in answered { core.answered(each.ticket, each.outcome, now: now, into: &effects) }
    }

    private mutating func takeAcknowledgements() {
        acknowledgements.takeAll(into: &acknowledged)
        for each in acknowledged {
            core.acknowledged(
                through: each.through, of: each.launch, rejects: each.rejects, into: &effects)
        }
    }

    private borrowing func isConnectionLost() throws(HoldgateError) -> Bool {
        guard let link else { return false }
        do throws(ZeroMQError) {
            return try link.isLost()
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
    }

    private mutating func send(_ message: PluginMessage) throws(HoldgateError) {
        guard let link else { return }
        writer.reset()
        message.write(into: &writer)
        do {
            // No room means that the host is away: the silence will be noticed.
            _ = try link.socket.send(writer.bytes)
        } catch {
            throw HoldgateError(zeroMQ: error)
        }
        core.sent(now: Clock.monotonicMs())
    }
}
