import Glibc
import HoldgateClient
import Simulator
import Testing

@testable import geofence

/// Crossings without their reading: kind, region.
private func names(_ crossings: [Crossing]) -> [String] {
    crossings.map { "\($0.kind.rawValue) \($0.region)" }
}

private func place(_ latitude: Double, _ longitude: Double) -> GeoPoint {
    guard let point = GeoPoint(latitude: latitude, longitude: longitude) else {
        preconditionFailure("no place")
    }
    return point
}

/// `longitude` within -180 to 180.
private func wrapped(_ longitude: Double) -> Double {
    let rest = (longitude + 180).truncatingRemainder(dividingBy: 360)
    return (rest < 0 ? rest + 360 : rest) - 180
}

/// The same distance another way: the angle between the places as directions from the Earth's centre.
private func referenceDistanceM(_ a: GeoPoint, _ b: GeoPoint) -> Double {
    func direction(_ point: GeoPoint) -> (Double, Double, Double) {
        let latitude = point.latitude * .pi / 180
        let longitude = point.longitude * .pi / 180
        return (cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
    }
    let (p, q) = (direction(a), direction(b))
    let cross = (p.1 * q.2 - p.2 * q.1, p.2 * q.0 - p.0 * q.2, p.0 * q.1 - p.1 * q.0)
    let length = (cross.0 * cross.0 + cross.1 * cross.1 + cross.2 * cross.2).squareRoot()
    return GeoPoint.earthRadiusM * atan2(length, p.0 * q.0 + p.1 * q.1 + p.2 * q.2)
}

/// A place up to some kilometres from `point`, over poles and the antimeridian too.
private func near(_ point: GeoPoint, metres: Double, bearing: Double) -> GeoPoint {
    let angle = metres / GeoPoint.earthRadiusM
    let latitude = point.latitude * .pi / 180
    let there = asin(
        min(1, max(-1, sin(latitude) * cos(angle) + cos(latitude) * sin(angle) * cos(bearing))))
    let turn = atan2(
        sin(bearing) * sin(angle) * cos(latitude), cos(angle) - sin(latitude) * sin(there))
    return place(there * 180 / .pi, wrapped(point.longitude + turn * 180 / .pi))
}

/// Regions around one place, and a walk among them.
private struct World {
    var regions: [Region] = []
    var walk: [GeoPoint] = []

    init(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        // A third at a pole or on the antimeridian, where a flat map is wrong.
        let centers = [
            place(Double.random(in: -90...90, using: &random), Double.random(in: -180...180, using: &random)),
            place(random.chance(50) ? 90 : -89.99, Double.random(in: -180...180, using: &random)),
            place(Double.random(in: -80...80, using: &random), random.chance(50) ? 180 : -179.999),
        ]
        let center = centers[Int(seed % 3)]
        for number in 0..<4 {
            let away = near(
                center, metres: Double.random(in: 0...2000, using: &random),
                bearing: Double.random(in: 0...(2 * .pi), using: &random))
            let radiusM = Double.random(in: 50...1500, using: &random)
            regions.append(Region(id: "r\(number)", center: away, radiusM: radiusM))
        }
        var here = center
        for _ in 0..<200 {
            here = near(
                here, metres: Double.random(in: 0...400, using: &random),
                bearing: Double.random(in: 0...(2 * .pi), using: &random))
            walk.append(here)
        }
    }

    func crossings() throws -> [[String]] {
        var monitor = Monitor()
        monitor.watch(Geofences(regions: regions))
        return try walk.enumerated().map { index, point in
            names(try monitor.take(Reading(seq: JournalSeq(UInt64(index + 1)), point: point)))
        }
    }

    func mapped(_ move: (GeoPoint) -> GeoPoint) -> World {
        var world = self
        world.regions = regions.map { Region(id: $0.id, center: move($0.center), radiusM: $0.radiusM) }
        world.walk = walk.map(move)
        return world
    }
}

private let seeds: ClosedRange<UInt64> = 0...59

@Suite struct MonitorTests {
    @Test func distancesAreThoseOfTheSphere() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<20_000 {
            let a = place(
                Double.random(in: -90...90, using: &random), Double.random(in: -180...180, using: &random))
            let metres = Double.random(in: 0...(GeoPoint.farthestM * 0.99), using: &random)
            let b = near(a, metres: metres, bearing: Double.random(in: 0...(2 * .pi), using: &random))
            let short = near(a, metres: 1, bearing: Double.random(in: 0...(2 * .pi), using: &random))
            #expect(abs(a.distanceM(to: b) - referenceDistanceM(a, b)) < 0.001 + metres * 1e-9)
            #expect(abs(a.distanceM(to: short) - referenceDistanceM(a, short)) < 1e-6)
            #expect(abs(a.distanceM(to: b) - b.distanceM(to: a)) < 1e-6)
        }
        #expect(place(0, 0).distanceM(to: place(0, 180)) == GeoPoint.farthestM)
        #expect(place(90, 17).distanceM(to: place(90, -120)) < 1e-6)
        #expect(place(5, 180).distanceM(to: place(5, -180)) < 1e-6)
    }

    @Test func placesThatAreNotOnTheEarthAreNone() {
        let bad: [(Double, Double)] = [
            (91, 0), (-90.001, 0), (0, 180.001), (0, -181), (.nan, 0), (0, .nan), (.infinity, 0),
        ]
        for (latitude, longitude) in bad {
            #expect(GeoPoint(latitude: latitude, longitude: longitude) == nil)
        }
    }

    @Test(arguments: seeds) func eachWalkCrossesEachBorderInTurnAndWhereItIs(seed: UInt64) throws {
        let world = World(seed: seed)
        let fences = Geofences(regions: world.regions)
        var monitor = Monitor()
        monitor.watch(fences)
        var inside: Set<String> = []
        for (index, point) in world.walk.enumerated() {
            for each in try monitor.take(Reading(seq: JournalSeq(UInt64(index + 1)), point: point)) {
                switch each.kind {
                case .enter: #expect(inside.insert(each.region).inserted)
                case .exit: #expect(inside.remove(each.region) != nil)
                }
            }
            #expect(monitor.inside[""] ?? [] == inside)
            for region in world.regions {
                let metres = referenceDistanceM(region.center, point)
                if metres <= region.radiusM - 0.001 { #expect(inside.contains(region.id)) }
                if metres > region.radiusM + fences.hysteresisM + 0.001 {
                    #expect(!inside.contains(region.id))
                }
            }
        }
    }

    @Test(arguments: seeds) func walksAreTheSameAllAroundTheEarth(seed: UInt64) throws {
        let world = World(seed: seed)
        let crossings = try world.crossings()
        for turn in [10.0, 90, 179.5, 180, 271.25] {
            let turned = world.mapped { place($0.latitude, wrapped($0.longitude + turn)) }
            #expect(try turned.crossings() == crossings)
        }
        #expect(try world.mapped { place(-$0.latitude, $0.longitude) }.crossings() == crossings)
        #expect(try world.mapped { place($0.latitude, -$0.longitude) }.crossings() == crossings)
    }

    @Test func nearlyAllWalksCrossSomething() throws {
        let still = try seeds.filter { seed in try World(seed: seed).crossings().allSatisfy(\.isEmpty) }
        #expect(still.count < 5)
    }

    @Test(arguments: seeds) func jitterWithinTheHysteresisCrossesABorderOnce(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let center = World(seed: seed).regions[0].center
        var monitor = Monitor()
        monitor.watch(Geofences(regions: [Region(id: "r", center: center, radiusM: 200)]))
        let stand = near(
            center, metres: Double.random(in: 180...240, using: &random),
            bearing: Double.random(in: 0...(2 * .pi), using: &random))
        var count = 0
        for seq in 1...500 {
            let point = near(
                stand, metres: Double.random(in: 0...12.4, using: &random),
                bearing: Double.random(in: 0...(2 * .pi), using: &random))
            count += try monitor.take(Reading(seq: JournalSeq(UInt64(seq)), point: point)).count
        }
        #expect(count <= 1)
    }

    @Test func aWayRoundThePoleStaysInside() throws {
        var monitor = Monitor()
        monitor.watch(Geofences(regions: [Region(id: "pole", center: place(90, 0), radiusM: 60_000)]))
        var crossings: [String] = []
        for longitude in stride(from: -180.0, through: 180, by: 7.5) {
            crossings += names(try monitor.take(Reading(seq: JournalSeq(1), point: place(89.5, longitude))))
        }
        crossings += names(try monitor.take(Reading(seq: JournalSeq(2), point: place(89.4, 0))))
        #expect(crossings == ["geofence.enter pole", "geofence.exit pole"])
    }

    @Test func aWayOverTheAntimeridianStaysInside() throws {
        var monitor = Monitor()
        monitor.watch(Geofences(regions: [Region(id: "fiji", center: place(-17, 180), radiusM: 1000)]))
        var crossings: [String] = []
        for longitude in [179.98, 179.995, 180, -180, -179.995, 179.992, -179.98] {
            crossings += names(try monitor.take(Reading(seq: JournalSeq(1), point: place(-17, longitude))))
        }
        #expect(crossings == ["geofence.enter fiji", "geofence.exit fiji"])
    }

    @Test func subjectsAreApart() throws {
        var monitor = Monitor()
        monitor.watch(Geofences(regions: [Region(id: "r", center: place(0, 0), radiusM: 100)]))
        let away = place(1, 1)
        _ = try monitor.take(Reading(seq: JournalSeq(1), subject: "a", point: place(0, 0)))
        #expect(try monitor.take(Reading(seq: JournalSeq(2), subject: "b", point: away)).isEmpty)
        #expect(monitor.inside == ["a": ["r"]])
        let crossings = try monitor.take(Reading(seq: JournalSeq(3), subject: "a", point: away))
        #expect(names(crossings) == ["geofence.exit r"])
        #expect(monitor.inside.isEmpty)
    }

    @Test func aRegionThatIsGoneIsForgottenAndOneThatGrewIsNotEnteredAgain() throws {
        var monitor = Monitor()
        let small = Region(id: "r", center: place(0, 0), radiusM: 100)
        monitor.watch(Geofences(regions: [small, Region(id: "s", center: place(0, 0), radiusM: 50)]))
        let here = Reading(seq: JournalSeq(1), point: place(0, 0))
        #expect(names(try monitor.take(here)) == ["geofence.enter r", "geofence.enter s"])
        monitor.watch(Geofences(regions: [Region(id: "r", center: place(0, 0), radiusM: 900)]))
        #expect(monitor.inside == ["": ["r"]])
        #expect(try monitor.take(here).isEmpty)
        monitor.watch(Geofences())
        #expect(monitor.inside.isEmpty)
    }

    @Test func oneSubjectTooManyIsRefusedAndChangesNothing() throws {
        var inside: [String: Set<String>] = [:]
        for number in 0..<Monitor.subjectLimit { inside["s\(number)"] = ["r"] }
        var monitor = Monitor(inside: inside)
        monitor.watch(Geofences(regions: [Region(id: "r", center: place(0, 0), radiusM: 100)]))
        let before = monitor
        #expect(throws: Unusable.self) {
            try monitor.take(Reading(seq: JournalSeq(1), subject: "one more", point: place(0, 0)))
        }
        #expect(monitor == before)
        let known = Reading(seq: JournalSeq(2), subject: "s7", point: place(3, 0))
        #expect(names(try monitor.take(known)) == ["geofence.exit r"])
    }
}
