import Glibc
import Platform

extension Configuration {
    /// What may be bound: the shape only; whether it works is libzmq's to say.
    enum Address {
        static func isValid(_ address: String) -> Bool {
            guard address.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ",") }) else {
                return false
            }
            if let rest = rest(of: address, after: "tcp://") { return isHostAndPort(rest) }
            if let rest = rest(of: address, after: LocalPaths.scheme) { return !rest.isEmpty }
            return false
        }

        /// What is wrong with an address of the right shape, and what to do.
        static func fault(_ address: String) -> String? {
            guard let path = rest(of: address, after: LocalPaths.scheme) else { return nil }
            if path.hasPrefix("@") {
                return
                    "a socket without a path is open to every user of this machine; give a path in a folder of "
                    + "mode 0700, as ipc:///run/holdgate/control"
            }
            if path.hasPrefix("*") {
                return "nobody could know which path that is; give one in a folder of mode 0700, as "
                    + "ipc:///run/holdgate/control"
            }
            guard path.utf8.count > SocketPath.maxBytes else { return nil }
            return "the path has \(path.utf8.count) bytes; allowed: at most \(SocketPath.maxBytes)"
        }

        /// Whether nobody but this machine's own programs reach it: a path, or 127.0.0.0/8, ::1 or `localhost`.
        static func isLocal(_ address: String) -> Bool {
            guard let rest = rest(of: address, after: "tcp://") else { return true }
            let host = rest.prefix(upTo: rest.lastIndex(of: ":") ?? rest.endIndex)
            if host == "localhost" || host == "[::1]" { return true }
            var bytes = in_addr()
            return inet_pton(AF_INET, String(host), &bytes) == 1
                && UInt32(bigEndian: bytes.s_addr) >> 24 == 127
        }

        private static func rest(of address: String, after scheme: String) -> Substring? {
            address.hasPrefix(scheme) ? address.dropFirst(scheme.count) : nil
        }

        /// `127.0.0.1:5570`, `[::1]:0`, `*:*`, `eth0:5570`.
        private static func isHostAndPort(_ text: Substring) -> Bool {
            guard let colon = text.lastIndex(of: ":") else { return false }
            let host = text[..<colon]
            let port = text[text.index(after: colon)...]
            let isPort =
                port == "*" || (port.utf8.allSatisfy { (48...57).contains($0) } && UInt16(port) != nil)
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
            let isPlain = !host.isEmpty && !host.contains { ":[]/;".contains($0) }
            return isPort && (isBracketed || isPlain)
        }
    }
}
