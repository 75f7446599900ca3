// A durable collector: appends events to files, and beside each keeps a receipt of every delivery.
//
// Read `ReceiptedLog` for how it comes that no event is lost or written twice, whenever the process is
// killed.
import Glibc
import HoldgateClient
import Platform

exit(FileCollector.run(Array(CommandLine.arguments.dropFirst())))
