import HoldgateClient

/// A request's arguments, read one by one; what is wrong is `invalidArgument`, and named.
struct Arguments {
    let value: JSONValue

    /// Bytes of an identifier.
    static let idBytes = 1...128

    init(_ value: JSONValue) { self.value = value }

    static func invalid(_ name: String, _ problem: String) -> WireError {
        WireError(.invalidArgument, "\(name) \(problem)")
    }

    func bool(_ name: String) throws(WireError) -> Bool {
        guard let bool = value[name]?.asBool else { throw Self.invalid(name, "must be true or false") }
        return bool
    }

    func int(_ name: String, in range: ClosedRange<Int64>, default other: Int64) throws(WireError) -> Int64 {
        guard let given = value[name] else { return other }
        guard let int = given.asInt64, range.contains(int) else {
            throw Self.invalid(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return int
    }

    func id(_ name: String) throws(WireError) -> String {
        guard let id = value[name]?.asString, Self.idBytes.contains(id.utf8.count) else {
            throw Self.invalid(name, "must be a string of 1 to \(Self.idBytes.upperBound) bytes")
        }
        return id
    }

    /// A list of identifiers; nil where it is left out.
    func ids(_ name: String, count: ClosedRange<Int>) throws(WireError) -> [String]? {
        guard let given = value[name] else { return nil }
        let ids = given.asArray?.compactMap(\.asString).filter { Self.idBytes.contains($0.utf8.count) }
        guard let ids, ids.count == given.asArray?.count, count.contains(ids.count) else {
            throw Self.invalid(
                name,
                "must be a list of \(count.lowerBound) to \(count.upperBound) strings of 1 to "
                    + "\(Self.idBytes.upperBound) bytes")
        }
        return ids
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, default other: Choice? = nil
    ) throws(WireError) -> Choice where Choice.RawValue == String {
        if value[name] == nil, let other { return other }
        guard let choice = value[name]?.asString.flatMap(Choice.init(rawValue:)) else {
            throw Self.invalid(
                name, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }
}
