import Access
import Glibc
import HTTPServer
import HoldgateClient
import KeyFiles
import Platform

enum HTTPGateway {
    /// Returns the exit status: 0 once stopped by a signal, 1 after a failure, 2 for wrong arguments.
    static func run(_ arguments: [String]) -> Int32 {
        switch Options.parse(arguments, environment: { name in getenv(name).map { String(cString: $0) } }) {
        case .help:
            print(Options.help, terminator: "")
            return 0
        case .usage(let problem):
            log("\(problem); --help says more")
            return 2
        case .token(let order): return makeToken(order)
        case .run(let options):
            do {
                try serve(options)
                return 0
            } catch let error as HoldgateError where error.code == .invalidArgument {
                log("\(error.message); --help says more")
                return 2
            } catch {
                log("\(error)")
                return 1
            }
        }
    }

    private static func serve(_ options: Options) throws {
        Signals.ignorePipe()
        Signals.block()
        var access = AccessFile()
        if let file = options.access { access = try read(file) }
        let configuration = try configuration(options)
        let tls = try tls(options)
        let source = options.name
        let holdgate = Holdgate(
            endpoints: options.endpoints, timeout: .milliseconds(options.timeoutMs), source: source,
            credentials: options.credentials)
        let feed = try HistoryFeed(holdgate, options.endpoints, options.credentials) { problem in
            log(problem)
            exit(1)
        }
        var ingest = IngestChannel.Options()
        ingest.endpoint = options.endpoints.ingest
        ingest.credentials = options.credentials
        ingest.timeout = .milliseconds(options.timeoutMs)
        let channel = try IngestChannel(ingest)
        let doors = Gateway.Doors(
            events: EventsDoor(channel, producer: options.name),
            lifecycle: LifecycleDoor(holdgate, source: source), state: try StateDoor(holdgate),
            history: HistoryDoor(holdgate), feed: feed, metrics: try MetricsDoor(holdgate))
        let gateway = Gateway(configuration, access, doors)
        _ = try Thread.spawn(name: "http-feed") { feed.run() }
        let server = try HTTPServer(
            listening: options.listen.map { ($0.host, $0.port) }, tls: tls, handler: gateway, log: log)
        gateway.count { [weak server] in server?.connectionCount ?? 0 }
        let scheme = tls == nil ? "http" : "https"
        log("listening at \(server.addresses.map { "\(scheme)://\($0)" }.joined(separator: " "))")
        while Signals.wait() == SIGHUP { reload(options, gateway) }
        // Requests that wait are answered by what is behind them, which goes last.
        server.stop()
        feed.stop()
        doors.state.stop()
        doors.metrics.stop()
        channel.stop()
    }

    private static func reload(_ options: Options, _ gateway: Gateway) {
        guard let file = options.access else { return log("SIGHUP: there is no --access file to read") }
        do {
            let access = try read(file)
            gateway.replace(access)
            log("\(file): \(access.tokens.count) tokens and \(access.webhooks.count) webhooks are in force")
        } catch {
            log("\(error); what was in force stays")
        }
    }

    private static func read(_ path: String) throws -> AccessFile {
        guard let text = try PrivateFile.read(path, .others) else {
            throw KeyFileError("there is no file \(path)")
        }
        do throws(AccessError) {
            return try AccessFile(text: text)
        } catch {
            throw KeyFileError("\(path), \(error)")
        }
    }

    private static func configuration(_ options: Options) throws -> Gateway.Configuration {
        var isLoopback = true
        for place in options.listen where !(try HTTPServer.isLoopback(place.host)) { isLoopback = false }
        if !isLoopback, options.certificate == nil, !options.isPlainAllowed {
            throw HoldgateError(
                .invalidArgument,
                "listening beyond this machine without TLS would show tokens and events to the network: give "
                    + "--tls-cert and --tls-key, or --plain-http if a proxy or the network keeps them")
        }
        var configuration = Gateway.Configuration()
        configuration.eventsBytes = options.bodyBytes
        configuration.anonymous = options.anonymous ?? (isLoopback ? Permissions(.observe, .produce) : .none)
        configuration.crossOrigin.origins = options.origins
        configuration.crossOrigin.hosts =
            isLoopback
            ? CrossOrigin.loopbackHosts.union(options.hosts) : (options.hosts.isEmpty ? nil : options.hosts)
        return configuration
    }

    private static func tls(_ options: Options) throws -> HTTPServer.TLS? {
        guard let certificate = options.certificate, let key = options.privateKey else { return nil }
        guard let chain = try PrivateFile.read(certificate, .othersWriting) else {
            throw KeyFileError("there is no file \(certificate)")
        }
        guard let secret = try PrivateFile.read(key, .others) else {
            throw KeyFileError("there is no file \(key)")
        }
        return HTTPServer.TLS(certificate: chain, privateKey: secret)
    }

    static func log(_ text: String) {
        let line = "http-gateway: \(text)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
