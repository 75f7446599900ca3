import HoldgateClient
import Platform
import SQLite
import ZeroMQ

/// The loop: decisions in, commands to the host out. It owns the store, the keeper and the socket.
final class ConsentService {
    private struct Waiting {
        let envelope: [[UInt8]]
        let id: String?
        let receipts: [Receipt]
        let deadlineMs: Int64
    }

    private let store: ConsentStore
    private let link: HostLink
    private let signals: SignalFD
    private let socket: SocketHolder
    private var keeper: GateKeeper
    private var isAttached = false
    private var waiting: [Waiting] = []
    private var news: [HostNews] = []

    /// Where decisions are taken, port filled in.
    let address: String

    /// Requests that may wait for the host; further ones are answered at once.
    private static let waitingLimit = 1000
    private static let turnLimit = 100

    init(_ store: ConsentStore, _ link: HostLink, lease: Duration, bind: String) throws {
        self.store = store
        self.link = link
        signals = try SignalFD()
        let socket = try Socket(
            .router, in: Context(), .linger(ms: 500), .routerHandover(true), .maxMessageBytes(64 << 10))
        address = try socket.bind(bind)
        self.socket = SocketHolder(socket)
        keeper = GateKeeper(
            standing: store.standing(at: Clock.wallMs()),
            leaseMs: lease.components.seconds * 1000 + lease.components.attoseconds / 1_000_000_000_000_000)
    }

    /// Serves until a signal comes, or another takes over. Throws where it can't go on.
    func run() throws {
        var polls = PollSet()
        let stop = polls.add(fileDescriptor: signals.fileDescriptor)
        polls.add(fileDescriptor: link.news.fileDescriptor)
        polls.add(socket: socket.socket)
        while true {
            let (now, wall) = Clock.now()
            _ = try polls.wait(timeoutMs: Int(max(0, wakeMs(now, wall) - now)))
            if polls.isReadable(stop), let signal = signals.next(), signal != SIGHUP_NUMBER { break }
            if try hear() { break }
            try receive()
            act()
            try answer(now: Clock.monotonicMs(), all: false)
        }
        try answer(now: Clock.monotonicMs(), all: true)
        link.stop()
    }

    private func wakeMs(_ now: Int64, _ wall: Int64) -> Int64 {
        // The wall clock may be set: it is looked at once a minute at least.
        var wake = now + 60_000
        if let due = keeper.deadline(now: now) { wake = min(wake, due) }
        if let due = store.nextChangeMs(after: wall) { wake = min(wake, now + max(1, due - wall)) }
        for each in waiting { wake = min(wake, each.deadlineMs) }
        return wake
    }

    /// True: another one has taken over.
    private func hear() throws -> Bool {
        link.news.takeAll(into: &news)
        for each in news {
            switch each {
            case .saw(let view): keeper.saw(view)
            case .attached:
                isAttached = true
                keeper.attached()
            case .detached: isAttached = false
            case .answered(let outcome): keeper.answered(outcome, now: Clock.monotonicMs())
            case .superseded: return true
            case .failed(let message): throw ServiceFailure(message: message)
            }
        }
        return false
    }

    private func act() {
        keeper.decided(store.standing(at: Clock.wallMs()))
        if let call = keeper.next(now: Clock.monotonicMs()) { link.ask(call) }
    }

    private func receive() throws {
        var frame = Frame()
        for _ in 0..<Self.turnLimit {
            guard try socket.socket.receive(into: &frame) else { return }
            var frames = [[UInt8](copying: frame)]
            while frame.more, try socket.socket.receive(into: &frame) {
                frames.append([UInt8](copying: frame))
            }
            let end = frames.dropFirst().firstIndex { $0.isEmpty }.map { $0 + 1 } ?? 1
            let envelope = Array(frames[..<end])
            guard frames.count == end + 1 else {
                let error = WireError(.invalidMessage, "a request is one frame")
                try reply(envelope, nil, .failure(error))
                continue
            }
            try take(frames[end], envelope)
        }
    }

    private func take(_ bytes: [UInt8], _ envelope: [[UInt8]]) throws {
        var id: String?
        do {
            let request = try ConsentRequest.parse(bytes)
            id = request.id
            switch request.command {
            case .show: try reply(envelope, id, .success(show()))
            case .receipt(let decision):
                try reply(envelope, id, .success([.init("receipt", .raw(receipt(decision).text))]))
            case .decide(let verb, let decision):
                let receipts = try decide(verb, decision)
                keeper.decided(store.standing(at: Clock.wallMs()))
                let waitMs = waiting.count < Self.waitingLimit ? decision.waitMs : 0
                waiting.append(
                    Waiting(
                        envelope: envelope, id: id, receipts: receipts,
                        deadlineMs: Clock.monotonicMs() + waitMs))
            }
        } catch let error as WireError {
            try reply(envelope, id, .failure(error))
        } catch let error as StoreError {
            guard case .refused(let refusal) = error else { throw error }
            try reply(envelope, id, .failure(refusal))
        } catch let error as SQLiteError {
            // Nothing was decided, and the gate stays as it is.
            try reply(envelope, id, .failure(WireError(.internalError, error.description, retryable: true)))
        }
    }

