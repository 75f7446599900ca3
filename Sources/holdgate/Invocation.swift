import HoldgateClient

/// Wrong usage: exit status 2.
struct UsageError: Error, Hashable {
    let message: String
    init(_ message: String) { self.message = message }
}

/// What was given to a command, checked against its flags.
struct Invocation: Sendable {
    let spec: CommandSpec
    let console: Console
    /// Which of the command's actions, where it has any.
    private(set) var action: Action?
    private(set) var values: [String: String] = [:]
    /// The positional ones, the action's name left out; of a command that reads them itself all that was given.
    private(set) var arguments: [String] = []

    /// - Throws: `UsageError`.
    init(_ spec: CommandSpec, _ given: [String], _ console: Console) throws {
        self.spec = spec
        self.console = console
        if spec.isRaw {
            takeRaw(given)
            return
        }
        var rest = given[...]
        var isFlagsEnd = false
        while let word = rest.popFirst() {
            if word == "--", !isFlagsEnd {
                isFlagsEnd = true
            } else if word.hasPrefix("-"), word.count > 1, !isFlagsEnd {
                try take(flag: word, &rest)
            } else {
                arguments.append(word)
            }
        }
        guard !has("--help") else { return }
        if !spec.actions.isEmpty { try chooseAction() }
        try checkCount()
    }

    /// Flags of its own are left where they are.
    private mutating func takeRaw(_ given: [String]) {
        arguments = given
        for flag in [Flag.json, Flag.help] where given.contains(flag.name) { values[flag.name] = "" }
        if given.contains("-h") { values[Flag.help.name] = "" }
    }

    private mutating func chooseAction() throws {
        let list = spec.actions.map(\.name).joined(separator: ", ")
        let names = spec.actions.count == 1 ? "its action, \(list)" : "one of \(list)"
        guard let name = arguments.first ?? spec.defaultAction else {
            throw UsageError("\(spec.name) needs \(names)")
        }
        guard let chosen = spec.action(name) else { throw UsageError("\(spec.name) \(name): \(names)") }
        arguments = Array(arguments.dropFirst())
        action = chosen
        let allowed = Set((spec.flags + chosen.flags + spec.commonFlags).map(\.name))
        guard let stray = values.keys.sorted().first(where: { !allowed.contains($0) }) else { return }
        let others = spec.actions.filter { $0.flags.contains { $0.name == stray } }.map(\.name)
        throw UsageError("\(title) takes no \(stray): it is for \(others.joined(separator: ", "))")
    }

    private func checkCount() throws {
        let count = action?.argumentCount ?? spec.argumentCount
        guard arguments.count <= count.upperBound else {
            throw UsageError("\(title) does not take \"\(arguments[count.upperBound])\"")
        }
        guard arguments.count >= count.lowerBound else {
            let wanted = action?.arguments ?? spec.arguments
            throw UsageError("\(title) needs a \(wanted.prefix { $0 != "…" })")
        }
    }

    /// Its name in what it says: `keys new`.
    var title: String { action.map { "\(spec.name) \($0.name)" } ?? spec.name }

    /// Does what the chosen action does.
    func act() throws -> Int32 {
        guard let action else { preconditionFailure("\(spec.name) has actions, or does something itself") }
        return try action.run(self)
    }

    private mutating func take(flag word: String, _ rest: inout ArraySlice<String>) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        let name = parts[0] == "-h" ? "--help" : parts[0]
        guard let flag = spec.allFlags.first(where: { $0.name == name }) else {
            let near = Nearest.of(name, in: spec.allFlags.map(\.name)).map { " (did you mean \($0)?)" } ?? ""
            throw UsageError("\(spec.name) has no flag \(name)\(near)")
        }
        if flag.value == nil {
            guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
            values[name] = ""
        } else if parts.count == 2 {
            values[name] = parts[1]
        } else {
            guard let value = rest.popFirst() else {
                throw UsageError("\(name) needs a value: \(flag.value ?? "")")
            }
            values[name] = value
        }
    }

    func has(_ flag: String) -> Bool { values[flag] != nil }
    var isJSON: Bool { has("--json") }

    func duration(_ flag: String, isPositive: Bool = false) throws -> Duration? {
        guard let text = values[flag] else { return nil }
        let duration = try Durations.parse(text, for: flag)
        guard !isPositive || duration > .zero else { throw UsageError("\(flag) \(text): it must be longer") }
        return duration
    }

    func count(_ flag: String, atLeast least: UInt64 = 0) throws -> UInt64? {
        guard let text = values[flag] else { return nil }
        guard let count = UInt64(text), count >= least else {
            throw UsageError("\(flag) \(text): a whole number from \(least)")
        }
        return count
    }

    var endpoints: Endpoints {
        var endpoints = Endpoints(environment: console.environment)
        if let address = values["--control"] { endpoints.control = address }
        if let address = values["--stream"] { endpoints.stream = address }
        if let address = values["--ingest"] { endpoints.ingest = address }
        return endpoints
    }

    func timeout() throws -> Duration { try duration("--timeout", isPositive: true) ?? .seconds(5) }

    /// Whom commands go to, and from whom.
    func holdgate() throws -> Holdgate {
        Holdgate(
            endpoint: endpoints.control, timeout: try timeout(),
            source: values["--source"] ?? console.identity, credentials: try credentials())
    }

    /// Those that the flags or the variables name; nil: none.
    func credentials() throws -> Credentials? {
        do throws(HoldgateError) {
            return try Credentials(
                keyFile: values["--key"], hostKey: values["--host-key"], environment: console.environment)
        } catch {
            throw UsageError(error.message)
        }
    }

    /// The command with this invocation's reason and key.
    func described<Result>(_ command: Command<Result>) -> Command<Result> {
        command.with(reason: values["--reason"], key: values["--idempotency-key"])
    }
}
