import Glibc

/// Sockets that listen.
enum Listener {
    /// Binds the first address that `host`, a name or an address, has.
    ///
    /// - Parameter port: 0: the system chooses.
    /// - Returns: a socket that the caller closes, and `host:port` as it is bound.
    static func open(host: String, port: UInt16) throws(HTTPServerError) -> (socket: Int32, address: String) {
        let found = try addresses(of: host, port: port)
        defer { freeaddrinfo(found) }
        let first = found.pointee
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(first.ai_family, kind, 0)
        guard socket >= 0 else { throw failed("socket", host, port) }
        var one: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, size)
        if first.ai_family == AF_INET6 {
            _ = setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, size)
        }
        guard bind(socket, first.ai_addr, first.ai_addrlen) == 0, listen(socket, 1024) == 0 else {
            let error = failed("listen", host, port)
            close(socket)
            throw error
        }
        return (socket, name(of: socket))
    }

    /// Whether only this machine can reach what `host` stands for.
    static func isLoopback(_ host: String) throws(HTTPServerError) -> Bool {
        let found = try addresses(of: host, port: 0)
        defer { freeaddrinfo(found) }
        var next: UnsafeMutablePointer<addrinfo>? = found
        while let address = next {
            let host = numeric(address.pointee.ai_addr, address.pointee.ai_addrlen).host
            guard host.hasPrefix("127.") || host == "::1" else { return false }
            next = address.pointee.ai_next
        }
        return true
    }

    private static func addresses(
        of host: String, port: UInt16
    ) throws(HTTPServerError) -> UnsafeMutablePointer<addrinfo> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &found)
        guard status == 0, let found else {
            throw HTTPServerError("\(host): \(String(cString: gai_strerror(status)))")
        }
        return found
    }

    private static func failed(_ call: String, _ host: String, _ port: UInt16) -> HTTPServerError {
        let reason = errno
        let hint = reason == EADDRINUSE ? ": another program listens there" : ""
        return HTTPServerError("\(host):\(port): \(call): \(String(cString: strerror(reason)))\(hint)")
    }

    private static func name(of socket: Int32) -> String {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(socket, address, &length) == 0 else { return "?" }
                let name = numeric(address, length)
                return name.host.contains(":") ? "[\(name.host)]:\(name.port)" : "\(name.host):\(name.port)"
            }
        }
    }

    private static func numeric(
        _ address: UnsafePointer<sockaddr>, _ length: socklen_t
    ) -> (host: String, port: String) {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: 32)
        let flags = NI_NUMERICHOST | NI_NUMERICSERV
        getnameinfo(address, length, &host, socklen_t(host.count), &port, socklen_t(port.count), flags)
        return (text(host), text(port))
    }

    private static func text(_ characters: [CChar]) -> String {
        characters.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}
