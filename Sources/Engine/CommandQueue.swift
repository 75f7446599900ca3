/// Lifecycle commands that wait for the decision before them. However many wait, each call takes the same time: ten
/// thousand may come during one slow write.
struct CommandQueue: Hashable, Sendable {
    private var items: [DeferredCommand] = []
    private var head = 0
    /// Where in `items` those are that close the gate, those that were taken out left behind.
    private var closings: [Int] = []
    private var closingsHead = 0
    /// Kills that wait.
    private var killCount = 0

    init() {}

    init(_ commands: some Sequence<DeferredCommand>) {
        for command in commands { append(command) }
    }

    var isEmpty: Bool { head == items.count }
    var count: Int { items.count - head }
    var hasKill: Bool { killCount > 0 }
    /// All, oldest first.
    var all: ArraySlice<DeferredCommand> { items[head...] }

    /// The oldest of those that close the gate: the gate closes where this one was read.
    var firstClosing: DeferredCommand? {
        closingsHead < closings.count ? items[closings[closingsHead]] : nil
    }

    mutating func append(_ command: DeferredCommand) {
        if command.intent.closes { closings.append(items.count) }
        if command.intent == .kill { killCount += 1 }
        items.append(command)
    }

    /// Ahead of all others. Takes longer the more wait: for a command that is tried again once in a while.
    mutating func prepend(_ command: DeferredCommand) { self = Self([command] + all) }

    mutating func popFirst() -> DeferredCommand? {
        guard head < items.count else { return nil }
        let command = items[head]
        if command.intent.closes { closingsHead += 1 }
        if command.intent == .kill { killCount -= 1 }
        head += 1
        if head == items.count {
            self = Self()
        } else if head > 1024, head * 2 > items.count {
            self = Self(all)
        }
        return command
    }

    // What was taken out does not count.
    static func == (one: Self, other: Self) -> Bool { one.all == other.all }
    func hash(into hasher: inout Hasher) { hasher.combine(all) }
}
