import HTTPServer
import HoldgateClient

/// `GET /v1/history`: the records as the host has them, their hashes included.
struct HistoryDoor: Sendable {
    private let holdgate: Holdgate
    private let workers = Workers(name: "http-history", limit: 8)

    init(_ holdgate: Holdgate) { self.holdgate = holdgate }

    func show(_ head: HTTPHead, reply: HTTPReply) throws(Problem) {
        let after = try Self.number(head, "after", 0...UInt64.max) ?? 0
        let limit = Int(
            try Self.number(head, "limit", 1...UInt64(WireBounds.pageLimit))
                ?? UInt64(WireBounds.defaultPageLimit))
        for field in head.query where !["after", "limit"].contains(field.name) {
            throw Problem(400, ErrorCode.invalidArgument.raw, "there is no parameter \(field.name)")
        }
        let holdgate = holdgate
        let isTaken = workers.run {
            let answer = Result { () throws(HoldgateError) in
                try holdgate.performBlocking(.history(after: after, limit: limit))
            }
            switch answer {
            case .success(let records): reply.send(Self.response(records))
            case .failure(let error): reply.send(Problem(error).response)
            }
        }
        guard !isTaken else { return }
        var problem = Problem(429, ErrorCode.overloaded.raw, "too many read the history; ask again")
        problem.retryable = true
        throw problem
    }

    private static func response(_ records: [HistoryRecord]) -> HTTPResponse {
        let lines = records.map(\.text).joined(separator: ",")
        return .json(
            200, "{\"records\":[\(lines)]}", headers: [HTTPHead.Field("Cache-Control", "no-store")])
    }

    private static func number(
        _ head: HTTPHead, _ name: String, _ range: ClosedRange<UInt64>
    ) throws(Problem) -> UInt64? {
        let given = head.query.filter { $0.name == name }
        guard let first = given.first else { return nil }
        guard given.count == 1, first.value.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt64(first.value), range.contains(number)
        else {
            throw Problem(
                400, ErrorCode.invalidArgument.raw,
                "\(name) is no whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
