import Glibc
import Platform
import Testing

@Suite struct ConnectionTests {
    @Test func aPathsPeerIsItsUser() throws {
        let (near, far) = try pair()
        defer {
            close(near)
            close(far)
        }
        let connection = try #require(Connection(descriptor: near))
        #expect(connection.origin == .user(geteuid()))
        #expect(connection.bytesReceived == nil)
        #expect(Connection(descriptor: far)?.cookie != connection.cookie)
        #expect(connection.cut())
        var byte: UInt8 = 0
        #expect(recv(far, &byte, 1, 0) == 0)
        #expect(connection.isAlive)
    }

    @Test func whatTookTheDescriptorIsLeftAlone() throws {
        let (near, far) = try pair()
        let connection = try #require(Connection(descriptor: near))
        let (other, end) = try pair()
        // What `near` named is closed, and it names another connection now.
        #expect(dup2(other, near) == near)
        #expect(!connection.isAlive)
        #expect(!connection.cut())
        #expect(send(end, "x", 1, 0) == 1)
        var byte: UInt8 = 0
        #expect(recv(near, &byte, 1, 0) == 1)
        for descriptor in [near, far, other, end] { close(descriptor) }
        #expect(!connection.cut())
    }

    @Test func whatIsNoConnectionIsNone() throws {
        let wake = try EventFD()
        #expect(Connection(descriptor: wake.fileDescriptor) == nil)
        #expect(Connection(descriptor: -1) == nil)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(Connection(descriptor: listener) == nil)
        close(listener)
    }

    @Test func bytesOfANetworkConnectionAreCountedReadOrNot() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let caller = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                bind(listener, place, size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, place, &size) == 0 && connect(caller, place, size) == 0
            }
        }
        try #require(isConnected)
        let peer = accept(listener, nil, nil)
        let connection = try #require(Connection(descriptor: peer))
        #expect(connection.origin.description == "::ffff:127.0.0.1")
        var bytes = [UInt8](repeating: 7, count: 1000)
        #expect(send(caller, bytes, bytes.count, 0) == 1000)
        #expect(recv(peer, &bytes, 400, Int32(MSG_WAITALL)) == 400)
        #expect(connection.bytesReceived == 1000)
        for descriptor in [listener, caller, peer] { close(descriptor) }
        #expect(connection.bytesReceived == nil)
    }

    private func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }
}
