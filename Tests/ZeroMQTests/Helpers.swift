import Glibc
import Platform
import Testing
import ZeroMQ

/// Long enough for a loaded machine; reached only by a test that fails.
let deadlineMs = 30_000

struct Silence: Error {}

/// Waits for one whole message; each frame as text.
func message(_ socket: borrowing Socket) throws -> [String] {
    var frame = Frame()
    var texts: [String] = []
    repeat {
        try receive(socket, into: &frame)
        texts.append(String(decoding: frame))
    } while frame.more
    return texts
}

func receive(_ socket: borrowing Socket, into frame: inout Frame) throws {
    var polls = PollSet()
    polls.add(socket: socket)
    while try !socket.receive(into: &frame) {
        // A signal also answers 0; the tests send none.
        guard try polls.wait(timeoutMs: deadlineMs) > 0 else { throw Silence() }
    }
}

/// Sends one whole message; false if the first frame finds no room.
func send(_ texts: [String], _ socket: borrowing Socket) throws -> Bool {
    for (index, text) in texts.enumerated() {
        guard try socket.send(text, more: index < texts.count - 1) else { return false }
    }
    return true
}

/// Runs `body` with a new directory, which is removed with its files afterwards.
func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
    var template = Array("/tmp/holdgate-zmq-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
    try #require(made)
    let directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    defer {
        unlink(directory + "/socket")
        rmdir(directory)
    }
    try body(directory)
}

/// Counts down as its instances go.
final class Owner: Sendable {
    // Written in `init` alone, before anybody else has it.
    nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
    let living: Locked<Int>

    init(_ content: [UInt8], living: Locked<Int>) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: content.count, alignment: 8)
        room.copyBytes(from: content)
        bytes = UnsafeRawBufferPointer(room)
        self.living = living
        living.withLock { $0 += 1 }
    }

    deinit {
        bytes.deallocate()
        living.withLock { $0 -= 1 }
    }
}
