import Engine
import Journal
import Ledger
import Lifecycle
import Wire
import ZeroMQ

// Events out: to collectors as blocks, to the stream one by one. Each piece was granted by the engine.
extension Reactor {
    /// Hands over what collectors may have, bounded in bytes a turn.
    func handOver() throws(ZeroMQError) {
        var bytes = 0
        while bytes < Self.bytesPerTurn, exit == nil, let grant = engine.nextGrant() {
            bytes += try carryOut(grant) + 1024
            perform()
        }
        if bytes >= Self.bytesPerTurn { isBusy = true }
    }

    /// Returns the bytes that were read for it.
    private func carryOut(_ grant: Grant) throws(ZeroMQError) -> Int {
        switch grants.read(grant, isDurable: engine.isDurable(grant)) {
        case .delivery(let delivery, let through):
            if try send(delivery, grant) {
                engine.handed(
                    grant, through: through, ranges: delivery.ranges, bytes: delivery.byteCount, now: now,
                    into: &effects)
            } else {
                engine.notHanded(grant, untilAck: false)
                return 0
            }
        case .nothing(let through):
            engine.handed(grant, through: through, ranges: [], bytes: 0, now: now, into: &effects)
        case .noRoom:
            engine.notHanded(grant, untilAck: true)
            return 0
        case .missing(let through):
            engine.missing(grant, through: through)
            return 0
        case .failed(let what):
            fail("the journal could not be read", what)
            return 0
        }
        return grants.buffer.count
    }

    /// Sends one delivery: the header and one frame of lines. False where the collector's queue is full.
    private func send(_ delivery: Outgoing, _ grant: Grant) throws(ZeroMQError) -> Bool {
        let header = DeliverHeader(
            launch: grant.launch, ranges: delivery.ranges,
            under: delivery.ranges.map { .init(range: $0, transition: grant.opening.seq) },
            held: delivery.held, redelivered: grant.redelivered)
        writer.reset()
        HostMessage.deliver(header).write(into: &writer)
        var frame = Frame(count: delivery.byteCount)
        grants.buffer.withBytes { source in
            frame.withMutableBytes { target in
                var offset = 0
                for piece in delivery.pieces {
                    UnsafeMutableRawBufferPointer(rebasing: target[offset...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[piece]))
                    offset += piece.count
                }
            }
        }
        do throws(ZeroMQError) {
            guard try sendPrefix(to: grant.peer) else { return false }
            guard try sockets.peers.plugin.send(writer.bytes, more: true) else { return false }
            return try sockets.peers.plugin.send(&frame)
        } catch {
            try lose(grant.peer, error)
            return false
        }
    }

    // MARK: Stream

    func publish(_ header: StreamHeader, _ publication: Publication) throws(ZeroMQError) {
        writer.reset()
        let topic: StreamTopic
        switch publication {
        case .state(let body):
            topic = .state
            body.write(into: &writer)
        case .drain(let body):
            topic = .drain
            body.write(into: &writer)
        case .plugin(let body):
            topic = .plugin
            body.write(into: &writer)
        case .heartbeat(let body):
            topic = .heartbeat
            body.write(into: &writer)
        case .app(let body):
            topic = .app(phase: body.phase.rawValue)
            body.write(into: &writer)
        }
        let body = writer.bytes
        writer.reset()
        header.write(into: &writer)
        guard try sockets.peers.stream.send(topic.text, more: true),
            try sockets.peers.stream.send(writer.bytes, more: true)
        else {
            return
        }
        _ = try sockets.peers.stream.send(body)
    }

    /// Publishes a block that was let out as soon as it was committed.
    func publishBlock(_ ticket: Ticket, _ stamp: BlockStamp) throws(ZeroMQError) {
        guard subscriptions.wantsEvents, let block = blocks.first(ticket) else { return }
        try publish(block, first: stamp.range.first, launch: engine.status.launch, heldMs: nil)
    }

    /// Publishes what a start released, bounded in bytes a turn.
    func publishReleased() throws(ZeroMQError) {
        var bytes = 0
        while bytes < Self.bytesPerTurn, exit == nil, let (range, opening) = engine.nextPublication {
            guard subscriptions.wantsEvents else {
                engine.published(through: range.last)
                continue
            }
            bytes += try publish(range, opening)
        }
        if bytes >= Self.bytesPerTurn { isBusy = true }
    }

    private func publish(_ range: SeqRange, _ opening: Opening) throws(ZeroMQError) -> Int {
        do {
            let read = try grants.read(range, budgetBytes: Self.bytesPerTurn) { block, stamp in
                try publish(
                    block, first: stamp.range.first, launch: engine.status.launch,
                    heldMs: stamp.heldMs(opening))
            }
            engine.published(through: read.through)
            return read.bytes
        } catch let error as ZeroMQError {
            throw error
        } catch {
            fail("the journal could not be read", "\(error)")
            return 0
        }
    }

    private func publish(
        _ block: LineBlock, first: JournalSeq, launch: LaunchID, heldMs: Int64?
    ) throws(ZeroMQError) {
        for index in block.lines.indices {
            let header = StreamHeader(
                launch: launch, run: engine.run, seq: first.raw + UInt64(index), prev: nil, heldMs: heldMs)
            writer.reset()
            header.write(into: &writer)
            let line = block.lines[index]
            guard try sockets.peers.stream.send("event." + block.type(of: index), more: true),
                try sockets.peers.stream.send(writer.bytes, more: true)
            else { continue }
            _ = try block.withBytes { (bytes) throws(ZeroMQError) in
                let range = Int(line.offset)..<Int(line.offset + line.length)
                return try sockets.peers.stream.send(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }
}
