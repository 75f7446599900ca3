// The executable: `serve` runs a host, everything else is a client command over the bus.
//
// `CommandTable` lists the commands; each is parsed, explained and run from its `CommandSpec`. Exit status: 0
// done, 1 refused or failed, 2 wrong usage, 3 no host answered.
import Glibc

exit(Tool.run(Array(CommandLine.arguments.dropFirst()), Console.standard()))
