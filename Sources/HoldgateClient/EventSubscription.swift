import Platform
import Wire
import ZeroMQ

/// An event as the stream has it: live, and best effort.
public struct LiveEvent: Hashable, Sendable {
    public let type: String
    public let seq: UInt64
    /// How long the gate had held it, in milliseconds; nil if it had not.
    public let heldMs: Int64?
    /// The event, JSON.
    public let text: String
}

/// Live events off the stream. A slow subscriber loses some: whoever may lose nothing is a `Collector`.
public final class EventSubscription: Sendable {
    private let endpoint: String
    private let credentials: Credentials?
    private let prefix: String
    private let context: Context
    private let wake: EventFD
    private let isStopped = Locked(false)

    /// - Parameters:
    ///   - endpoint: the host's `stream`.
    ///   - credentials: nil: those of the environment, if there are any.
    ///   - prefix: types that begin with this; empty: all.
    public init(
        _ endpoint: String = Endpoints().stream, prefix: String = "", credentials: Credentials? = nil
    ) throws(HoldgateError) {
        self.endpoint = endpoint
        self.credentials = try credentials.orOfProcess()
        self.prefix = prefix
        context = try ClientContext.get()
        do {
            wake = try EventFD()
        } catch {
            throw HoldgateError(.unavailable, "\(error)")
        }
    }

    /// Makes `run` return. Any thread.
    public func stop() {
        isStopped.withLock { $0 = true }
        wake.signal()
    }

    /// Hands events to `handler` until stopped; blocks the calling thread, on which `handler` runs.
    public func run(_ handler: (LiveEvent) throws -> Void) throws {
        let socket = try Socket(
            .sub, in: context, .linger(ms: 0), .heartbeatInterval(ms: 1000), .heartbeatTimeout(ms: 5000))
        try socket.subscribe(to: "event." + prefix)
        try socket.connect(endpoint, credentials)
        var frame = Frame()
        let parser = JSONParser()
        var polls = PollSet()
        polls.add(fileDescriptor: wake.fileDescriptor)
        polls.add(socket: socket)
        while !isStopped.withLock({ $0 }) {
            _ = try polls.wait(timeoutMs: -1)
            wake.drain()
            while !isStopped.withLock({ $0 }), try socket.receive(into: &frame) {
                var frames = [[UInt8](copying: frame)]
                while frame.more, try socket.receive(into: &frame) { frames.append([UInt8](copying: frame)) }
                guard frames.count == 3,
                    let header = frames[1].withUnsafeBytes({ try? StreamHeader.parse($0, with: parser) })
                else { continue }
                let type = String(decoding: frames[0].dropFirst("event.".utf8.count), as: UTF8.self)
                let text = String(decoding: frames[2], as: UTF8.self)
                try handler(LiveEvent(type: type, seq: header.seq, heldMs: header.heldMs, text: text))
            }
        }
    }
}
