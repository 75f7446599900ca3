// A line of NDJSON for each change of the gate's state, missed ones included.
//
// `StateSubscription` does the work; this shows how little a plugin needs.
import Glibc

exit(StateLogger.run(Array(CommandLine.arguments.dropFirst())))
