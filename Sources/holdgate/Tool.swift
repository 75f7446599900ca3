import HoldgateClient

/// The executable as a function of its arguments.
enum Tool {
    static let version = "0.1.0"

    /// Returns the exit status.
    static func run(_ arguments: [String], _ console: Console) -> Int32 {
        guard let name = arguments.first else {
            console.err(Help.overview)
            return 2
        }
        let rest = Array(arguments.dropFirst())
        switch name {
        case "--version", "version":
            console.out("holdgate \(version)\n")
            return 0
        case "--help", "-h", "help": return help(rest, console)
        default:
            guard let spec = CommandTable.command(name) else { return unknown(name, console) }
            return run(spec, rest, console)
        }
    }

    private static func help(_ rest: [String], _ console: Console) -> Int32 {
        guard let name = rest.first else {
            console.out(Help.overview)
            return 0
        }
        if name == "--markdown" {
            console.out(Markdown.page)
            return 0
        }
        guard let spec = CommandTable.command(name) else { return unknown(name, console) }
        console.out(Help.of(spec))
        return 0
    }

    private static func unknown(_ name: String, _ console: Console) -> Int32 {
        let near = Nearest.of(name, in: CommandTable.all.map(\.name)).map { "; did you mean \($0)?" } ?? "."
        console.err("holdgate: there is no command \(name)\(near) `holdgate --help` lists them\n")
        return 2
    }

    private static func run(_ spec: CommandSpec, _ rest: [String], _ console: Console) -> Int32 {
        do {
            let invocation = try Invocation(spec, rest, console)
            if invocation.has("--help") {
                console.out(Help.of(spec))
                return 0
            }
            return try spec.run(invocation)
        } catch let error as UsageError {
            console.err("holdgate: \(error.message). `holdgate \(spec.name) --help` says more\n")
            return 2
        } catch let error as HoldgateError {
            return Report.failure(error, of: spec, isJSON: rest.contains("--json"), console)
        } catch {
            console.err("holdgate \(spec.name): \(error)\n")
            return 1
        }
    }
}
