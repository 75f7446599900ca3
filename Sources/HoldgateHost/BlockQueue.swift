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

    /// Blocks whose memory is kept, and the capacity beyond which it is not.
    private static let spareLimit = 64
    private static let spareBytes = 1 << 20

    /// An empty block.
    mutating func spare() -> LineBlock { spares.popLast() ?? LineBlock() }

    mutating func giveBack(_ block: LineBlock) {
        guard spares.count < Self.spareLimit, block.capacity <= Self.spareBytes else { return }
        block.reset(capacity: 0)
        spares.append(block)
    }

    mutating func append(_ ticket: Ticket, _ block: LineBlock) {
        items.append(Item(ticket: ticket, block: block))
    }

    /// The block of this ticket, which is the oldest.
    func first(_ ticket: Ticket) -> LineBlock? {
        guard head < items.count, items[head].ticket == ticket else { return nil }
        return items[head].block
    }

    /// The block of this ticket, the oldest, is done with.
    mutating func release(_ ticket: Ticket) {
        guard head < items.count, items[head].ticket == ticket else { return }
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
