// Watches positions, and tells when somebody enters or leaves a region.
//
// `Monitor` decides, on values alone: start there. `Memory` is what must outlive a crash, `Keeper` and `Outbox`
// see to it that each crossing is told of exactly once.
import Glibc
import HoldgateClient
import Platform

exit(GeofencePlugin.run(Array(CommandLine.arguments.dropFirst())))
