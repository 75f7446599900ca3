import CSodium
import Engine
import Journal
import Ledger
import Lifecycle
import Platform
import Wire

/// Why the host did not start. The message says what is wrong, what is safe, and what to do.
public struct StartError: Error, Hashable, Sendable, CustomStringConvertible {
    public let message: String
    public init(_ message: String) { self.message = message }
    public var description: String { message }
}

/// How a launch begins, if one does.
public struct LaunchOptions: Hashable, Sendable {
    public var isOperating = false
    public var newLaunch = false
    public var restored = false
    public init() {}
}

/// The state, read back. Everything here happens before any socket is bound, on one thread.
public struct Boot {
    public let log: Log
    public let history: History
    public let deadLetters: DeadLetters
    public let internalConfiguration: InternalConfiguration
    public var engine: Engine

    /// Reads the state in `storage` and goes on with its launch, or begins one.
    ///
    /// - Parameter random: 64 random bits at each call.
    public init(
        storage: any Storage, journal: Log.Configuration, engine configuration: EngineConfiguration,
        options: LaunchOptions, now: Now, historyRotateBytes: UInt64 = 64 << 20,
        maxDeadLetters: Int = DeadLetters.limit,
        random: @escaping () -> UInt64
    ) throws(StartError) {
        var recovered = RecoveredHistory()
        let loaded: JSONValue
        do throws(JournalError) {
            log = try Log.open(storage: storage, configuration: journal, random: random)
            history = try History.open(
                storage: storage, rotateBytes: historyRotateBytes, answered: log.ledger.head?.n ?? 0
            ) { (record) throws(FormatFault) in try recovered.apply(record) }
            if !options.restored { try history.verify(journalHead: log.ledger.head) }
            internalConfiguration = InternalConfiguration(storage: storage)
            if recovered.mustPurge { try Self.purge(log, internalConfiguration, storage) }
            deadLetters = try DeadLetters.open(
                storage: storage, producers: log.ledger.producers, limit: maxDeadLetters)
            loaded = try internalConfiguration.load() ?? .object([])
        } catch {
            throw StartError(Self.explain(error))
        }
        let start = try Self.lifecycle(recovered, log, history, options, now, random)
        let meter = configuration.gatedMaxAgeMs > 0 ? try Self.exactMeter(of: log) : Self.meter(of: log)
        let replies: RememberedReplies
        do throws(WireError) {
            replies = try RememberedReplies(
                start.isNew ? [] : recovered.replies, limit: configuration.rememberedReplies)
        } catch {
            throw StartError(
                Self.explain(
                    .damaged(file: "the history", what: "a remembered reply can't be read: \(error)")))
        }
        engine = Engine(
            Recovered(
                lifecycle: start.lifecycle, ledger: log.ledger,
                recordedThrough: max(recovered.through, start.lastState.through),
                discardedThrough: recovered.discardedThrough, dropped: recovered.dropped,
                lastState: start.lastState.body,
                replies: replies, meter: meter, configuration: loaded),
            configuration: configuration, run: Self.name(random), now: now)
    }

    private static func purge(
        _ log: Log, _ configuration: InternalConfiguration, _ storage: any Storage
    ) throws(JournalError) {
        try configuration.erase()
        try DeadLetters.open(storage: storage, producers: log.ledger.producers).purge()
        try log.purge()
    }

    private struct Start {
        struct State {
            let body: StateBody
            let through: JournalSeq
        }
        let lifecycle: Lifecycle
        let lastState: State
        let isNew: Bool
    }

