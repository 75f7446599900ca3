import Platform
import ZeroMQ

/// The `ipc` paths of a host: held from before the state is read until the host has ended, a kill's binding again
/// included.
struct LocalPaths: Sendable {
    static let scheme = "ipc://"

    private let byAddress: [String: SocketPath]

    /// Listens at all of them; peers wait until their endpoint is bound.
    init(_ configuration: Configuration) throws(SocketPathError) {
        var byAddress: [String: SocketPath] = [:]
        for address in configuration.addresses where address.hasPrefix(Self.scheme) {
            byAddress[address] = try SocketPath(String(address.dropFirst(Self.scheme.count)))
        }
        self.byAddress = byAddress
    }

    /// Binds any address; libzmq, which would replace whatever lies at a path, gets a descriptor for it. Returns the
    /// address with its port.
    func bind(_ socket: borrowing Socket, _ address: String) throws(ZeroMQError) -> String {
        guard let path = byAddress[address] else { return try socket.bind(address) }
        let listener: Int32
        do throws(PlatformError) {
            listener = try path.descriptor()
        } catch {
            throw ZeroMQError(code: .init(number: error.number), call: error.call, endpoint: address)
        }
        try socket.set(.listener(listener))
        try socket.bind(address)
        try socket.set(.listener(nil))
        return address
    }
}
