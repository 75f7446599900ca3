// Turns reports of apps' phases into events: an app came to the foreground or left it, a session began or ended.
//
// `SessionCore` decides, on values alone; `SessionPlugin` is the process around it.
import Glibc
import HoldgateClient
import Platform

exit(SessionPlugin.run(Array(CommandLine.arguments.dropFirst())))
