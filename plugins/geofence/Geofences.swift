import HoldgateClient

/// A circle on the Earth.
struct Region: Hashable, Sendable {
    let id: String
    let center: GeoPoint
    let radiusM: Double
}

/// What the host's internal configuration has under `geofences`.
///
/// ```json
/// {"maxRegions":100,"hysteresisM":25,
///  "regions":{"home":{"latitude":52.52,"longitude":13.405,"radiusM":150}}}
/// ```
///
/// Regions are members by their id, so that a merge patch adds, changes or removes one and leaves the others.
struct Geofences: Hashable, Sendable {
    /// By id.
    private(set) var regions: [String: Region] = [:]
    /// Whoever is inside leaves only once so much further out than the radius, in metres.
    private(set) var hysteresisM = Self.defaultHysteresisM
    /// What was not understood, and is left out; for people.
    private(set) var problems: [String] = []

    static let defaultHysteresisM = 25.0
    static let defaultMaxRegions = 100
    static let regionCeiling = 10_000
    static let idBytes = 1...128

    init(regions: [Region] = [], hysteresisM: Double = Self.defaultHysteresisM) {
        for region in regions { self.regions[region.id] = region }
        self.hysteresisM = hysteresisM
    }

    /// Reads the host's whole configuration. What is wrong in it is left out and named in `problems`: one bad region
    /// does not end the others.
    init(configuration: JSONValue) {
        self.init()
        read(configuration)
    }

    private mutating func read(_ configuration: JSONValue) {
        guard let fences = configuration["geofences"] else { return }
        guard fences.asMembers != nil else { return problems.append("geofences is no object") }
        if let value = fences["hysteresisM"] {
            if let metres = value.asDouble, (0...GeoPoint.farthestM).contains(metres) {
                hysteresisM = metres
            } else {
                problems.append("geofences.hysteresisM is no length in metres")
            }
        }
        var limit = Self.defaultMaxRegions
        if let value = fences["maxRegions"] {
            if let count = value.asInt, (0...Self.regionCeiling).contains(count) {
                limit = count
            } else {
                problems.append("geofences.maxRegions is no number from 0 to \(Self.regionCeiling)")
            }
        }
        guard let value = fences["regions"] else { return }
        guard let members = value.asMembers else { return problems.append("geofences.regions is no object") }
        for member in members.sorted(by: { $0.name < $1.name }) { add(member, limit: limit) }
    }

    private mutating func add(_ member: JSONValue.Member, limit: Int) {
        let path = "geofences.regions[\(JSONValue.string(member.name).text)]"
        guard Self.idBytes.contains(member.name.utf8.count) else {
            return problems.append("\(path): an id has 1 to \(Self.idBytes.upperBound) bytes")
        }
        guard let latitude = member.value["latitude"]?.asDouble,
            let longitude = member.value["longitude"]?.asDouble,
            let center = GeoPoint(latitude: latitude, longitude: longitude)
        else {
            return problems.append("\(path): needs latitude (-90 to 90) and longitude (-180 to 180)")
        }
        guard let radiusM = member.value["radiusM"]?.asDouble, radiusM > 0, radiusM <= GeoPoint.farthestM
        else {
            return problems.append("\(path): radiusM is no length in metres above 0")
        }
        guard regions.count < limit else {
            return problems.append("\(path): more than maxRegions (\(limit))")
        }
        regions[member.name] = Region(id: member.name, center: center, radiusM: radiusM)
    }
}
