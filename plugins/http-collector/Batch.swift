/// Consecutive events that are sent as one, or, once they were refused, in parts, until those that are refused alone are
/// found. Between them all others are sent, each once and in order, as a refused part was not taken at all.
///
/// | the part in turn | taken | refused |
/// |---|---|---|
/// | one event | it is done, and the next part is in turn | it is rejected, and the next part is in turn |
/// | more events | they are done, and the next part is in turn | its first half is in turn, then the other |
struct Batch: Hashable {
    /// How many events each part has: the last one is in turn, and the others follow it from right to left.
    private var parts: [Int]

    init(count: Int) {
        precondition(count > 0)
        parts = [count]
    }

    /// How many events are to be sent next; nil: all are done.
    var next: Int? { parts.last }

    /// The part in turn is done.
    mutating func taken() { parts.removeLast() }

    /// False: it was one event, which is done, too.
    mutating func refused() -> Bool {
        let count = parts.removeLast()
        guard count > 1 else { return false }
        // The larger half first: the fewer there are behind the last bad one, the better.
        let first = count - count / 2
        parts += [count - first, first]
        return true
    }
}
