import HoldgateClient

/// Where somebody was: an event of the type `location.reading`.
///
/// ```json
/// {"specversion":"1.0","id":"7f3a","source":"/phone","type":"location.reading","subject":"device-1",
///  "time":"2026-03-01T12:00:00.000Z","data":{"latitude":52.52,"longitude":13.405}}
/// ```
struct Reading: Hashable, Sendable {
    static let type = "location.reading"

    let seq: JournalSeq
    /// Who moves; empty where the event has no `subject`: then all such events are one mover's.
    let subject: String
    /// The event's own, RFC 3339.
    let time: String?
    let point: GeoPoint

    init(seq: JournalSeq, subject: String = "", time: String? = nil, point: GeoPoint) {
        self.seq = seq
        self.subject = subject
        self.time = time
        self.point = point
    }

    /// Reads an event; throws why it is none, for the dead letters.
    init(seq: JournalSeq, event: UnsafeRawBufferPointer, with parser: JSONParser) throws(Unusable) {
        let value: JSONValue
        do {
            value = try parser.parse(event)
        } catch {
            throw Unusable(reason: error.message)
        }
        guard let type = value["type"]?.asString, type == Self.type else {
            throw Unusable(reason: "its type is not \(Self.type)")
        }
        guard let data = value["data"], data.asMembers != nil else {
            throw Unusable(reason: "data is missing or no object")
        }
        let latitude = try Self.degrees(data, "latitude", 90)
        let longitude = try Self.degrees(data, "longitude", 180)
        guard let point = GeoPoint(latitude: latitude, longitude: longitude) else {
            preconditionFailure("bounds were checked")
        }
        self.init(
            seq: seq, subject: value["subject"]?.asString ?? "", time: value["time"]?.asString, point: point)
    }

    private static func degrees(
        _ data: JSONValue, _ name: String, _ bound: Double
    ) throws(Unusable) -> Double {
        guard let value = data[name] else { throw Unusable(reason: "data.\(name) is missing") }
        guard let degrees = value.asDouble else { throw Unusable(reason: "data.\(name) is no number") }
        guard (-bound...bound).contains(degrees) else {
            throw Unusable(reason: "data.\(name) is \(degrees): not within -\(Int(bound)) to \(Int(bound))")
        }
        return degrees
    }
}

/// An event that will never be taken, and why.
struct Unusable: Error, Hashable, Sendable {
    let reason: String
}
