import Platform
import Wire
import ZeroMQ

/// One JSON request to a service beside the host, and its reply.
public enum JSONExchange {
    /// Blocks the calling thread. The request is sent once.
    ///
    /// - Returns: the reply's text and value, whatever it says.
    /// - Throws: `noAnswer`, `invalidReply`, `invalidArgument` for an address that is none.
    public static func ask(
        _ request: JSONValue, at endpoint: String, timeout: Duration
    ) throws(HoldgateError) -> (text: String, value: JSONValue) {
        do {
            let socket = try Socket(
                .dealer, in: ClientContext.get(), .linger(ms: 0), .reconnectInterval(ms: 20))
            try socket.connect(endpoint)
            // As a REQ socket does it. A DEALER that connects always has room for the first message.
            _ = try socket.send([UInt8](), more: true)
            _ = try socket.send(request.text)
            guard let frame = try reply(socket, Clock.monotonicMs() + timeout.milliseconds) else {
                throw HoldgateError(
                    .noAnswer, "nothing answered at \(endpoint) within \(timeout.milliseconds) ms",
                    retryable: false)
            }
            guard let value = try? JSONValue.parse(frame), value.asMembers != nil else {
                throw HoldgateError(.invalidReply, "what answered at \(endpoint) does not speak JSON")
            }
            return (frame, value)
        } catch let error as HoldgateError {
            throw error
        } catch let error as ZeroMQError {
            throw HoldgateError(zeroMQ: error)
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    /// The last frame of the first message.
    private static func reply(_ socket: borrowing Socket, _ endMs: Int64) throws -> String? {
        var polls = PollSet()
        polls.add(socket: socket)
        var frame = Frame()
        while true {
            let now = Clock.monotonicMs()
            if try socket.receive(into: &frame) {
                while frame.more, try socket.receive(into: &frame) {}
                return String(decoding: frame)
            }
            guard now < endMs else { return nil }
            _ = try polls.wait(timeoutMs: Int(endMs - now))
        }
    }
}
