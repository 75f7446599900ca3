import CMicroHTTPD
import Glibc
import Platform

// The daemon's callbacks: each finds its object and asks it. Functions, for closures formed at top level would belong to
// the main actor and trap on the daemon's threads.

extension ServerCore {
    /// Nil: libmicrohttpd refused, and the socket is the caller's still.
    func startDaemon(on socket: Int32, _ tls: HTTPServer.TLS?) -> OpaquePointer? {
        var settings = hg_http_settings()
        settings.listener = socket
        settings.threads = UInt32(limits.threads)
        settings.connections = UInt32(limits.connections)
        settings.connections_per_address = UInt32(limits.connectionsPerAddress)
        settings.connection_bytes = limits.headBytes
        settings.idle_seconds = UInt32(limits.idleSeconds)
        settings.access = accessed
        settings.completed = completed
        settings.connection = connected
        settings.log = logged
        // The core outlives its daemons: whoever stops them holds it.
        settings.context = Unmanaged.passUnretained(self).toOpaque()
        guard let tls else { return hg_http_start(&settings) }
        return tls.certificate.withCString { certificate in
            tls.privateKey.withCString { key in
                settings.certificate = certificate
                settings.private_key = key
                return hg_http_start(&settings)
            }
        }
    }
}

private func core(_ context: UnsafeMutableRawPointer?) -> ServerCore {
    Unmanaged<ServerCore>.fromOpaque(context!).takeUnretainedValue()
}

private func accessed(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?, _ own: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let connection, let url, let method, let uploadSize, let own else { return .NO }
    guard let known = own.pointee else {
        guard let place = hg_http_socket_context(connection) else { return .NO }
        let entry = Unmanaged<ConnectionGuard.Entry>.fromOpaque(place).takeUnretainedValue()
        let head = HTTPHead(
            method: String(cString: method), path: String(cString: url),
            query: fields(of: connection, .GET_ARGUMENT_KIND), headers: fields(of: connection, .HEADER_KIND))
        let exchange = Exchange(head, core(context), connection: connection, entry: entry)
        own.pointee = Unmanaged.passRetained(exchange).toOpaque()
        return exchange.begin() ? .YES : .NO
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    guard uploadSize.pointee > 0 else { return exchange.proceed() ? .YES : .NO }
    let piece = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
    uploadSize.pointee = 0
    return exchange.append(piece) ? .YES : .NO
}

private func completed(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ own: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
    guard let own, let known = own.pointee else { return }
    own.pointee = nil
    Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue().completed()
}

private func connected(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ own: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
    guard let connection, let own else { return }
    if code == .CONNECTION_NOTIFY_STARTED {
        let entry = ConnectionGuard.Entry(socket: hg_http_socket(connection))
        own.pointee = Unmanaged.passRetained(entry).toOpaque()
        core(context).connections.opened(entry)
    } else if let known = own.pointee {
        own.pointee = nil
        core(context).connections.closed(
            Unmanaged<ConnectionGuard.Entry>.fromOpaque(known).takeRetainedValue())
    }
}

private func logged(
    _ context: UnsafeMutableRawPointer?, _ format: UnsafePointer<CChar>?, _ arguments: CVaListPointer?
) {
    guard let format, let arguments else { return }
    var line = [CChar](repeating: 0, count: 512)
    vsnprintf(&line, line.count, format, arguments)
    let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    core(context).log(text.hasSuffix("\n") ? String(text.dropLast()) : text)
}

/// A list that `iterate` fills.
private final class Fields {
    var list: [HTTPHead.Field] = []
}

private func fields(of connection: OpaquePointer, _ kind: MHD_ValueKind) -> [HTTPHead.Field] {
    let fields = Fields()
    MHD_get_connection_values(connection, kind, iterate, Unmanaged.passUnretained(fields).toOpaque())
    return fields.list
}

private func iterate(
    _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let context, let name else { return .YES }
    let fields = Unmanaged<Fields>.fromOpaque(context).takeUnretainedValue()
    let text = value.map { String(cString: $0) } ?? ""
    fields.list.append(HTTPHead.Field(String(cString: name), text))
    return .YES
}
