import Glibc
import HoldgateClient
import HoldgateHost
import Journal

/// `journal check`: what a state directory holds that no host uses.
enum JournalCommand {
    static let spec = CommandSpec(
        name: "journal", summary: "check a state directory that no host uses",
        detail: """
            check reads everything as a host that starts does, every event as it is read to be delivered, and
            changes nothing. It says what the next start would find: the launch and its state, what is queued
            and for whom, a torn end that would be dropped (which nobody was answered for), or damage, in the
            words of the host that refuses to start.

            It works on a copy, too. While a host runs, check a copy of its directory: the original is in use.
            """,
        flags: [.stateDirectory, .hostConfiguration],
        actions: [
            Action(
                name: "check", summary: "what is in it, and whether a host would start from it", run: check)
        ],
        commonFlags: Flag.local,
        examples: [
            "holdgate journal check",
            "holdgate journal check --state-dir /mnt/backup/holdgate --json | jq .problems",
        ],
        exitStatus: "0 sound, a torn end included; 1 damaged, in use, or not readable; 2 wrong usage.")

    private static func check(_ invocation: Invocation) throws -> Int32 {
        let configuration = try invocation.hostConfiguration()
        let check: StateCheck
        do {
            check = try StateCheck(configuration)
        } catch {
            return refused(error, configuration.stateDir, invocation)
        }
        let report = StateReport(check)
        if invocation.isJSON {
            Report.json(report.json.text, invocation.console)
        } else {
            invocation.console.out(report.text)
        }
        return check.isSound ? 0 : 1
    }

    private static func refused(_ error: any Error, _ path: String, _ invocation: Invocation) -> Int32 {
        var text = "\(error)"
        var holder: Int32?
        if case StateDirectoryError.locked(_, let process)? = error as? StateDirectoryError {
            holder = process
            let who = process.map { "process \($0)" } ?? "process unknown"
            text = "\(path) is in use by a host (\(who)): stop it first, or check a copy"
        } else if case StateDirectoryError.system(_, let fault)? = error as? StateDirectoryError,
            fault.number == ENOENT
        {
            text = "there is no directory \(path): name the host's with --state-dir"
        }
        if invocation.isJSON {
            var members: [JSONValue.Member] = [
                .init("sound", .bool(false)), .init("stateDir", .string(path)),
                .init("problems", .array([.object([.init("text", .string(text))])])),
            ]
            if let holder { members.append(.init("inUseBy", .int(Int64(holder)))) }
            Report.json(JSONValue.object(members).text, invocation.console)
        } else {
            invocation.console.err("holdgate journal check: \(text)\n")
        }
        return 1
    }
}
