import Engine
import Wire

extension Configuration {
    /// Everything that the file and the environment may set. The flags that set nothing in here are `Switch`.
    public static let keys: [Key] =
        endpointKeys + gateKeys + collectorKeys + limitKeys + storageKeys + timingKeys

    /// The key of this name.
    public static func key(_ name: String) -> Key? { keys.first { $0.name == name } }

    private static let yearMs: Int64 = 31_536_000_000
    private static let petabyte: Int64 = 1 << 50

    private static let endpointKeys = [
        addresses("control", \.control, "Where commands and queries are answered."),
        addresses("stream", \.stream, "Where state changes and live events are published."),
        addresses("ingest", \.ingest, "Where producers send events."),
        addresses("plugin", \.plugin, "Where collectors and providers attach."),
    ]

    private static let gateKeys = [
        number(
            "drainTimeoutMs", \.engine.drainTimeoutMs, 0...yearMs,
            "How long a drain may take before it is ended with events undelivered; 0: for ever."),
        choice(
            "gatedEvents", \.engine.gatedEvents,
            "What happens to events while the gate is closed, unless the hold names another policy."),
        number(
            "gatedMaxAgeMs", \.engine.gatedMaxAgeMs, 0...yearMs,
            "How long a gated event is kept; 0: until it is released."),
        number(
            "queueLimitBytes", \.engine.queueLimitBytes, 1024...petabyte,
            "Bytes of events kept for collectors before producers are told to wait."),
    ]

    private static let collectorKeys = [
        names(
            "collectors", \.engine.collectors, limit: 1024,
            "Collectors that events are kept for from the start, whether they ever attached or not."),
        number(
            "collectorMaxLagBytes", \.engine.collectorMaxLagBytes, 0...petabyte,
            "A durable collector that lags further is evicted; 0: never."),
        number(
            "collectorMaxLagMs", \.engine.collectorMaxLagMs, 0...yearMs,
            "A durable collector whose oldest event is older is evicted; 0: never."),
        number(
            "maxWindowBytes", \.engine.maxWindowBytes, 1...1 << 30,
            "The most bytes in flight to one collector; larger wishes are cut to it."),
        number(
            "maxWindowMessages", \.engine.maxWindowMessages, 1...900,
            "The most deliveries in flight to one collector."),
        number("deliverBytes", \.engine.deliverBytes, 1...64 << 20, "The size that one delivery aims at."),
    ]

    private static let limitKeys = [
        number("maxFrameBytes", \.wireLimits.maxFrameBytes, 1024...256 << 20, "The largest frame."),
        number(
            "maxMessageBytes", \.wireLimits.maxMessageBytes, 1024...256 << 20,
            "The largest message, over all frames."),
        number("maxFrames", \.wireLimits.maxFrames, 2...65_536, "The most frames in a message."),
        number(
            "maxEventsPerMessage", \.wireLimits.maxEventsPerMessage, 1...1_048_576,
            "The most events in a message."),
        number("maxEventBytes", \.wireLimits.maxEventBytes, 64...64 << 20, "The largest event."),
        number("maxNesting", \.wireLimits.maxNesting, 4...256, "How deep JSON may be nested."),
        number("maxEventTypeBytes", \.wireLimits.maxEventTypeBytes, 1...1024, "The longest event type."),
        number(
            "maxConfigurationBytes", \.maxConfigurationBytes, 2...64 << 20,
            "The largest internal configuration, as JSON."),
        number(
            "maxConnections", \.maxConnections, 1...100_000,
            "The most connections of an endpoint; half the descriptors the process may have stay free."),
        number(
            "maxConnectionsPerPeer", \.maxConnectionsPerPeer, 1...100_000,
            "The most connections of an endpoint from one address, or of one user on a path."),
        number("maxPlugins", \.engine.maxPlugins, 1...10_000, "The most plugins attached at a time."),
        number(
            "maxRequestsPerProvider", \.engine.maxRequestsPerProvider, 1...1000,
            "Callback requests in flight with one provider; more are answered overloaded."),
        number(
            "rememberedProducers", \.engine.rememberedProducers, 1...262_144,
            "Producers whose last batch is known; the least recent is forgotten."),
        number(
            "rememberedReplies", \.engine.rememberedReplies, 1...100_000,
            "Replies to commands with a key that can be given again."),
        number("maxDeadLetters", \.maxDeadLetters, 1...1_000_000, "Rejected events kept; the oldest goes."),
    ]

