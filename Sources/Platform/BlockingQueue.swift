import Glibc

/// What the poll loop tells a thread that sleeps until there is something to do.
public final class BlockingQueue<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var isClosed = false
    }

    /// Elements that may wait. Whoever pushes must be bounded by something else: one more than this traps.
    public let limit: Int
    private let state = Locked(State())
    private let changed = Condition()

    public init(limit: Int = 1 << 20) {
        precondition(limit > 0)
        self.limit = limit
    }

    /// Any thread; never blocks for longer than the lock. False, and nothing is queued, once closed.
    @discardableResult
    public func push(_ element: Element) -> Bool {
        let count = state.withLock { state in
            guard !state.isClosed else { return 0 }
            precondition(state.waiting.count < limit, "more than \(limit) elements in a queue")
            state.waiting.append(element)
            return state.waiting.count
        }
        if count == 1 { changed.broadcast() }
        return count > 0
    }

    /// Nothing more is taken in; what waits can still be taken out. May be called again.
    public func close() {
        state.withLock { $0.isClosed = true }
        changed.broadcast()
    }

    /// Sleeps until something waits, and swaps it all, in order of pushing, for what is in `elements`, which is
    /// emptied first and lends its room. False once closed and empty.
    public func takeAll(into elements: inout [Element]) -> Bool {
        elements.removeAll(keepingCapacity: true)
        return state.withLock(waitingOn: changed) { state in
            if state.waiting.isEmpty { return state.isClosed ? false : nil }
            swap(&state.waiting, &elements)
            return true
        }
    }

    /// As `takeAll`, without sleeping: leaves `elements` empty if nothing waits.
    public func takeAllNow(into elements: inout [Element]) {
        elements.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.waiting, &elements) }
    }
}
