// HTTP in front of a Holdgate host: events and decisions in, state and metrics out, on libmicrohttpd.
//
// `Gateway` has the routes: start there. `EventsDoor`, `LifecycleDoor`, `StateDoor`, `HistoryDoor`, `StreamDoor` and
// `MetricsDoor` are what is behind them; `Authorization` says who may what.
import Glibc

exit(HTTPGateway.run(Array(CommandLine.arguments.dropFirst())))