    private static let storageKeys = [
        Key(
            name: "stateDir", kind: .directory, flag: "--state-dir",
            help: "The directory of the journal, the history and the internal configuration.",
            get: { .string($0.stateDir) },
            set: { $0.stateDir = expect($1.asString) }),
        file(
            "authorizedKeys", \.authorizedKeys,
            "Whose keys are let in; none: keys/authorized_keys in the state directory, if it is there."),
        file("hostKeyFile", \.hostKeyFile, "The host's own key; none: keys/host.key in the state directory."),
        Key(
            name: "plugins", kind: .optionalDirectory, flag: "--plugins",
            help:
                "The folder of plugins that the host starts itself, each with a plugin.json.",
            get: { .string($0.plugins) },
            set: { $0.plugins = expect($1.asString) }),
        number(
            "segmentBytes", \.segmentBytes, 1 << 20...1 << 30, multipleOf: 4096,
            "The size of the journal's files; at least four times maxMessageBytes."),
        number(
            "eraseAfterMs", \.eraseAfterMs, 1000...yearMs,
            "When the bytes of delivered events are overwritten at the latest."),
    ]

    private static let timingKeys = [
        number(
            "heartbeatMs", \.engine.heartbeatMs, 10...60_000,
            "How often heartbeats are sent; three missing ones are reported."),
        number(
            "snapshotDelayMs", \.engine.snapshotDelayMs, 0...10_000,
            "How long a late joiner waits for its snapshot, so that several share one."),
        number(
            "retryMs", \.engine.retryMs, 10...60_000,
            "How often a write that found the disk full is tried again."),
        number(
            "drainProgressMs", \.engine.drainProgressMs, 100...60_000,
            "The least time between two messages of a drain's progress."),
        number(
            "discardRecordMs", \.engine.discardRecordMs, 1000...yearMs,
            "The least time between two history records of one reason to discard events."),
        number(
            "heldWarningMs", \.engine.heldWarningMs, 1000...yearMs,
            "When a launch that was never started is warned of."),
        number(
            "heldWarningRepeatMs", \.engine.heldWarningRepeatMs, 1000...yearMs,
            "How often it is warned of after that."),
        number("ioThreads", \.ioThreads, 1...16, "Threads of libzmq's own."),
        choice("logLevel", \.logLevel, flag: "--log-level", "Lines below this level aren't written."),
        choice(
            "logFormat", \.logFormat, flag: "--log-format",
            "The log, a line a record on stderr: text for people (message key=value), or json for programs."),
    ]

    // MARK: Rows

    private static func number<Number: FixedWidthInteger & SendableMetatype>(
        _ name: String, _ path: WritableKeyPath<Configuration, Number> & Sendable,
        _ range: ClosedRange<Int64>,
        multipleOf step: Int64 = 1, _ help: String
    ) -> Key {
        Key(
            name: name, kind: .number(range, multipleOf: step), flag: nil, help: help,
            // A program's own value may be past Int64: it reads as out of range then, as it should.
            get: { .int(Int64(clamping: $0[keyPath: path])) },
            set: { $0[keyPath: path] = Number(expect($1.asInt64)) })
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _ name: String, _ path: WritableKeyPath<Configuration, Choice> & Sendable, flag: String? = nil,
        _ help: String
    ) -> Key {
        Key(
            name: name, kind: .choice(Choice.allCases.map(\.rawValue)), flag: flag, help: help,
            get: { .string($0[keyPath: path].rawValue) },
            set: { $0[keyPath: path] = expect($1.asString.flatMap { Choice(rawValue: $0) }) })
    }

    private static func file(
        _ name: String, _ path: WritableKeyPath<Configuration, String> & Sendable, _ help: String
    ) -> Key {
        Key(
            name: name, kind: .optionalFile, flag: nil, help: help, get: { .string($0[keyPath: path]) },
            set: { $0[keyPath: path] = expect($1.asString) })
    }

    private static func addresses(
        _ name: String, _ path: WritableKeyPath<Configuration, [String]> & Sendable, _ help: String
    ) -> Key {
        strings(name, .addresses, flag: "--" + name, path, help)
    }

    private static func names(
        _ name: String, _ path: WritableKeyPath<Configuration, [String]> & Sendable, limit: Int,
        _ help: String
    ) -> Key {
        strings(name, .names(limit: limit), flag: nil, path, help)
    }

    private static func strings(
        _ name: String, _ kind: Kind, flag: String?,
        _ path: WritableKeyPath<Configuration, [String]> & Sendable, _ help: String
    ) -> Key {
        Key(
            name: name, kind: kind, flag: flag, help: help,
            get: { .array($0[keyPath: path].map { .string($0) }) },
            set: { $0[keyPath: path] = expect($1.asArray).map { expect($0.asString) } })
    }

    private static func expect<Value>(_ value: Value?) -> Value {
        guard let value else { preconditionFailure("a value was set that its kind hasn't read") }
        return value
    }
}
