/// Which event types somebody takes: exact names, and prefixes that end in `*`. Made once, asked for every event.
public struct TypeFilter: Hashable, Sendable {
    /// Whether every type matches.
    public let takesAll: Bool
    /// Sorted.
    private let exact: [[UInt8]]
    private let prefixes: [[UInt8]]

    /// Throws `invalidMessage` for an empty list, an empty name, and a `*` that isn't the last character.
    public init(_ types: [String]) throws(WireError) {
        guard !types.isEmpty else {
            throw WireError(.invalidMessage, "\"types\" is empty: name types, or * for all")
        }
        var exact: [[UInt8]] = []
        var prefixes: [[UInt8]] = []
        for type in types {
            var bytes = Array(type.utf8)
            let isPrefix = bytes.last == UInt8(ascii: "*")
            if isPrefix { bytes.removeLast() }
            guard isPrefix || !bytes.isEmpty, !bytes.contains(UInt8(ascii: "*")) else {
                throw WireError(
                    .invalidMessage, "\(quoted(type)) is neither a type nor a prefix that ends in *")
            }
            if isPrefix { prefixes.append(bytes) } else { exact.append(bytes) }
        }
        prefixes.sort { $0.lexicographicallyPrecedes($1) }
        // What begins with a prefix sorts right after it.
        var needed: [[UInt8]] = []
        for prefix in prefixes where needed.last.map({ prefix.starts(with: $0) }) != true {
            needed.append(prefix)
        }
        exact.removeAll { type in needed.contains { type.starts(with: $0) } }
        exact.sort { $0.lexicographicallyPrecedes($1) }
        self.exact = exact
        self.prefixes = needed
        takesAll = needed.first?.isEmpty == true
    }

    /// Whether the type, in UTF-8, is taken.
    public func matches(_ type: UnsafeRawBufferPointer) -> Bool {
        if takesAll { return true }
        for prefix in prefixes where type.starts(with: prefix) { return true }
        var low = 0
        var high = exact.count
        while low < high {
            let middle = (low + high) / 2
            if exact[middle].lexicographicallyPrecedes(type) { low = middle + 1 } else { high = middle }
        }
        return low < exact.count && exact[low].elementsEqual(type)
    }

    public func matches(_ type: String) -> Bool {
        var type = type
        return type.withUTF8 { matches(UnsafeRawBufferPointer($0)) }
    }
}

extension LineBlock {
    /// Whether the event's type is taken; nothing is copied for it.
    public func matches(_ filter: TypeFilter, at index: Int) -> Bool {
        if let escaped = escapedTypes[index] { return filter.matches(escaped) }
        let line = lines[index]
        let place = Int(line.typeOffset)..<Int(line.typeOffset + line.typeLength)
        return withBytes { filter.matches(UnsafeRawBufferPointer(rebasing: $0[place])) }
    }
}
