import HTTPServer
import HoldgateClient

/// `GET /v1/state` and `/readyz`.
struct StateDoor: Sendable {
    private let state: Coalescer<HostReport>

    init(_ holdgate: Holdgate) throws(HoldgateError) {
        state = try Coalescer(name: "http-state") { () throws(HoldgateError) in
            try holdgate.performBlocking(.state)
        }
    }

    func show(_ reply: HTTPReply) {
        state.ask { answer in
            switch answer {
            case .success(let report):
                reply.send(
                    .json(
                        200, report.answer.text,
                        headers: [
                            HTTPHead.Field("ETag", Self.tag(report.status)),
                            HTTPHead.Field("Cache-Control", "no-store"),
                        ]))
            case .failure(let error): reply.send(Problem(error).response)
            }
        }
    }

    /// Ready is a gateway whose host answers, whatever its state.
    func ready(_ reply: HTTPReply) {
        state.ask { answer in
            switch answer {
            case .success(let report):
                let state = report.status.state.rawValue
                reply.send(.json(200, #"{"ready":true,"state":"\#(state)"}"#))
            case .failure(let error): reply.send(Problem(error).response)
            }
        }
    }

    func stop() { state.stop() }

    /// The state's `ETag`: which transition of which launch.
    static func tag(_ status: HostStatus) -> String { "\"\(status.launch.raw)-\(status.seq.raw)\"" }

    /// What must hold, by an `ETag`; nil where it is none of ours.
    static func expectation(tag: String) -> Expectation? {
        guard tag.count > 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
        let parts = tag.dropFirst().dropLast().split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, LaunchID(String(parts[0])) != nil, let seq = UInt64(parts[1]) else {
            return nil
        }
        return Expectation(launch: String(parts[0]), seq: seq)
    }
}
