import HTTPServer
import HoldgateClient

/// `GET /metrics`.
struct MetricsDoor: Sendable {
    private let host: Coalescer<HostMetrics>

    init(_ holdgate: Holdgate) throws(HoldgateError) {
        host = try Coalescer(name: "http-metrics") { () throws(HoldgateError) in
            try HostMetrics.read(holdgate)
        }
    }

    /// - Parameter own: adds what the gateway counts.
    func show(_ head: HTTPHead, own: @escaping @Sendable (inout Metrics) -> Void, reply: HTTPReply) {
        let format = Metrics.Format(accept: head.header("accept"))
        host.ask { answer in
            var metrics = Metrics()
            let host = try? answer.get()
            metrics.add("holdgate_up", .gauge, "1 if the host answers", host == nil ? 0 : 1)
            host?.add(to: &metrics)
            own(&metrics)
            reply.send(HTTPResponse(200, format.mediaType, metrics.text(format)))
        }
    }

    func stop() { host.stop() }
}
