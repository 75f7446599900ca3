import HoldgateClient

/// A host's state, counters and plugins as metrics.
struct HostMetrics: Sendable {
    /// The replies to `state`, `stats` and `plugins`.
    let report: HostReport
    let stats: JSONValue
    let histograms: JSONValue?
    let plugins: [JSONValue]

    /// What is read in one go.
    static func read(_ holdgate: Holdgate) throws(HoldgateError) -> HostMetrics {
        let answer = try holdgate.performBlocking(.raw(ControlRequest(.stats)))
        return HostMetrics(
            report: try holdgate.performBlocking(.state), stats: answer.value["stats"] ?? .object([]),
            histograms: answer.value["histograms"], plugins: try holdgate.performBlocking(.plugins))
    }

    func add(to metrics: inout Metrics) {
        addGate(to: &metrics)
        addEvents(to: &metrics)
        addQueue(to: &metrics)
        addJournal(to: &metrics)
        addPlugins(to: &metrics)
        addRequests(to: &metrics)
    }

    private func value(_ name: String) -> Double? { stats[name]?.asDouble }
    private func seconds(_ name: String) -> Double? { value(name).map { $0 / 1000 } }

    /// One sample a label's value; those that the host doesn't know are left out.
    private func samples(_ label: String, _ names: [(String, String)]) -> [Metrics.Sample] {
        names.compactMap { shown, name in
            value(name).map { Metrics.Sample(labels: [Metrics.Label(label, shown)], value: $0) }
        }
    }

    private func addGate(to metrics: inout Metrics) {
        let access = report.answer.value["access"]?.asString ?? ""
        metrics.add(
            "holdgate", .info, "The launch of the host, and what its peers must prove",
            [
                Metrics.Sample(
                    labels: [
                        Metrics.Label("launch", report.status.launch.raw), Metrics.Label("access", access),
                    ], value: 1)
            ])
        metrics.add(
            "holdgate_gate_state", .gauge, "1 for the state that the gate is in",
            LifecycleState.allCases.map { state in
                Metrics.Sample(
                    labels: [Metrics.Label("state", state.rawValue)],
                    value: state == report.status.state ? 1 : 0)
            })
        metrics.add(
            "holdgate_gate_state_age_seconds", .gauge, "Since when the gate is in its state",
            seconds("stateSinceMs"))
        metrics.add(
            "holdgate_gate_transitions", .counter, "Changes of the state, by the state that they led to",
            samples(
                "state",
                [
                    ("operating", "transitionsOperating"), ("holdRequested", "transitionsHoldRequested"),
                    ("onHold", "transitionsOnHold"), ("killed", "transitionsKilled"),
                ]))
        metrics.add(
            "holdgate_gate_lease_remaining_seconds", .gauge,
            "Until the gate closes by itself; 0 without a lease", seconds("leaseRemainingMs"))
        metrics.add(
            "holdgate_drain_events", .gauge, "Events that the present drain began with", value("drainTotal"))
        metrics.add(
            "holdgate_drain_remaining_events", .gauge, "Those of them that are not done yet",
            value("drainRemaining"))
        add("drainMs", "holdgate_drain_duration_seconds", "How long drains took", 0.001, to: &metrics)
        metrics.add("holdgate_uptime_seconds", .gauge, "Since the host's process began", seconds("uptimeMs"))
    }

    private func addEvents(to metrics: inout Metrics) {
        let counters: [(String, String, String)] = [
            ("accepted", "eventsAccepted", "Events taken, gated ones included"),
            ("gated", "eventsGated", "Events taken while the gate was closed"),
            ("duplicate", "eventsDuplicate", "Events of batches that had been taken before"),
            ("delivered", "eventsDelivered", "Events handed to collectors, each collector's counted"),
            ("redelivered", "eventsRedelivered", "Those of them that were handed over again"),
            ("rejected", "eventsRejected", "Events that a collector will never take"),
            ("skipped", "eventsSkipped", "Events that a passing collector was too slow for"),
        ]
        for (name, member, help) in counters {
            metrics.add("holdgate_events_\(name)", .counter, help, value(member))
        }
        let reasons =
            stats.asMembers?.filter { $0.name.hasPrefix("eventsDiscarded") && $0.name.count > 15 } ?? []
        metrics.add(
            "holdgate_events_discarded", .counter, "Events dropped, by why",
            reasons.compactMap { member in
                member.value.asDouble.map {
                    let reason = member.name.dropFirst(15).lowercased()
                    return Metrics.Sample(labels: [Metrics.Label("reason", reason)], value: $0)
                }
            })
        metrics.add(
            "holdgate_blocks", .counter, "Messages with events, by what became of them",
            samples("outcome", [("accepted", "blocksAccepted"), ("refused", "blocksRefused")]))
        metrics.add("holdgate_accepted_bytes", .counter, "Bytes of events taken", value("bytesAccepted"))
    }

