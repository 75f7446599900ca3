import CMicroHTTPD
import Platform

/// A body that is made while it is sent: the connection sleeps while there is nothing.
final class StreamBody: Sendable {
    private enum State {
        case reading
        /// Woken since the last read.
        case woken
        /// The connection is suspended.
        case asleep
        case finishing
        case ended
    }

    private let stream: any HTTPStream
    private let core: ServerCore
    private let connection: UInt
    private let state = Locked(State.reading)

    private init(_ stream: any HTTPStream, _ core: ServerCore, _ connection: OpaquePointer) {
        self.stream = stream
        self.core = core
        self.connection = UInt(bitPattern: connection)
    }

    static func response(
        _ stream: any HTTPStream, _ core: ServerCore, _ connection: OpaquePointer
    ) -> OpaquePointer? {
        let body = StreamBody(stream, core, connection)
        let isTaken = core.add(body)
        let raw = MHD_create_response_from_callback(
            UInt64(bitPattern: -1), blockBytes, readStream, Unmanaged.passRetained(body).toOpaque(),
            freeStream)
        guard let raw else {
            Unmanaged.passUnretained(body).release()
            core.remove(body)
            return nil
        }
        if isTaken { stream.begin { [weak body] in body?.wake() } } else { body.finish() }
        return raw
    }

    private static let blockBytes = 16 << 10

    func read(_ space: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            if state.withLock({ if case .finishing = $0 { true } else { false } }) { return Self.endOfStream }
            switch stream.read(into: space) {
            case .bytes(let count): return count
            case .end: return Self.endOfStream
            case .wait:
                let sleeps = state.withLock { state in
                    switch state {
                    case .reading:
                        state = .asleep
                        MHD_suspend_connection(OpaquePointer(bitPattern: connection))
                        return true
                    case .woken:
                        state = .reading
                        return false
                    case .asleep, .finishing, .ended: return false
                    }
                }
                if sleeps { return 0 }
            }
        }
    }

    private static let endOfStream = -1

    /// Any thread.
    func wake() {
        state.withLock { state in
            switch state {
            case .reading: state = .woken
            case .asleep:
                state = .reading
                MHD_resume_connection(OpaquePointer(bitPattern: connection))
            case .woken, .finishing, .ended: break
            }
        }
    }

    /// The server stops.
    func finish() {
        state.withLock { state in
            let wasAsleep = if case .asleep = state { true } else { false }
            if case .ended = state { return }
            state = .finishing
            if wasAsleep { MHD_resume_connection(OpaquePointer(bitPattern: connection)) }
        }
    }

    func ended() {
        state.withLock { $0 = .ended }
        core.remove(self)
        stream.ended()
    }
}

private func readStream(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ space: UnsafeMutablePointer<CChar>?,
    _ count: Int
) -> Int {
    guard let context, let space else { return -1 }
    let body = Unmanaged<StreamBody>.fromOpaque(context).takeUnretainedValue()
    return body.read(UnsafeMutableRawBufferPointer(start: space, count: count))
}

private func freeStream(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<StreamBody>.fromOpaque(context).takeRetainedValue().ended()
}
