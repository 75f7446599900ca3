import Platform

/// What the gateway counts of its own requests.
final class HTTPMetrics: Sendable {
    private struct Key: Hashable {
        let route: String
        let status: Int
    }

    private struct State {
        var requests: [Key: UInt64] = [:]
        var counts = [UInt64](repeating: 0, count: boundsUs.count + 1)
        var sumUs: UInt64 = 0
    }

    private static let boundsUs: [UInt64] = [
        500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
        5_000_000, 10_000_000,
    ]

    private let state = Locked(State())

    /// - Parameters:
    ///   - route: one of few: a path that isn't served has none of its own.
    ///   - status: 0: the connection ended before the answer.
    func finished(_ route: String, status: Int, microseconds: Int64) {
        let us = UInt64(max(0, microseconds))
        let bucket = Self.boundsUs.firstIndex { us <= $0 } ?? Self.boundsUs.count
        state.withLock { state in
            state.requests[Key(route: route, status: status), default: 0] += 1
            // A stream lasts as long as its client likes.
            guard route != "/v1/stream" else { return }
            state.counts[bucket] += 1
            state.sumUs += us
        }
    }

    func add(to metrics: inout Metrics, connections: Int, streams: Int) {
        let state = state.withLock { $0 }
        let requests = state.requests.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }
        metrics.add(
            "holdgate_http_requests", .counter, "Requests answered, by path and status",
            requests.map { key, count in
                Metrics.Sample(
                    labels: [
                        Metrics.Label("path", key.route), Metrics.Label("status", String(key.status)),
                    ],
                    value: Double(count))
            })
        metrics.addHistogram(
            "holdgate_http_request_duration_seconds", "From a request's head to the end of its answer",
            bounds: Self.boundsUs, counts: state.counts, sum: state.sumUs, scale: 1e-6)
        metrics.add("holdgate_http_connections", .gauge, "Open connections", Double(connections))
        metrics.add("holdgate_http_streams", .gauge, "Clients of /v1/stream", Double(streams))
    }
}
