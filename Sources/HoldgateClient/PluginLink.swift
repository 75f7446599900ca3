import ZeroMQ

/// A plugin's socket, and what tells that its connection broke: libzmq would make it anew without a word, and the host
/// answers that with a `hello?` only once the next heartbeat has come.
final class PluginLink {
    let socket: Socket
    /// Of `socket`. Readable when the connection broke.
    let monitor: SocketMonitor

    init(_ socket: consuming Socket) throws(ZeroMQError) {
        monitor = try socket.monitor(.disconnected)
        self.socket = socket
    }

    deinit { socket.stopMonitor() }

    /// Whether it broke since this was asked last.
    func isLost() throws(ZeroMQError) -> Bool {
        var isLost = false
        while try monitor.next() != nil { isLost = true }
        return isLost
    }
}
