import Wire

extension Configuration {
    /// One row of the table of what can be set.
    public struct Key: Sendable {
        /// The name in the file.
        public let name: String
        public let kind: Kind
        /// The flag that sets it too, with its dashes.
        public let flag: String?
        /// One line for people.
        public let help: String
        let get: @Sendable (Configuration) -> JSONValue
        /// The value is one that `kind` has read.
        let set: @Sendable (inout Configuration, JSONValue) -> Void

        /// The name in the environment: `HOLDGATE_DRAIN_TIMEOUT_MS` for `drainTimeoutMs`.
        public var variable: String {
            var variable = "HOLDGATE_"
            for character in name {
                if character.isUppercase { variable += "_" }
                variable += character.uppercased()
            }
            return variable
        }

        /// What the key has in `configuration`.
        public func value(in configuration: Configuration) -> JSONValue { get(configuration) }
    }

    /// What a key's values are.
    public enum Kind: Hashable, Sendable {
        case number(ClosedRange<Int64>, multipleOf: Int64)
        case choice([String])
        case addresses
        /// Names of plugins, at most so many.
        case names(limit: Int)
        case directory
        /// Empty: none.
        case optionalDirectory
        /// Empty: none, or where it is by default.
        case optionalFile

        /// How many addresses an endpoint may have.
        public static let maxAddresses = 16

        /// The end of "allowed: …".
        public var allowed: String {
            switch self {
            case .number(let range, let step):
                "a whole number from \(range.lowerBound) to \(range.upperBound)"
                    + (step == 1 ? "" : ", a multiple of \(step)")
            case .choice(let choices): choices.joined(separator: ", ")
            case .addresses:
                "1 to \(Self.maxAddresses) addresses, each tcp://host:port or ipc://path, none twice"
            case .names(let limit):
                "up to \(limit) names of 1 to \(Self.nameBytes) bytes without control characters, none twice"
            case .directory: "the path of a directory, written out: ~ is not expanded here"
            case .optionalDirectory: "the path of a directory, written out, or nothing"
            case .optionalFile: "the path of a file, written out, or nothing"
            }
        }

        /// `value` as this kind has it; nil if it isn't allowed.
        func read(_ value: JSONValue) -> JSONValue? {
            switch self {
            case .number(let range, let step):
                guard let number = value.asInt64, range.contains(number), number % step == 0 else {
                    return nil
                }
                return .int(number)
            case .choice(let choices):
                guard let choice = value.asString, choices.contains(choice) else { return nil }
                return value
            case .addresses:
                guard let addresses = Self.strings(value), (1...Self.maxAddresses).contains(addresses.count),
                    addresses.allSatisfy({ Address.isValid($0) })
                else { return nil }
                return value
            case .names(let limit):
                guard let names = Self.strings(value), Set(names).count == names.count, names.count <= limit,
                    names.allSatisfy({ Self.isName($0) })
                else { return nil }
                return value
            case .optionalDirectory where value.asString?.isEmpty == true,
                .optionalFile where value.asString?.isEmpty == true:
                return value
            case .directory, .optionalDirectory, .optionalFile:
                guard let path = value.asString, !path.isEmpty, !path.hasPrefix("~"), !path.utf8.contains(0)
                else { return nil }
                return value
            }
        }

        /// As `read`, of a variable's or a flag's text: arrays are separated by commas.
        func read(text: String) -> JSONValue? {
            switch self {
            case .number: Int64(text).flatMap { read(.int($0)) }
            case .choice, .directory, .optionalDirectory, .optionalFile: read(.string(text))
            case .addresses, .names:
                read(
                    .array(
                        text.split(separator: ",", omittingEmptySubsequences: text.isEmpty)
                            .map { .string(String($0)) }))
            }
        }

        private static let nameBytes = 128

        private static func isName(_ name: String) -> Bool {
            (1...nameBytes).contains(name.utf8.count) && !name.utf8.contains { $0 < 0x20 || $0 == 0x7f }
        }

        /// The elements of an array of strings without repeats.
        private static func strings(_ value: JSONValue) -> [String]? {
            guard let elements = value.asArray else { return nil }
            let strings = elements.compactMap(\.asString)
            guard strings.count == elements.count else { return nil }
            return strings
        }
    }
}
