import Lifecycle
import Wire

// The commands by name, asynchronous. `performBlocking` takes the same ones as `Command`s.
extension Holdgate {
    /// The gate's state, and what waits.
    public func state() async throws(HoldgateError) -> HostReport { try await perform(.state) }

    /// Whether events flow: the state is `operating`.
    public var isOperating: Bool {
        get async throws(HoldgateError) {
            try await perform(.raw(ControlRequest(.isOperating))).status.state.isOperating
        }
    }

    /// Every change of the state from now on, the present one first, once each and in order. Take it once.
    public func stateChanges() throws(HoldgateError) -> AsyncStream<StateChange> {
        var endpoints = Endpoints()
        endpoints.control = connection.endpoint
        endpoints.stream = stream
        return try StateSubscription(endpoints: endpoints).changes
    }

    /// Opens the gate; from `onHold` a full restart, in which the queue flows in order.
    ///
    /// - Parameters:
    ///   - lease: the host closes the gate itself unless another start comes within this time.
    ///   - key: makes the command idempotent across calls; each call has a random one otherwise.
    ///   - expect: what must hold, or the answer is `conflict` and nothing happens.
    @discardableResult
    public func startOperation(
        lease: Duration? = nil, reason: String? = nil, key: String? = nil, expect: Expectation? = nil
    ) async throws(HoldgateError) -> LifecycleAnswer {
        try await perform(.startOperation(lease: lease).with(reason: reason, key: key, expect: expect))
    }

    /// Closes the gate; what was accepted before is still delivered.
    ///
    /// - Parameters:
    ///   - wait: answer once that is drained; after this time `timeout` is thrown, and the hold stands.
    ///   - gatedEvents: what becomes of events during this hold.
    @discardableResult
    public func holdOperation(
        wait: Duration? = nil, gatedEvents: GatedPolicy? = nil, reason: String? = nil, key: String? = nil,
        expect: Expectation? = nil
    ) async throws(HoldgateError) -> LifecycleAnswer {
        try await perform(
            .holdOperation(wait: wait, gatedEvents: gatedEvents).with(
                reason: reason, key: key, expect: expect))
    }

    /// Closes the gate until a new launch, and discards all events, cursors and the configuration. Can't be
    /// undone.
    @discardableResult
    public func kill(
        reason: String? = nil, key: String? = nil, expect: Expectation? = nil
    ) async throws(HoldgateError) -> LifecycleAnswer {
        try await perform(.kill.with(reason: reason, key: key, expect: expect))
    }

    /// Ends the launch and stops the host; with `restart` it begins the next launch at once in its place.
    @discardableResult
    public func endLaunch(
        restart: Bool = false, reason: String? = nil, expect: Expectation? = nil
    ) async throws(HoldgateError) -> Answer {
        try await perform(.endLaunch(restart: restart).with(reason: reason, expect: expect))
    }

    /// An app came to the foreground, or left it. Told at once while operating, and by the next start
    /// otherwise; refused when killed.
    ///
    /// Reports count in the order in which the host reads them: wait for one of an app before the next. It is sent
    /// once. After `noAnswer` it may have been taken, or be taken yet: report what is true by then.
    public func report(app: String, _ phase: AppPhase) async throws(HoldgateError) {
        _ = try await perform(.report(app: app, phase))
    }

    /// Asks the provider of a service; docs/services.md names those that have methods of their own.
    public func request(
        _ service: String, arguments: JSONValue = .object([])
    ) async throws(HoldgateError) -> JSONValue {
        try await perform(.request(service, arguments: arguments, timeout: timeout))
    }

    /// Records with a number above `after`, oldest first, at most `limit` (1 to 1,000).
    public func history(
        after: UInt64 = 0, limit: Int = 100
    ) async throws(HoldgateError) -> [HistoryRecord] {
        try await perform(.history(after: after, limit: limit))
    }

    /// The newest records, oldest of them first; on the calling thread, which waits.
    ///
    /// - Parameter limit: 1 to 1,000.
    public func latestHistoryBlocking(limit: Int = 500) throws(HoldgateError) -> [HistoryRecord] {
        let page: HistoryWalk.Page = { after, limit throws(HoldgateError) in
            try performBlocking(.history(after: after, limit: limit))
        }
        let end = try HistoryWalk.end(page)
        return try page(end > UInt64(limit) ? end - UInt64(limit) : 0, limit)
    }

    /// One object a plugin: name, version, roles, cursor, lag, window, state.
    public func plugins() async throws(HoldgateError) -> [JSONValue] { try await perform(.plugins) }

    /// A durable collector is no longer waited or kept for.
    public func forget(_ name: String) async throws(HoldgateError) { _ = try await perform(.forget(name)) }

    /// Applies an RFC 7396 merge patch (JSON text of an object) and returns the new configuration.
    @discardableResult
    public func configure(_ patch: String) async throws(HoldgateError) -> JSONValue {
        try await perform(.configure(patch))
    }

    /// The internal configuration; `{}` when killed.
    public func configuration() async throws(HoldgateError) -> JSONValue { try await perform(.configuration) }

    /// Rejected events and why, those with a seq above `after`.
    public func deadLetters(
        after: UInt64 = 0, limit: Int = 100
    ) async throws(HoldgateError) -> [JSONValue] {
        try await perform(.deadLetters(after: after, limit: limit))
    }

    /// Dead letters go to the queue's end again.
    @discardableResult
    public func requeue(_ seqs: [UInt64]) async throws(HoldgateError) -> Answer {
        try await perform(.requeue(seqs))
    }

    /// Counters and gauges, an object.
    public func stats() async throws(HoldgateError) -> JSONValue { try await perform(.stats) }

    /// Whether a host answers.
    public func ping() async throws(HoldgateError) { _ = try await perform(.ping) }
}
