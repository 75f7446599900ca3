// A durable collector: posts events to a URL, in batches, in order, and acknowledges what the receiver has taken.
//
// What decides is in values: `Sender` says what is posted when, `Batch` how one bad event is found among good ones. Read
// those first. `Courier` is the thread that does what they say.
import Glibc

exit(HTTPCollector.run(Array(CommandLine.arguments.dropFirst())))
