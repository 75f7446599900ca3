import HoldgateClient
import Platform
import Testing
import ZeroMQ

/// A ROUTER or an XPUB that lets in one key, as "shop", and whose answers a test writes. Works on a thread of its
/// own until it is let go.
final class KeyedHost: Sendable {
    let endpoint: String
    private let senders: Locked<[String]>
    private let stopped = Locked(false)

    /// The names under which messages came.
    var names: [String] { senders.withLock { $0 } }

    /// - Parameters:
    ///   - kind: a ROUTER's messages are told without the routing id, and an XPUB's are new subscriptions.
    ///   - answer: all replies to one message, each a list of frames.
    init(
        _ kind: Socket.Kind = .router, key: CurveKeyPair, admits peer: CurvePublicKey,
        answer: @escaping @Sendable ([[UInt8]]) -> [[[UInt8]]]
    ) throws {
        let bound = Locked<Result<String, any Error>?>(nil)
        let ready = Platform.Condition()
        let senders = Locked<[String]>([])
        let stopped = stopped
        _ = try Thread.spawn(name: "keyed-host") {
            do {
                // Whom a context lets in is its authenticator's to say: this one is the host's alone.
                let context = try Context()
                let authenticator = try Authenticator(in: context)
                let socket = try Socket(kind, in: context)
                for option in SocketOption.authenticated(domain: "test") { try socket.set(option) }
                for option in SocketOption.curveServer(key.secretKey) { try socket.set(option) }
                let address = try socket.bind("tcp://127.0.0.1:0")
                bound.withLock { $0 = .success(address) }
                ready.broadcast()
                var polls = PollSet()
                polls.add(socket: authenticator.socket)
                polls.add(socket: socket)
                while !stopped.withLock({ $0 }) {
                    _ = try polls.wait(timeoutMs: 5)
                    _ = try authenticator.answer(limit: 16) { $0.credentials == .curve(peer) ? "shop" : nil }
                    while let message = try Self.message(socket) {
                        // Of a subscriber that has gone, what is left is taken back without a name.
                        guard kind == .router || message.frames[0].first == 1 else { continue }
                        senders.withLock { $0.append(message.sender) }
                        try Self.reply(message.frames, kind, socket, answer)
                    }
                }
            } catch {
                bound.withLock { $0 = $0 ?? .failure(error) }
                ready.broadcast()
            }
        }
        self.senders = senders
        endpoint = try bound.withLock(waitingOn: ready) { $0 }.get()
    }

    deinit { stopped.withLock { $0 = true } }

    private static func message(
        _ socket: borrowing Socket
    ) throws -> (frames: [[UInt8]], sender: String)? {
        var frame = Frame()
        var frames: [[UInt8]] = []
        repeat {
            guard try socket.receive(into: &frame) else { return nil }
            frames.append([UInt8](copying: frame))
        } while frame.more
        return (frames, frame.userID ?? "")
    }

    private static func reply(
        _ frames: [[UInt8]], _ kind: Socket.Kind, _ socket: borrowing Socket,
        _ answer: ([[UInt8]]) -> [[[UInt8]]]
    ) throws {
        let peer = kind == .router ? [frames[0]] : []
        for reply in answer(Array(frames.dropFirst(peer.count))) {
            let whole = peer + reply
            for (index, part) in whole.enumerated() {
                _ = try socket.send(part, more: index < whole.count - 1)
            }
        }
    }
}
