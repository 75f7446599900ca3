// Provider of the services of docs/services.md: permissions, coupons, an inbox, category preferences, in one
// SQLite database.
//
// `Engagement` answers requests: start there. `EngagementStore` has the tables, `Seed` fills them.
import Glibc
import HoldgateClient
import Platform

exit(EngagementPlugin.run(Array(CommandLine.arguments.dropFirst())))
