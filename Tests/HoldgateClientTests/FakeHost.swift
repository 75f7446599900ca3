import HoldgateClient
import Platform
import ZeroMQ

/// One ROUTER whose answers a test writes: for each message its frames (the routing id and an empty frame
/// left out) come in, and the replies go out. Answers on a thread of its own until closed.
final class FakeRouter: Sendable {
    let endpoint: String
    private let stopped = Locked(false)
    private let finished = Locked(false)
    private let changed = Platform.Condition()

    /// - Parameters:
    ///   - endpoint: port 0 takes a free one.
    ///   - answer: all replies to one message, each a list of frames.
    init(
        _ endpoint: String = "tcp://127.0.0.1:0", answer: @escaping @Sendable ([[UInt8]]) -> [[[UInt8]]]
    ) throws {
        let bound = Locked<Result<String, any Error>?>(nil)
        let ready = Platform.Condition()
        let (stopped, finished, changed) = (stopped, finished, changed)
        _ = try Thread.spawn(name: "fake-host") {
            do {
                let socket = try Socket(.router, in: testContext, .routerHandover(true))
                let address = try Self.bind(socket, endpoint)
                bound.withLock { $0 = .success(address) }
                ready.broadcast()
                try Self.serve(socket, stopped, answer)
            } catch {
                bound.withLock { $0 = $0 ?? .failure(error) }
                ready.broadcast()
            }
            finished.withLock { $0 = true }
            changed.broadcast()
        }
        self.endpoint = try bound.withLock(waitingOn: ready) { $0 }.get()
    }

    deinit { stopped.withLock { $0 = true } }

    /// Closes the socket; returns once it is closed.
    func close() {
        stopped.withLock { $0 = true }
        _ = finished.withLock(waitingOn: changed) { $0 ? true : nil }
    }

    /// A socket that was closed just now may hold its port for some milliseconds.
    private static func bind(_ socket: borrowing Socket, _ endpoint: String) throws -> String {
        let end = Clock.monotonicMs() + 10_000
        while true {
            do throws(ZeroMQError) {
                return try socket.bind(endpoint)
            } catch {
                guard error.code == .addressInUse, Clock.monotonicMs() < end else { throw error }
                var polls = PollSet()
                polls.add(socket: socket)
                _ = try polls.wait(timeoutMs: 5)
            }
        }
    }

    private static func serve(
        _ socket: borrowing Socket, _ stopped: Locked<Bool>, _ answer: ([[UInt8]]) -> [[[UInt8]]]
    ) throws {
        var polls = PollSet()
        polls.add(socket: socket)
        var frame = Frame()
        while !stopped.withLock({ $0 }) {
            _ = try polls.wait(timeoutMs: 5)
            while !stopped.withLock({ $0 }), try socket.receive(into: &frame) {
                var frames = [[UInt8](copying: frame)]
                while frame.more, try socket.receive(into: &frame) { frames.append([UInt8](copying: frame)) }
                let peer = frames.removeFirst()
                if frames.first?.isEmpty == true { frames.removeFirst() }
                for reply in answer(frames) {
                    _ = try socket.send(peer, more: true)
                    for (index, part) in reply.enumerated() {
                        _ = try socket.send(part, more: index < reply.count - 1)
                    }
                }
            }
        }
    }
}

/// Never ends: sockets of a test that failed may outlive it.
let testContext = try! Context()
let testLaunch = LaunchID(high: 0, low: 0xabc)

func bytes(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    write(&writer)
    return writer.bytes
}

func value(_ frame: [UInt8]) -> JSONValue { (try? JSONValue.parse(frame)) ?? .null }

func status(_ state: LifecycleState, _ seq: UInt64 = 1) -> HostStatus {
    HostStatus(state: state, seq: TransitionSeq(seq), launch: testLaunch)
}

/// A reply of `control` to the request in `frame`.
func reply(
    to frame: [UInt8], _ status: HostStatus, _ members: [JSONValue.Member] = [], error: WireError? = nil
) -> [[UInt8]] {
    let id = value(frame)["id"]?.text
    return [bytes { ControlReply(id: id, status: status, members: members, error: error).write(into: &$0) }]
}
