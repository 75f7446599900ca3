// What can be asked of a JSON value. Names are compared by their bytes: Swift's `==` on strings takes canonically
// equivalent ones for equal, which JSON does not.

extension JSONValue {
    /// The member `name` of an object; nil without one, and for anything but an object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { sameBytes($0.name, name) }?.value
    }

    public var asMembers: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    public var asArray: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    public var asString: String? {
        if case .string(let string) = self { string } else { nil }
    }

    public var asBool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    /// A whole number written without fraction and exponent.
    public var asInt64: Int64? {
        switch self {
        case .int(let value): value
        case .uint(let value): Int64(exactly: value)
        case .null, .bool, .double, .string, .array, .object, .raw: nil
        }
    }

    /// A whole number, not negative, written without fraction and exponent.
    public var asUInt64: UInt64? {
        switch self {
        case .int(let value): UInt64(exactly: value)
        case .uint(let value): value
        case .null, .bool, .double, .string, .array, .object, .raw: nil
        }
    }

    public var asInt: Int? { asInt64.flatMap { Int(exactly: $0) } }

    /// Any number, rounded to the nearest double.
    public var asDouble: Double? {
        switch self {
        case .int(let value): Double(value)
        case .uint(let value): Double(value)
        case .double(let value): value
        case .null, .bool, .string, .array, .object, .raw: nil
        }
    }

    public var isNull: Bool { self == .null }

    /// This value with an RFC 7396 merge patch applied. A `raw` value is replaced or taken as a whole.
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members = asMembers ?? []
        for change in changes {
            let place = members.firstIndex { sameBytes($0.name, change.name) }
            if change.value == .null {
                if let place { members.remove(at: place) }
            } else if let place {
                members[place] = Member(change.name, members[place].value.merging(patch: change.value))
            } else {
                members.append(Member(change.name, JSONValue.null.merging(patch: change.value)))
            }
        }
        return .object(members)
    }

    /// The first name that `members` has more than once.
    static func repeatedName(in members: [Member]) -> String? {
        if members.count <= 16 {
            for (index, member) in members.enumerated() {
                for later in members[(index + 1)...] where sameBytes(member.name, later.name) {
                    return member.name
                }
            }
            return nil
        }
        var seen = Set<[UInt8]>(minimumCapacity: members.count)
        return members.first { !seen.insert(Array($0.name.utf8)).inserted }?.name
    }
}

/// Whether both strings are the same bytes.
func sameBytes(_ a: String, _ b: String) -> Bool {
    a.utf8.count == b.utf8.count && a.utf8.elementsEqual(b.utf8)
}

/// `text` for an error message: in quotation marks, escaped as in JSON, and cut after 40 characters.
func quoted(_ text: String) -> String {
    let cut = text.unicodeScalars.prefix(40)
    let shown = String(String.UnicodeScalarView(cut))
    return JSONValue.string(sameBytes(shown, text) ? text : shown + "…").text
}
