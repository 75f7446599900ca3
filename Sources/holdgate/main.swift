import Glibc

if CommandLine.arguments.dropFirst().first == "serve" { exit(ServeCommand.run(Array(CommandLine.arguments.dropFirst(2)))) }
