// Decides whether the gate is open, by consent: the service that the gate is made for.
//
// `Policy` is the table, `GateKeeper` brings the gate to where the table wants it, `ConsentStore` keeps the
// decisions, `ConsentService` is the loop around them. Read them in this order.
import Glibc

exit(ConsentManager.run(Array(CommandLine.arguments.dropFirst())))
