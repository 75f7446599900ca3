import Platform
import ZeroMQ

/// Keeps the connections of one socket within their bounds.
///
/// libzmq has no call to end one connection. But it tells which descriptor a connection has, and a process may shut any
/// of its own descriptors down: libzmq then finds that the peer is gone. One peer is cut, and no other.
final class ConnectionWatch {
    let monitor: SocketMonitor
    private var connections: Connections
    private var anyWent = false
    private var sweptAtMs: Int64 = 0
    private var checkAtMs: Int64 = 0
    /// Those that were cut since they were last asked for.
    private var cut: [(origin: Connection.Origin, reason: Connections.Reason)] = []

    private static let eventsPerTurn = 1024
    private static let sweepMs: Int64 = 1000
    /// What comes in between two looks is what a bound may be passed by.
    static let checkMs: Int64 = 200

    /// The socket is not bound yet, and is told to stop the monitor before this goes.
    init(_ socket: borrowing Socket, _ limits: Connections.Limits) throws(ZeroMQError) {
        monitor = try socket.monitor([.accepted, .disconnected])
        connections = Connections(limits)
    }

    /// Hears who came and went; returns whether somebody went. Takes a bounded number: those that are left are there in the
    /// next turn.
    func take() throws(ZeroMQError) -> Bool {
        try hear()
        let result = anyWent
        anyWent = false
        return result
    }

    private func hear() throws(ZeroMQError) {
        for _ in 0..<Self.eventsPerTurn {
            guard let event = try monitor.next() else { break }
            switch event.kind {
            case .accepted: accept(event.descriptor)
            default:
                connections.end(event.descriptor)
                anyWent = true
            }
        }
    }

    private func accept(_ descriptor: Int32) {
        // Gone again: the event for that comes.
        guard let connection = Connection(descriptor: descriptor) else { return }
        if connections.isFull(connection.origin) { sweep() }
        if let victim = connections.begin(connection) { end(victim, .connections) }
    }

    private func sweep() {
        let nowMs = Clock.monotonicMs()
        guard nowMs >= sweptAtMs + Self.sweepMs else { return }
        sweptAtMs = nowMs
        connections.sweep()
    }

    func subscribe(_ topic: [UInt8], _ descriptor: Int32?) {
        if let victim = connections.subscribe(topic, descriptor) { end(victim, .subscriptions) }
    }

    func unsubscribe(_ topic: [UInt8], _ descriptor: Int32?) { connections.unsubscribe(topic, descriptor) }

    func read(_ message: InboundMessage) throws(ZeroMQError) {
        // Its coming was told before, and may not have been heard yet.
        if let connection = message.connection, !connections.knows(connection) { try hear() }
        connections.read(bytes: message.receivedBytes, frames: message.receivedFrames, message.connection)
    }

    /// Open connections; some may be gone without a word.
    var count: Int { connections.count }

    /// When `check` has something to do.
    var dueMs: Int64 { connections.count == 0 ? .max : checkAtMs }

    /// Looks for peers that send without end what nobody can read.
    func check(nowMs: Int64) {
        guard nowMs >= dueMs else { return }
        checkAtMs = nowMs + Self.checkMs
        for victim in connections.check(received: { $0.bytesReceived }) { end(victim, .unread) }
    }

    private func end(_ victim: Connection, _ reason: Connections.Reason) {
        victim.cut()
        cut.append((victim.origin, reason))
    }

    var hasCut: Bool { !cut.isEmpty }

    func takeCut() -> [(origin: Connection.Origin, reason: Connections.Reason)] {
        defer { cut.removeAll(keepingCapacity: true) }
        return cut
    }
}
