internal import CZeroMQ

/// libzmq's I/O threads and what its `inproc` endpoints are known in. One a process is enough.
///
/// **Every socket must be closed before a context ends.** A `Socket` keeps its context, so the last one to go does
/// it; that thread waits as long as sockets that were closed have unsent messages and `linger` left.
public final class Context: Sendable {
    // libzmq's contexts may be used from any thread.
    nonisolated(unsafe) let raw: UnsafeMutableRawPointer

    /// - Parameters:
    ///   - ioThreads: One does about a gigabyte a second.
    ///   - maxSockets: At most so many at once.
    public init(ioThreads: Int = 1, maxSockets: Int = 1023) throws(ZeroMQError) {
        guard let raw = zmq_ctx_new() else { throw .last("zmq_ctx_new") }
        self.raw = raw
        try set(ZMQ_IO_THREADS, ioThreads, "zmq_ctx_set(ZMQ_IO_THREADS)")
        try set(ZMQ_MAX_SOCKETS, maxSockets, "zmq_ctx_set(ZMQ_MAX_SOCKETS)")
    }

    deinit {
        let result = uninterrupted { zmq_ctx_term(raw) }
        precondition(result == 0, "zmq_ctx_term: errno \(zmq_errno())")
    }

    /// Makes every call on the context's sockets, waiting ones too, fail with `.terminated`. Any thread, any number
    /// of times. The sockets still have to be closed by their owners.
    public func shutdown() {
        let result = uninterrupted { zmq_ctx_shutdown(raw) }
        precondition(result == 0, "zmq_ctx_shutdown: errno \(zmq_errno())")
    }

    private func set(_ option: Int32, _ value: Int, _ call: String) throws(ZeroMQError) {
        guard let value = Int32(exactly: value), zmq_ctx_set(raw, option, value) == 0 else {
            throw ZeroMQError(code: .invalidArgument, call: call)
        }
    }
}
