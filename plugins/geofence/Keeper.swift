import HoldgateClient

/// Turns deliveries into crossings and what to remember of them. No file, no socket: `GeofencePlugin` performs.
struct Keeper {
    private(set) var memory: Memory
    private var monitor: Monitor
    private let parser = JSONParser()

    init(_ memory: Memory) {
        self.memory = memory
        monitor = Monitor(inside: memory.inside)
    }

    /// What came of deliveries.
    struct Outcome: Hashable {
        var rejects: [Reject] = []
        /// New in the outbox. Where there are any, the memory must be on disk before the readings are acknowledged.
        var batches: [Memory.Batch] = []
    }

    mutating func watch(_ fences: Geofences) { monitor.watch(fences) }

    /// Takes deliveries in order. What is not past `through` was taken before a crash; it is looked at only to be
    /// rejected again.
    mutating func take(_ deliveries: [Delivery]) -> Outcome {
        var outcome = Outcome()
        var crossings: [Crossing] = []
        var last = memory.through
        for delivery in deliveries {
            delivery.forEachEvent { seq, line in
                do throws(Unusable) {
                    let reading = try Reading(seq: seq, event: line, with: parser)
                    crossings += try crossed(by: reading)
                } catch {
                    outcome.rejects.append(Reject(seq: seq, reason: error.reason))
                }
                last = max(last, seq)
            }
        }
        guard !crossings.isEmpty else { return outcome }
        let known = memory.lastBatch
        memory.through = last
        memory.inside = monitor.inside
        memory.add(crossings)
        outcome.batches = memory.outbox.filter { $0.number > known }
        return outcome
    }

    private mutating func crossed(by reading: Reading) throws(Unusable) -> [Crossing] {
        guard reading.seq > memory.through else {
            if memory.refused.contains(reading.seq) { throw Monitor.full }
            return []
        }
        do {
            return try monitor.take(reading)
        } catch {
            memory.refuse(reading.seq)
            throw error
        }
    }

    /// The host has taken these.
    mutating func settle(_ numbers: [UInt64]) { for number in numbers { memory.settle(number) } }

    /// The host does not know the run any more: what is left goes under a new one.
    mutating func begin(run: String) { memory.run = run }

    /// A launch that goes on from the one before, or the first.
    mutating func adopt(_ launch: LaunchID) { memory.launch = launch }

    /// After a kill nothing is known.
    mutating func forget() {
        memory.forget()
        monitor = Monitor()
    }
}
