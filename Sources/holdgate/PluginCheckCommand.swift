import Glibc
import HoldgateClient
import HoldgateHost
import Platform
import PluginCheck

/// `holdgate plugins check -- COMMAND`: a scorecard of what a plugin keeps of its contract.
enum PluginCheckCommand {
    /// Returns the exit status: 0 all kept, 1 something broken.
    static func run(_ invocation: Invocation) throws -> Int32 {
        let command = invocation.arguments
        guard let name = command.first else { throw UsageError("plugins check needs a command: -- COMMAND") }
        var environment = HostEnvironment.inherited()
        guard let executable = HostEnvironment.find(name, path: environment["PATH"]) else {
            throw UsageError("plugins check: no program \(name), here, beside holdgate, or in PATH")
        }
        // Whatever the shell has set, the check's own addresses count.
        for address in HostEnvironment.addresses { environment[address] = nil }
        Signals.ignorePipe()
        let console = invocation.console
        let timeout = try invocation.timeout()
        let run = try CheckRun(
            command, executable: executable, environment: environment,
            patienceMs: timeout.components.seconds * 1000 + timeout.components.attoseconds
                / 1_000_000_000_000_000
        ) { finding in
            if !invocation.isJSON, console.isErrTerminal { console.err("\(finding.promise.rawValue)…\n") }
        }
        let card = try run.run()
        if invocation.isJSON {
            Report.json(card.json.text, console)
        } else {
            console.out(card.text)
            if !card.isPassed, !card.output.isEmpty {
                console.out("its last words:\n" + card.output.map { "  \($0)\n" }.joined())
            }
        }
        return card.isPassed ? 0 : 1
    }
}
