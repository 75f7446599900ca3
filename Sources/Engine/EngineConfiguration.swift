import Lifecycle

/// What a peer must prove to be let in. The raw value is the name on the wire.
public enum HostAccess: String, Hashable, Sendable, CaseIterable {
    /// Nothing; but it must be on this machine.
    case local
    /// A key, or on an `ipc` path whose process it is.
    case keys
    /// Nothing, wherever it is.
    case insecure
}

/// What an operator may set of the engine. Durations are milliseconds; 0 switches a bound off where it says so.
public struct EngineConfiguration: Hashable, Sendable {
    /// Shown by `state` and `stats`, and nothing else here: what peers must prove.
    public var access = HostAccess.local
    /// How long a drain may take before it is ended with events undelivered; 0: for ever.
    public var drainTimeoutMs: Int64 = 30_000
    /// What happens to events while the gate is closed, unless the hold names another policy.
    public var gatedEvents: GatedPolicy = .queue
    /// How long a gated event is kept; 0: until it is released.
    public var gatedMaxAgeMs: Int64 = 0
    /// Bytes of events kept for collectors before producers are told `overloaded`.
    public var queueLimitBytes: UInt64 = 1 << 30
    /// Collectors that are durable from the start, whether they ever said hello or not.
    public var collectors: [String] = []
    /// A durable collector that lags further is evicted; 0: never.
    public var collectorMaxLagBytes: UInt64 = 0
    /// A durable collector whose oldest event is older is evicted; 0: never.
    public var collectorMaxLagMs: Int64 = 0
    public var heartbeatMs: Int64 = 1000
    public var maxPlugins = 256
    /// Callback requests in flight with one provider, beyond which it gets no more.
    public var maxRequestsPerProvider = 64
    public var rememberedProducers = 10_000
    public var rememberedReplies = 1024
    /// The internal configuration's size as JSON.
    public var maxConfigurationBytes = 1 << 20

    /// The largest window that a collector may have; larger wishes are cut to it.
    public var maxWindowBytes = 64 << 20
    /// Deliveries in flight to one collector: stays below the socket's high-water mark.
    public var maxWindowMessages = 500
    /// The budget of one delivery.
    public var deliverBytes = 256 << 10
    /// How long a late joiner waits for its snapshot, so that several share one.
    public var snapshotDelayMs: Int64 = 10
    /// How often a write that found the disk full is tried again.
    public var retryMs: Int64 = 1000
    /// The least time between two progress messages of a drain.
    public var drainProgressMs: Int64 = 100
    /// The least time between two records of one discard reason.
    public var discardRecordMs: Int64 = 60_000
    /// When a launch that was never started is warned of, and how often after that.
    public var heldWarningMs: Int64 = 600_000
    public var heldWarningRepeatMs: Int64 = 3_600_000

    public init() {}
}