    private func decide(_ verb: ConsentVerb, _ decision: ConsentRequest.Decision) throws -> [Receipt] {
        let known = store.configuration.purposes
        if let purpose = decision.purpose, !known.contains(purpose) {
            throw WireError(
                .invalidArgument, "no purpose \(purpose): \(known.joined(separator: ", ")) can be decided on")
        }
        let wall = Clock.wallMs()
        let details = DecisionDetails(
            method: decision.method ?? "unspecified",
            noticeVersion: decision.noticeVersion ?? store.configuration.noticeVersion,
            expiresMs: decision.validForMs.map { wall + $0 })
        return try store.decide(verb, decision.purpose.map { [$0] } ?? known, details, wallMs: wall)
    }

    private func receipt(_ decision: UInt64?) throws -> Receipt {
        guard let found = try decision.map({ try store.receipt($0) }) ?? store.head else {
            let message = decision.map { "there is no decision \($0)" } ?? "nothing was decided yet"
            throw WireError(.invalidArgument, message)
        }
        return found
    }

    /// Answers decisions that have reached the gate, or have waited for long enough.
    private func answer(now: Int64, all: Bool) throws {
        let isApplied = keeper.isSettled
        guard isApplied || all || waiting.contains(where: { $0.deadlineMs <= now }) else { return }
        let due = waiting.filter { isApplied || all || $0.deadlineMs <= now }
        waiting.removeAll { isApplied || all || $0.deadlineMs <= now }
        for each in due {
            let receipts = JSONValue.array(each.receipts.map { .raw($0.text) })
            try reply(each.envelope, each.id, .success(status() + [.init("receipts", receipts)]))
        }
    }

    /// Where consent stands, and whether the gate has followed.
    private func status() -> [JSONValue.Member] {
        var host: [JSONValue.Member] = [.init("attached", .bool(isAttached))]
        if let gate = keeper.gate {
            host += [
                .init("state", .string(gate.state.rawValue)), .init("seq", .uint(gate.seq.raw)),
                .init("launch", .string(gate.launch.raw)),
            ]
        }
        var members: [JSONValue.Member] = [
            .init("consent", .string(keeper.standing.consent.rawValue)),
            .init("applied", .bool(keeper.isSettled)), .init("host", .object(host)),
        ]
        if let other = keeper.overruledBy { members.append(.init("closedBy", .string(other))) }
        if !keeper.isSettled {
            members.append(.init("problem", .string(keeper.problem ?? "no host was seen yet")))
        }
        return members
    }

    private func show() throws -> [JSONValue.Member] {
        let wall = Clock.wallMs()
        let purposes = store.configuration.purposes.map { purpose in
            let receipt = store.latest[purpose]
            var row: [JSONValue.Member] = [
                .init("purpose", .string(purpose)),
                .init("state", .string((receipt?.consent(at: wall) ?? .undecided).rawValue)),
            ]
            if let receipt {
                row.append(.init("decision", .uint(receipt.decision)))
                row.append(.init("time", .string(Timestamp.text(ms: receipt.timeMs))))
            }
            if let expiresMs = receipt?.expiresMs {
                row.append(.init("expires", .string(Timestamp.text(ms: expiresMs))))
            }
            return JSONValue.object(row)
        }
        let verified = try store.verified().count
        return status() + [
            .init("subject", .string(store.configuration.subject)), .init("purposes", .array(purposes)),
            .init("verified", .uint(UInt64(verified))),
        ]
    }

    private func reply(
        _ envelope: [[UInt8]], _ id: String?, _ result: Result<[JSONValue.Member], WireError>
    ) throws {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("v", 1)
        if let id { writer.member("id", JSONValue.raw(id)) }
        switch result {
        case .success(let members):
            writer.member("ok", true)
            for member in members { writer.member(member.name, member.value) }
        case .failure(let error):
            writer.member("ok", false)
            writer.name("error")
            error.write(into: &writer)
        }
        writer.endObject()
        for part in envelope { _ = try socket.socket.send(part, more: true) }
        _ = try socket.socket.send(writer.bytes)
    }
}

/// SIGHUP has no meaning here; without a handler it would end the process like the others.
private let SIGHUP_NUMBER: Int32 = 1

struct ServiceFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}

/// A socket that a class can have.
private final class SocketHolder {
    let socket: Socket
    init(_ socket: consuming Socket) { self.socket = socket }
}
