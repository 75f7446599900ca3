import HoldgateClient

/// One event that waits: its place in the journal, the opening of the gate that let it out, and its line.
struct Event: Sendable {
    let seq: JournalSeq
    let under: TransitionSeq
    private let frame: EventsFrame
    private let place: Range<Int>

    init(seq: JournalSeq, under: TransitionSeq, frame: EventsFrame, place: Range<Int>) {
        self.seq = seq
        self.under = under
        self.frame = frame
        self.place = place
    }

    var byteCount: Int { place.count }

    /// Adds the line as it came, without its line feed.
    func append(to bytes: inout [UInt8]) {
        frame.withBytes { bytes.append(contentsOf: $0[place]) }
    }

    /// All of a delivery, in order.
    static func all(of delivery: Delivery) -> [Event] {
        var events: [Event] = []
        var under = delivery.header.under[...]
        delivery.forEachPlace { seq, frame, place in
            while let first = under.first, first.range.last < seq { under = under.dropFirst() }
            // The host names one for every event; 0 is none.
            let transition = under.first.flatMap { $0.range.contains(seq) ? $0.transition : nil }
            events.append(
                Event(seq: seq, under: transition ?? TransitionSeq(0), frame: frame, place: place))
        }
        return events
    }
}

/// Events in order: added at the end, taken from the front.
struct EventQueue: Sendable {
    private var events: [Event] = []
    private var head = 0

    var count: Int { events.count - head }
    var isEmpty: Bool { count == 0 }

    subscript(index: Int) -> Event { events[head + index] }

    func first(_ count: Int) -> [Event] { Array(events[head..<(head + count)]) }

    mutating func append(_ event: Event) { events.append(event) }

    mutating func removeFirst(_ count: Int) {
        head += count
        // Once a half is empty: so an event is moved once, on the average.
        guard head * 2 >= events.count else { return }
        events.removeFirst(head)
        head = 0
    }

    mutating func removeAll() {
        events = []
        head = 0
    }
}
