import Engine
import Platform
import ZeroMQ

// What a peer can't pass: one that tries is cut, and nobody else.
extension Reactor {
    private var watches: [(endpoint: String, watch: ConnectionWatch)] {
        [
            ("control", sockets.callers.controlWatch), ("ingest", sockets.callers.ingestWatch),
            ("plugin", sockets.peers.pluginWatch), ("stream", sockets.peers.streamWatch),
        ]
    }

    /// When unread bytes are looked at next.
    var connectionsDueMs: Int64 {
        let callers = min(sockets.callers.controlWatch.dueMs, sockets.callers.ingestWatch.dueMs)
        return min(callers, sockets.peers.pluginWatch.dueMs, sockets.peers.streamWatch.dueMs)
    }

    /// What the engine shows and does not know by itself.
    var gauges: HostGauges {
        HostGauges(
            connections: watches.reduce(0) { $0 + $1.watch.count }, deadLetters: journal.deadLetterCount)
    }

    /// Who came and went; not to `plugin`, where `probe` asks.
    func watchConnections() throws(ZeroMQError) {
        if sockets.isReadable(.controlWatch) { _ = try sockets.callers.controlWatch.take() }
        if sockets.isReadable(.ingestWatch) { _ = try sockets.callers.ingestWatch.take() }
        if sockets.isReadable(.streamWatch) { _ = try sockets.peers.streamWatch.take() }
        let nowMs = Clock.monotonicMs()
        if nowMs >= connectionsDueMs {
            for (_, watch) in watches { watch.check(nowMs: nowMs) }
        }
        for (endpoint, watch) in watches where watch.hasCut { noteCut(watch.takeCut(), endpoint) }
    }

    private func noteCut(
        _ cut: [(origin: Connection.Origin, reason: Connections.Reason)], _ endpoint: String
    ) {
        engine.noteCut(cut.count)
        for (origin, reason) in cut {
            log.log(
                .warning, "a connection was cut",
                [
                    .init("endpoint", .string(endpoint)), .init("peer", .string(origin.description)),
                    .init("reason", .string(reason.rawValue)),
                ])
        }
    }
}
