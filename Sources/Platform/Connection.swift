import CPlatform
import Glibc

/// A connection of this process, of which somebody else owns the descriptor.
///
/// The owner may close it at any time, and the system give the number to another. A cookie is never given again, so
/// whatever is done here is done to this connection or to none.
public struct Connection: Hashable, Sendable {
    /// Whom a bound counts as one.
    public enum Origin: Hashable, Sendable, CustomStringConvertible {
        /// An address as sixteen bytes, IPv4 mapped into IPv6.
        case address([UInt8])
        /// Whose process is at the other end of a path.
        case user(UInt32)

        public var description: String {
            switch self {
            case .user(let uid): return "uid \(uid)"
            case .address(let bytes):
                var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
                inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
                return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
    }

    public let descriptor: Int32
    public let cookie: UInt64
    public let origin: Origin

    public init(descriptor: Int32, cookie: UInt64, origin: Origin) {
        self.descriptor = descriptor
        self.cookie = cookie
        self.origin = origin
    }

    /// Nil: no connection is there any more.
    public init?(descriptor: Int32) {
        var found = hg_connection()
        guard hg_connection(descriptor, &found) == 0 else { return nil }
        let address = withUnsafeBytes(of: &found.address) { Array($0) }
        self.init(
            descriptor: descriptor, cookie: found.cookie,
            origin: found.is_local != 0 ? .user(found.uid) : .address(address))
    }

    /// Whether it is still there.
    public var isAlive: Bool { Connection(descriptor: descriptor)?.cookie == cookie }

    /// Ends it in both directions, as its peer could; its owner finds out and closes it. False if it is gone.
    @discardableResult
    public func cut() -> Bool { hg_cut(descriptor, cookie) == 0 }

    /// All that ever came in, read or not. Nil: it is gone, or no TCP connection.
    public var bytesReceived: UInt64? {
        let bytes = hg_bytes_received(descriptor, cookie)
        return bytes < 0 ? nil : UInt64(bytes)
    }
}
