// Errors about names that don't exist, with the nearest one that does.

extension ConfigurationError {
    static func unknownKey(_ name: String, _ source: Configuration.Source) -> Self {
        let begin = "\(source): unknown key \(shown(.string(name)))"
        if let flag = onlyFlag(named: name) {
            return Self(.unknown, source, "\(begin): \(flag) is a flag only")
        }
        let names = Configuration.keys.map(\.name)
        return Self(.unknown, source, begin + hint(for: name, among: names, "keys"))
    }

    static func unknownVariable(_ variable: String) -> Self {
        let source = Configuration.Source.environment(variable)
        let begin = "unknown variable \(variable)"
        let name = variable.dropFirst("HOLDGATE_".count).filter { $0 != "_" }
        if let flag = onlyFlag(named: String(name)) {
            return Self(.unknown, source, "\(begin): \(flag) is a flag only")
        }
        let names = Configuration.keys.map(\.variable)
        return Self(.unknown, source, begin + hint(for: variable, among: names, "variables"))
    }

    static func unknownFlag(_ flag: String) -> Self {
        let begin = "unknown flag \(shown(.string(flag)))"
        return Self(.unknown, .flag(flag), begin + hint(for: flag, among: ConfigurationFlags.all, "flags"))
    }

    static func unexpectedArgument(_ argument: String) -> Self {
        Self(
            .unknown, .flag(argument),
            "unexpected argument \(shown(.string(argument))): serve takes flags only")
    }

    static func repeatedFlag(_ flag: String) -> Self {
        Self(.repeated, .flag(flag), "\(flag) was given twice")
    }

    /// The flag that `name` would be, if it is one that is neither a key nor a variable.
    private static func onlyFlag(named name: String) -> String? {
        let flags = Configuration.Switch.allCases.map(\.rawValue) + [ConfigurationFlags.fileFlag]
        return flags.first { flag in
            flag.filter { $0 != "-" } == name.lowercased()
        }
    }

    private static func hint(for name: String, among names: [String], _ what: String) -> String {
        if let nearest = nearest(to: name, among: names) { return "; did you mean \(nearest)?" }
        return "; `holdgate serve --help` lists the \(what)"
    }

    /// The name that the fewest changes of a letter lead to, if they are few.
    static func nearest(to name: String, among names: [String]) -> String? {
        let typed = Array(name.lowercased().utf8.prefix(100))
        let best = names.map { (name: $0, distance: distance(typed, Array($0.lowercased().utf8))) }
            .min { $0.distance < $1.distance }
        guard let best, best.distance <= max(2, typed.count / 4) else { return nil }
        return best.name
    }

    /// Levenshtein's.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var row = Array(0...b.count)
        for (i, left) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, right) in b.enumerated() {
                let change = diagonal + (left == right ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(change, row[j] + 1, diagonal + 1)
            }
        }
        return row[b.count]
    }
}