    private static func lifecycle(
        _ recovered: RecoveredHistory, _ log: Log, _ history: History, _ options: LaunchOptions, _ now: Now,
        _ random: () -> UInt64
    ) throws(StartError) -> Start {
        if let lifecycle = recovered.lifecycle, let last = recovered.last, !recovered.isEnded,
            !options.newLaunch,
            !options.restored
        {
            return Start(
                lifecycle: lifecycle,
                lastState: Start.State(body: StateBody(last), through: last.transition.through), isNew: false)
        }
        let lastSeq = max(log.ledger.lastSeq, recovered.through)
        let released = recovered.releasedThrough(lastAccepted: lastSeq)
        let isOperating = options.isOperating && !options.restored
        let queued = lastSeq.raw - min(log.ledger.doneThrough, released).raw
        guard !isOperating || queued == 0 || recovered.mustPurge else {
            throw StartError(
                "a launch can't begin in `operating` while \(queued) events of the last one are queued: begin it with "
                    + "--holding, and send startOperation when they may leave")
        }
        let (lifecycle, transition) = Lifecycle.begin(
            launch: LaunchID(high: random(), low: random()),
            cause: isOperating ? .initialize : .initializeWithHoldingOperations, through: lastSeq,
            releasedThrough: released, wallMs: now.wallMs)
        var record = Record(beginning: lifecycle, transition)
        record.facts.releasedThrough = released
        if options.restored { record.reason = "restored" }
        do throws(JournalError) {
            let head = try history.append([HistoryDraft(record)])
            try log.commit([.entry(.head(head))], doneThrough: .zero)
        } catch {
            throw StartError(explain(error))
        }
        let body = StateBody(
            state: transition.state, previous: nil, command: transition.cause.rawValue, reason: record.reason,
            wallMs: transition.wallMs, pending: 0)
        return Start(lifecycle: lifecycle, lastState: Start.State(body: body, through: lastSeq), isNew: true)
    }

    /// Block by block: what is to be aged out needs times that are exact.
    private static func exactMeter(of log: Log) throws(StartError) -> QueueMeter {
        guard let first = log.segments.first else { return QueueMeter(startBytes: log.ledger.keptBytes) }
        var meter = QueueMeter(startBytes: first.keptBytesBefore)
        let reader = log.reader()
        let buffer = ReadBuffer()
        var next = first.firstSeq
        while true {
            let slices: [BlockSlice]
            do throws(LogReadError) {
                slices = try reader.read(
                    from: next, through: log.ledger.lastSeq, budgetBytes: 1 << 20, into: buffer)
            } catch {
                throw StartError("the journal could not be read: \(error)")
            }
            guard let last = slices.last else { return meter }
            for slice in slices {
                let bytes = slice.stamp.kept ? UInt64(slice.stamp.byteCount) : 0
                meter.add(last: slice.stamp.range.last, bytes: bytes, arrivalMs: slice.stamp.arrivalMs)
            }
            next = last.stamp.range.last.next
        }
    }

    /// One bucket a segment.
    private static func meter(of log: Log) -> QueueMeter {
        let facts = log.segments
        var buckets: [QueueMeter.Bucket] = []
        for (index, segment) in facts.enumerated() {
            let isLast = index + 1 == facts.count
            let last = isLast ? log.ledger.lastSeq : JournalSeq(facts[index + 1].firstSeq.raw - 1)
            guard last >= segment.firstSeq, let arrival = segment.firstArrivalMs else { continue }
            let end = isLast ? log.ledger.keptBytes : facts[index + 1].keptBytesBefore
            buckets.append(QueueMeter.Bucket(last: last, endBytes: end, oldestMs: arrival))
        }
        return QueueMeter(startBytes: facts.first?.keptBytesBefore ?? log.ledger.keptBytes, buckets: buckets)
    }

    private static func name(_ random: () -> UInt64) -> String {
        let digits = String(random(), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func explain(_ error: JournalError) -> String {
        switch error {
        case .damaged:
            """
            the state is damaged: \(error)
            Nothing was opened, and nothing has left. Everything else in the directory is as it was.
            \(StartError.damageAdvice)
            """
        case .full: "the disk is full: make room in the state directory's file system, and start again"
        case .syncFailed, .storage, .unknownVersion: "\(error)"
        }
    }

    /// 64 bits from libsodium.
    public static func systemRandom() -> UInt64 {
        var value: UInt64 = 0
        withUnsafeMutableBytes(of: &value) {
            if let base = $0.baseAddress { randombytes_buf(base, $0.count) }
        }
        return value
    }
}

extension StateBody {
    init(_ last: RecordedTransition) {
        self.init(
            state: last.transition.state, previous: last.transition.previous,
            command: last.transition.cause.rawValue,
            source: last.source, reason: last.reason, wallMs: last.transition.wallMs, pending: last.pending,
            undelivered: last.undelivered)
    }
}

extension Record {
    /// A launch's beginning.
    public init(beginning lifecycle: Lifecycle, _ transition: Transition) {
        self.init(
            wallMs: transition.wallMs, launch: lifecycle.launch, seq: transition.seq, state: transition.state,
            previous: nil, command: transition.cause.rawValue, through: transition.through, source: nil,
            reason: nil)
    }
}
