import Lifecycle
import Wire

// What `stats` answers, and what the host counts for it.
extension Engine {
    public mutating func noteInvalid() { statistics.invalidMessages += 1 }

    /// Connections that passed a bound, or were not let in.
    public mutating func noteCut(_ count: Int) { statistics.connectionsCut += UInt64(count) }

    /// A commit is on disk.
    public mutating func noteCommit(_ cost: CommitCost) {
        statistics.commits += 1
        statistics.commitBytes += cost.byteCount
        statistics.histograms.commitUs.observe(cost.durationUs)
        statistics.histograms.commitBytes.observe(cost.byteCount)
        statistics.histograms.commitEvents.observe(cost.eventCount)
    }

    /// A sync failed: the process ends.
    public mutating func noteSyncFailure() { statistics.syncFailures += 1 }

    /// As of now: told ahead of each `stats`.
    public mutating func note(_ gauges: HostGauges) { self.gauges = gauges }

    func statisticsMembers(now: Now) -> [JSONValue.Member] {
        let members = counters(statistics) + gauges(now: now)
        return [
            .init("stats", .object(members.map { .init($0.0, .uint($0.1)) })),
            .init(
                "histograms",
                .object(statistics.histograms.named.map { .init($0.name, $0.histogram.json) })),
        ]
    }

    /// They only grow while the process lives.
    private func counters(_ counted: Statistics) -> [(String, UInt64)] {
        [
            ("eventsAccepted", counted.eventsAccepted), ("eventsGated", counted.eventsGated),
            ("eventsDiscarded", counted.eventsDiscarded),
            ("eventsDiscardedPolicy", counted.eventsDiscardedPolicy),
            ("eventsDiscardedAged", counted.eventsDiscardedAged),
            ("eventsDiscardedKilled", counted.eventsDiscardedKilled),
            ("eventsDuplicate", counted.eventsDuplicate), ("eventsRefused", counted.eventsRefused),
            ("eventsDelivered", counted.eventsDelivered), ("eventsRedelivered", counted.eventsRedelivered),
            ("eventsRejected", counted.eventsRejected), ("eventsSkipped", counted.eventsSkipped),
            ("blocksAccepted", counted.blocksAccepted), ("blocksRefused", counted.blocksRefused),
            ("bytesAccepted", counted.bytesAccepted), ("deliveries", counted.deliveries),
            ("acks", counted.acks), ("transitions", counted.transitions),
            ("transitionsOperating", counted.transitionsOperating),
            ("transitionsHoldRequested", counted.transitionsHoldRequested),
            ("transitionsOnHold", counted.transitionsOnHold),
            ("transitionsKilled", counted.transitionsKilled),
            ("requests", counted.requests), ("callbackRequests", counted.callbackRequests),
            ("callbackRequestsAnswered", counted.callbackRequestsAnswered),
            ("callbackRequestsFailed", counted.callbackRequestsFailed),
            ("resultsDropped", counted.resultsDropped), ("invalidMessages", counted.invalidMessages),
            ("forbidden", counted.forbidden), ("collectorsEvicted", counted.collectorsEvicted),
            ("connectionsCut", counted.connectionsCut),
            ("pluginRestarts", supervised.values.reduce(0) { $0 + $1.restarts }),
            ("commits", counted.commits), ("commitBytes", counted.commitBytes),
            ("syncFailures", counted.syncFailures), ("storageFull", counted.storageFull),
        ]
    }

    /// They are what is now.
    private func gauges(now: Now) -> [(String, UInt64)] {
        let isDraining = drain != nil && shown.state == .holdRequested
        let lease = shown.lease == nil ? nil : leaseDeadlineMs
        let loops = supervised.values.count { $0.process == .crashLooping }
        return [
            ("stateSinceMs", Self.milliseconds(now.wallMs - shown.sinceWallMs)),
            ("leaseRemainingMs", Self.milliseconds(lease.map { $0 - now.monotonicMs } ?? 0)),
            ("drainTotal", isDraining ? drain?.total ?? 0 : 0), ("drainRemaining", isDraining ? pending : 0),
            ("lastSeq", committed.raw), ("publishedSeq", published.raw), ("queuedBytes", queuedBytes),
            ("queuedEvents", queuedEvents), ("queueAgeMs", queueAgeMs(now: now)),
            ("gatedEvents", gatedEvents), ("deadLetters", UInt64(gauges.deadLetters)),
            ("requestsInFlight", UInt64(requests.count)), ("connections", UInt64(gauges.connections)),
            ("plugins", UInt64(attachments.count)),
            ("pluginsSilent", UInt64(attachments.values.count(where: \.isSilent))),
            ("pluginsCrashLooping", UInt64(loops)), ("durableCollectors", UInt64(durable.count)),
            ("insecure", configuration.access == .insecure ? 1 : 0),
            ("uptimeMs", Self.milliseconds(now.monotonicMs - startedMs)),
        ]
    }

    /// How long the oldest event that somebody still needs has been here.
    private func queueAgeMs(now: Now) -> UInt64 {
        guard queuedEvents > 0, let oldest = meter.oldestMs(after: lastDone(from: doneThrough)) else {
            return 0
        }
        return Self.milliseconds(now.wallMs - oldest)
    }

    /// A clock that was set back makes nothing younger than now.
    private static func milliseconds(_ count: Int64) -> UInt64 { UInt64(max(0, count)) }
}

extension Histogram {
    var json: JSONValue {
        .object([
            .init("bounds", .array(bounds.map { .uint($0) })),
            .init("counts", .array(counts.map { .uint($0) })), .init("sum", .uint(sum)),
        ])
    }
}
