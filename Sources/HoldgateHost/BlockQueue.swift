import Engine
import Wire

/// Blocks on their way to the disk, oldest first, and the memory of those that have been there.
struct BlockQueue {
    private struct Item {
        let ticket: Ticket
        let block: LineBlock
    }
    private var items: [Item] = []
    private var head = 0
    private var spares: [LineBlock] = []
    private var spareBytes = 0
    /// Memory of the blocks on their way, and what else is kept for each until it is answered.
    private(set) var heldBytes = 0

    /// Bytes of memory that is kept for blocks to come.
    private static let spareLimitBytes = 16 << 20
    /// What a block begins with: most messages of one event need no more.
    private static let leastBytes = 4 << 10
    /// A block's envelope, stamp and answer, about.
    private static let overheadBytes = 1 << 10

    /// An empty block.
    mutating func spare() -> LineBlock {
        guard let block = spares.popLast() else { return LineBlock(capacity: Self.leastBytes) }
        spareBytes -= block.capacity
        return block
    }

    mutating func giveBack(_ block: LineBlock) {
        guard spareBytes + block.capacity <= Self.spareLimitBytes else { return }
        block.reset(capacity: 0)
        spareBytes += block.capacity
        spares.append(block)
    }

    mutating func append(_ ticket: Ticket, _ block: LineBlock) {
        items.append(Item(ticket: ticket, block: block))
        heldBytes += block.capacity + Self.overheadBytes
    }

    /// The block of this ticket, which is the oldest.
    func first(_ ticket: Ticket) -> LineBlock? {
        guard head < items.count, items[head].ticket == ticket else { return nil }
        return items[head].block
    }

    /// The block of this ticket, the oldest, is done with.
    mutating func release(_ ticket: Ticket) {
        guard head < items.count, items[head].ticket == ticket else { return }
        heldBytes -= items[head].block.capacity + Self.overheadBytes
        giveBack(items[head].block)
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 256, head * 2 > items.count {
            items.removeFirst(head)
            head = 0
        }
    }
}