    private func addQueue(to metrics: inout Metrics) {
        metrics.add(
            "holdgate_queue_events", .gauge,
            "Events that somebody still has to take, or that wait for a start",
            value("queuedEvents"))
        metrics.add("holdgate_queue_bytes", .gauge, "Their bytes", value("queuedBytes"))
        metrics.add(
            "holdgate_queue_oldest_age_seconds", .gauge, "How long the oldest of them waits",
            seconds("queueAgeMs"))
        metrics.add("holdgate_gated_events", .gauge, "Events that wait for a start", Double(report.gated))
        metrics.add("holdgate_dead_letters", .gauge, "Rejected events that are kept", value("deadLetters"))
    }

    private func addJournal(to metrics: inout Metrics) {
        add(
            "commitUs", "holdgate_commit_duration_seconds", "Writing and syncing one commit", 1e-6,
            to: &metrics)
        add("commitBytes", "holdgate_commit_size_bytes", "Bytes of a commit", 1, to: &metrics)
        add("commitEvents", "holdgate_commit_events", "Events of a commit", 1, to: &metrics)
        metrics.add(
            "holdgate_sync_failures", .counter, "Syncs that failed: each ends the host", value("syncFailures")
        )
        metrics.add(
            "holdgate_storage_full", .counter, "Writes that found the disk full", value("storageFull"))
    }

    private func add(
        _ member: String, _ name: String, _ help: String, _ scale: Double, to metrics: inout Metrics
    ) {
        guard let histogram = histograms?[member], let bounds = histogram["bounds"]?.asArray,
            let counts = histogram["counts"]?.asArray, let sum = histogram["sum"]?.asUInt64
        else { return }
        metrics.addHistogram(
            name, help, bounds: bounds.compactMap(\.asUInt64), counts: counts.compactMap(\.asUInt64),
            sum: sum,
            scale: scale)
    }

    private func addPlugins(to metrics: inout Metrics) {
        func rows(_ value: (JSONValue) -> Double?) -> [Metrics.Sample] {
            plugins.compactMap { row in
                guard let name = row["name"]?.asString, let value = value(row) else { return nil }
                return Metrics.Sample(labels: [Metrics.Label("plugin", name)], value: value)
            }
        }
        metrics.add(
            "holdgate_plugin_attached", .gauge, "1 for a plugin that is attached and heard",
            rows { $0["state"]?.asString == "attached" ? 1 : 0 })
        metrics.add(
            "holdgate_plugin_restarts", .counter, "Restarts of a plugin that the host starts",
            rows { $0["restarts"]?.asDouble })
        metrics.add(
            "holdgate_plugin_crash_looping", .gauge, "1 for a plugin that the host has given up",
            rows { row in row["process"]?.asString.map { $0 == "crashLooping" ? 1 : 0 } })
        metrics.add(
            "holdgate_collector_lag_events", .gauge, "Events that a collector has not taken yet",
            rows { $0["lagEvents"]?.asDouble })
        metrics.add(
            "holdgate_collector_lag_bytes", .gauge, "Their bytes", rows { $0["lagBytes"]?.asDouble })
        metrics.add(
            "holdgate_collector_lag_seconds", .gauge, "How long the oldest of them waits",
            rows { $0["lagMs"]?.asDouble.map { $0 / 1000 } })
        metrics.add(
            "holdgate_collector_in_flight_bytes", .gauge, "Bytes handed over and not acknowledged",
            rows { $0["window"]?["inFlightBytes"]?.asDouble })
    }

    private func addRequests(to metrics: inout Metrics) {
        metrics.add("holdgate_control_requests", .counter, "Requests on control", value("requests"))
        metrics.add(
            "holdgate_callback_requests", .counter, "Callback requests, by what became of them",
            samples(
                "outcome", [("answered", "callbackRequestsAnswered"), ("failed", "callbackRequestsFailed")]))
        metrics.add(
            "holdgate_callback_requests_in_flight", .gauge, "Callback requests that a provider has",
            value("requestsInFlight"))
        metrics.add(
            "holdgate_forbidden", .counter, "Messages that their senders have no role for", value("forbidden")
        )
        metrics.add(
            "holdgate_invalid_messages", .counter, "Messages that could not be read", value("invalidMessages")
        )
        metrics.add(
            "holdgate_connections_cut", .counter, "Connections that passed a bound", value("connectionsCut"))
    }
}
