import Platform
import Wire
import ZeroMQ

/// Single batches to `ingest`, under a run and a number that the caller keeps. Blocks the calling thread.
///
/// `Producer` is what most programs want: its run lasts as long as the process. This is for those that keep what
/// they have to send on disk, and so can send a batch again, under its number, after a crash of their own.
public struct IngestConnection: Sendable {
    /// The host's address, `tcp://host:port` or `ipc:///path`.
    public let endpoint: String

    /// Nil: those of the environment, if there are any.
    public let credentials: Credentials?

    public init(endpoint: String = Endpoints().ingest, credentials: Credentials? = nil) {
        self.endpoint = endpoint
        self.credentials = credentials
    }

    /// Sends one batch, once, and waits for its reply. Each call has a socket of its own: no late reply is taken for
    /// another's.
    ///
    /// - Parameters:
    ///   - lines: CloudEvents in JSON, one a line.
    ///   - producer: 1 to 128 bytes.
    ///   - run: within it each batch has the number after the one before; its first may have any.
    ///   - timeoutMs: for the reply.
    ///   - cancel: ends the wait with `cancelled` once readable.
    /// - Returns: the host's reply, refusals included.
    /// - Throws: `noAnswer`: send it again under the same number; `cancelled`; `invalidReply`; `invalidArgument`.
    public func send(
        _ lines: [UInt8], producer: String, run: String, batch: UInt64, timeoutMs: Int64 = 5000,
        cancel: EventFD? = nil
    ) throws(HoldgateError) -> IngestReply {
        var writer = JSONWriter()
        IngestHeader(id: "1", producer: producer, run: run, batch: batch).write(into: &writer)
        let credentials = try credentials.orOfProcess()
        do {
            let socket = try Socket(
                .dealer, in: try ClientContext.get(), .linger(ms: 0), .reconnectInterval(ms: 20))
            try socket.connect(endpoint, credentials)
            _ = try socket.send(writer.bytes, more: true)
            _ = try socket.send(lines)
            var polls = PollSet()
            polls.add(socket: socket)
            let cancelled = cancel.map { polls.add(fileDescriptor: $0.fileDescriptor) }
            _ = try polls.wait(timeoutMs: Int(clamping: timeoutMs))
            if let cancelled, polls.isReadable(cancelled) {
                throw HoldgateError(
                    .cancelled, "the call was cancelled; its outcome is unknown", retryable: true)
            }
            var frame = Frame()
            guard try socket.receive(into: &frame) else {
                throw HoldgateError(
                    .noAnswer,
                    "no host answered at \(endpoint) within \(timeoutMs) ms"
                        + Credentials.hint(endpoint, credentials),
                    retryable: true)
            }
            return try frame.withBytes { bytes in try IngestReply.parse(bytes, with: JSONParser()) }
        } catch let error as HoldgateError {
            throw error
        } catch let error as ZeroMQError {
            throw HoldgateError(zeroMQ: error)
        } catch {
            throw Answer.invalid("\(error)")
        }
    }
}
