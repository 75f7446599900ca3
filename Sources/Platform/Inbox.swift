/// What other threads tell a poll loop: a queue whose descriptor is readable while something is in it.
///
/// ```swift
/// let inbox = try Inbox<Completion>()
/// polls.add(fileDescriptor: inbox.fileDescriptor)      // the loop
/// inbox.post(.committed(7))                            // any thread
/// inbox.takeAll(into: &completions)                    // the loop, when readable
/// ```
public final class Inbox<Element: Sendable>: Sendable {
    /// Elements that may wait. Whoever posts must be bounded by something else: one more than this traps.
    public let limit: Int
    private let queue = Locked<[Element]>([])
    private let wake: EventFD

    /// Throws if the process is out of descriptors.
    public init(limit: Int = 1 << 20) throws(PlatformError) {
        precondition(limit > 0)
        self.limit = limit
        wake = try EventFD()
    }

    /// Readable while something waits. Watch it for reading, and answer with `takeAll`.
    public var fileDescriptor: Int32 { wake.fileDescriptor }

    /// Any thread; never blocks for longer than the lock.
    public func post(_ element: Element) {
        let posted = offer(element)
        precondition(posted, "more than \(limit) elements in an inbox")
    }

    /// As `post`, but false, and nothing is posted, if the inbox is full.
    public func offer(_ element: Element) -> Bool {
        let count = queue.withLock { waiting in
            guard waiting.count < limit else { return 0 }
            waiting.append(element)
            return waiting.count
        }
        // Only the first has to wake: the loop takes all at once.
        if count == 1 { wake.signal() }
        return count > 0
    }

    /// Swaps all that waits, in order of posting, for what is in `elements`, which is emptied first and lends its
    /// room: two arrays go back and forth and nothing is allocated.
    public func takeAll(into elements: inout [Element]) {
        elements.removeAll(keepingCapacity: true)
        // Before the swap, or a post between the two would lose its signal.
        wake.drain()
        queue.withLock { swap(&$0, &elements) }
    }
}
