extension Configuration {
    /// Where a value came from.
    public enum Source: Hashable, Sendable, CustomStringConvertible {
        case standard
        case file(path: String, line: Int)
        /// The variable's name.
        case environment(String)
        /// The flag with its dashes.
        case flag(String)

        public var description: String {
            switch self {
            case .standard: "default"
            case .file(let path, let line): "\(path):\(line)"
            case .environment(let variable): variable
            case .flag(let flag): flag
            }
        }

        /// What an error calls `key` when its value came from here.
        func subject(_ key: String) -> String {
            switch self {
            case .standard: key
            case .file(let path, let line): "\(path):\(line): \(key)"
            case .environment(let variable): variable
            case .flag(let flag): flag
            }
        }
    }

    /// Where `key` has its value from.
    public func source(of key: String) -> Source { sources[key] ?? .standard }
}
