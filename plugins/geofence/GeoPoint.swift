import Glibc

/// A place on the Earth, taken for a sphere.
struct GeoPoint: Hashable, Sendable {
    /// -90 to 90, north positive.
    let latitude: Double
    /// -180 to 180, east positive; both ends are the same meridian.
    let longitude: Double

    /// The mean radius, in metres.
    static let earthRadiusM = 6_371_008.8
    /// No two places are further apart.
    static let farthestM = earthRadiusM * Double.pi

    init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The way along the great circle, in metres: right across the antimeridian and over the poles, and exact for
    /// short ways, which the cosine formula is not.
    func distanceM(to other: GeoPoint) -> Double {
        let a = sine(ofHalf: other.latitude - latitude)
        let b = sine(ofHalf: other.longitude - longitude)
        let c = a * a + cosine(latitude) * cosine(other.latitude) * b * b
        return 2 * Self.earthRadiusM * asin(min(1, c.squareRoot()))
    }
}

private func sine(ofHalf degrees: Double) -> Double { sin(degrees * Double.pi / 360) }
private func cosine(_ degrees: Double) -> Double { cos(degrees * Double.pi / 180) }
