import Wire

/// Why a configuration is not taken. The host doesn't start.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of mistake it is. More may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let raw: String
        public init(_ raw: String) { self.raw = raw }
        public var description: String { raw }

        /// A key, variable, flag or argument that doesn't exist.
        public static let unknown = Code("unknown")
        /// A value of the wrong type or out of its bounds.
        public static let wrongValue = Code("wrongValue")
        /// Something that may stand there once stands there again.
        public static let repeated = Code("repeated")
        /// Two values that don't go together.
        public static let conflict = Code("conflict")
        /// A file that is not JSON with comments, or no object.
        public static let syntax = Code("syntax")
        /// A file that can't be read.
        public static let unreadable = Code("unreadable")
        /// Something that is needed and not given.
        public static let missing = Code("missing")
    }

    public let code: Code
    public let source: Configuration.Source
    /// For people: what is wrong, where, and what is allowed.
    public let description: String

    init(_ code: Code, _ source: Configuration.Source, _ description: String) {
        self.code = code
        self.source = source
        self.description = description
    }

    static func wrongValue(
        _ key: String, _ value: JSONValue, allowed: String, _ source: Configuration.Source
    ) -> Self {
        Self(.wrongValue, source, "\(source.subject(key)) is \(shown(value)); allowed: \(allowed)")
    }

    /// `value` as JSON text, fit for a terminal and cut after 100 characters.
    static func shown(_ value: JSONValue) -> String {
        let text = LogLine.json(value)
        return text.unicodeScalars.count <= 100
            ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(100))) + "…"
    }
}
