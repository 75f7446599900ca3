import HoldgateClient

/// Somebody came into a region or left it.
struct Crossing: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
        case enter = "geofence.enter"
        case exit = "geofence.exit"
    }
    let kind: Kind
    let region: String
    let distanceM: Double
    let reading: Reading
}

/// Who is inside which region: takes readings in order, and says which borders each one crossed.
///
/// Inside is who came as near as the radius, until they are further out than radius and hysteresis together: a
/// position that jitters by less than the hysteresis crosses a border once.
struct Monitor: Hashable, Sendable {
    /// What is watched; regions that are gone are forgotten, without an exit: nobody moved.
    private(set) var fences = Geofences()
    /// Region ids by subject. Whoever is inside none is not in here.
    private(set) var inside: [String: Set<String>]

    /// How many subjects can be inside some region at a time.
    static let subjectLimit = 10_000
    static let full = Unusable(reason: "more than \(subjectLimit) subjects are inside regions")

    init(inside: [String: Set<String>] = [:]) { self.inside = inside }

    mutating func watch(_ fences: Geofences) {
        guard fences != self.fences else { return }
        self.fences = fences
        inside = inside.compactMapValues { ids in
            let left = ids.filter { fences.regions[$0] != nil }
            return left.isEmpty ? nil : left
        }
    }

    /// The borders that this reading crosses: exits first, each kind in the order of ids.
    ///
    /// - Throws: where there is no room for one more subject; then nothing has changed.
    mutating func take(_ reading: Reading) throws(Unusable) -> [Crossing] {
        let before = inside[reading.subject] ?? []
        var exits: [Crossing] = []
        var enters: [Crossing] = []
        for (id, region) in fences.regions {
            let distanceM = region.center.distanceM(to: reading.point)
            if before.contains(id) {
                guard distanceM > region.radiusM + fences.hysteresisM else { continue }
                exits.append(Crossing(kind: .exit, region: id, distanceM: distanceM, reading: reading))
            } else if distanceM <= region.radiusM {
                enters.append(Crossing(kind: .enter, region: id, distanceM: distanceM, reading: reading))
            }
        }
        guard !exits.isEmpty || !enters.isEmpty else { return [] }
        guard !before.isEmpty || inside.count < Self.subjectLimit else {
            throw Self.full
        }
        let after = before.subtracting(exits.map(\.region)).union(enters.map(\.region))
        inside[reading.subject] = after.isEmpty ? nil : after
        return exits.sorted { $0.region < $1.region } + enters.sorted { $0.region < $1.region }
    }
}

extension Crossing {
    /// The event: a CloudEvent in JSON. Its id follows from the reading's seq, so that whoever sees one twice
    /// can tell.
    var event: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("specversion", "1.0")
        writer.member("id", "\(reading.seq.raw)-\(region)")
        writer.member("source", "/geofence")
        writer.member("type", kind.rawValue)
        if !reading.subject.isEmpty { writer.member("subject", reading.subject) }
        if let time = reading.time { writer.member("time", time) }
        writer.name("data")
        writer.beginObject()
        writer.member("region", region)
        writer.name("latitude")
        writer.value(reading.point.latitude)
        writer.name("longitude")
        writer.value(reading.point.longitude)
        // To the millimetre: the rest is the sphere's error.
        writer.name("distanceM")
        writer.value((distanceM * 1000).rounded() / 1000)
        writer.endObject()
        writer.endObject()
        return writer.text
    }
}
