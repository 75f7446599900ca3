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
        let slices: [BlockSlice]
        do throws(LogReadError) {
            slices = try reader.read(
                from: grant.from, through: grant.through, budgetBytes: grant.budgetBytes, into: readBuffer)
        } catch {
            return unreadable(grant, error)
        }
        guard let first = slices.first, let last = slices.last else {
            fail("the journal lacks events that it should have", "\(grant.from) to \(grant.through)")
            return 0
        }
        if first.bytes.count > grant.budgetBytes, !grant.mayExceed {
            engine.notHanded(grant, untilAck: true)
            return 0
        }
        let through = last.stamp.range.last
        var delivery = Outgoing()
        if grant.takesAll {
            for slice in slices where slice.stamp.kept { delivery.take(slice, opening: grant.opening) }
        } else {
            try select(slices, grant, into: &delivery)
        }
        guard !delivery.ranges.isEmpty else {
            engine.handed(grant, through: through, ranges: [], bytes: 0, now: now, into: &effects)
            return readBuffer.count
        }
        let isSent = try send(delivery, grant)
        if isSent {
            engine.handed(
                grant, through: through, ranges: delivery.ranges, bytes: delivery.byteCount, now: now,
                into: &effects)
        } else {
            engine.notHanded(grant, untilAck: false)
        }
        return readBuffer.count
    }

    private func unreadable(_ grant: Grant, _ error: LogReadError) -> Int {
        switch error {
        case .gone(let first) where !engine.isDurable(grant):
            engine.missing(grant, through: JournalSeq(max(grant.from.raw, first.raw - 1)))
        case .gone, .failed: fail("the journal could not be read", "\(error)")
        }
        return 0
    }

    /// Cuts the events that the collector asked for out of their blocks.
    private func select(_ slices: [BlockSlice], _ grant: Grant, into delivery: inout Outgoing)
        throws(ZeroMQError)
    {
        guard let filter = filter(of: grant) else { return }
        for slice in slices where slice.stamp.kept {
            do throws(WireError) {
                try readBuffer.withBytes { (bytes) throws(WireError) in
                    try scanner.rescan(
                        bytes: UnsafeRawBufferPointer(rebasing: bytes[slice.bytes]), into: lines)
                }
            } catch {
                return fail("stored events could not be read", "\(error)")
            }
            for index in lines.lines.indices where lines.matches(filter, at: index) {
                let line = lines.lines[index]
                let start = slice.bytes.lowerBound + Int(line.offset)
                delivery.take(
                    line: start..<(start + Int(line.length) + 1),
                    seq: slice.stamp.range.first.advanced(by: UInt64(index)),
                    slice.stamp, opening: grant.opening)
            }
        }
    }

    private func filter(of grant: Grant) -> TypeFilter? {
        if let known = filters[grant.peer], known.types == grant.types { return known.filter }
        guard let filter = try? TypeFilter(grant.types) else {
            // A hello is checked when it is read.
            fail("a collector's types could not be read", grant.name)
            return nil
        }
        filters[grant.peer] = (grant.types, filter)
        return filter
    }

    /// Sends one delivery: the header and one frame of lines. False where the collector's queue is full.
    private func send(_ delivery: Outgoing, _ grant: Grant) throws(ZeroMQError) -> Bool {
        let header = DeliverHeader(
            launch: grant.launch, ranges: delivery.ranges,
            under: delivery.ranges.map { .init(range: $0, transition: grant.opening.seq) },
            held: delivery.held,
            redelivered: grant.redelivered)
        writer.reset()
        HostMessage.deliver(header).write(into: &writer)
        var frame = Frame(count: delivery.byteCount)
        readBuffer.withBytes { source in
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
            guard try sockets.plugin.send(writer.bytes, more: true) else { return false }
            return try sockets.plugin.send(&frame)
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
        guard try sockets.stream.send(topic.text, more: true),
            try sockets.stream.send(writer.bytes, more: true)
        else {
            return
        }
        _ = try sockets.stream.send(body)
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
        let slices: [BlockSlice]
        do throws(LogReadError) {
            slices = try reader.read(
                from: range.first, through: range.last, budgetBytes: Self.bytesPerTurn, into: readBuffer)
        } catch {
            fail("the journal could not be read", "\(error)")
            return 0
        }
        guard let last = slices.last else {
            fail("the journal lacks events that it should have", "\(range.first) to \(range.last)")
            return 0
        }
        for slice in slices where slice.stamp.kept {
            do throws(WireError) {
                try readBuffer.withBytes { (bytes) throws(WireError) in
                    try scanner.rescan(
                        bytes: UnsafeRawBufferPointer(rebasing: bytes[slice.bytes]), into: lines)
                }
            } catch {
                fail("stored events could not be read", "\(error)")
                return 0
            }
            try publish(
                lines, first: slice.stamp.range.first, launch: engine.status.launch,
                heldMs: slice.stamp.heldMs(opening))
        }
        engine.published(through: last.stamp.range.last)
        return readBuffer.count
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
            guard try sockets.stream.send("event." + block.type(of: index), more: true),
                try sockets.stream.send(writer.bytes, more: true)
            else { continue }
            _ = try block.withBytes { (bytes) throws(ZeroMQError) in
                let range = Int(line.offset)..<Int(line.offset + line.length)
                return try sockets.stream.send(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }
}

/// What goes into one delivery: places in the read buffer, and what they are.
struct Outgoing {
    private(set) var ranges: [SeqRange] = []
    private(set) var held: [DeliverHeader.Held] = []
    /// Lines with their line feeds, neighbours merged.
    private(set) var pieces: [Range<Int>] = []
    private(set) var byteCount = 0

    /// A whole slice.
    mutating func take(_ slice: BlockSlice, opening: Opening) {
        add(slice.bytes, slice.stamp.range, slice.stamp.heldMs(opening))
    }

    mutating func take(line: Range<Int>, seq: JournalSeq, _ stamp: BlockStamp, opening: Opening) {
        add(line, SeqRange(first: seq, count: 1), stamp.heldMs(opening))
    }

    private mutating func add(_ bytes: Range<Int>, _ range: SeqRange, _ heldMs: Int64?) {
        byteCount += bytes.count
        if let last = pieces.last, last.upperBound == bytes.lowerBound {
            pieces[pieces.count - 1] = last.lowerBound..<bytes.upperBound
        } else {
            pieces.append(bytes)
        }
        Self.merge(range, into: &ranges)
        guard let heldMs else { return }
        if let last = held.last, last.range.last.next == range.first {
            held[held.count - 1] = .init(
                range: SeqRange(first: last.range.first, count: last.range.count + range.count),
                ms: min(last.ms, heldMs))
        } else {
            held.append(.init(range: range, ms: heldMs))
        }
    }

    private static func merge(_ range: SeqRange, into ranges: inout [SeqRange]) {
        if let last = ranges.last, last.last.next == range.first {
            ranges[ranges.count - 1] = SeqRange(first: last.first, count: last.count + range.count)
        } else {
            ranges.append(range)
        }
    }
}

extension BlockStamp {
    /// How long the gate held these events; nil where they were not gated. Never negative, whatever the clock did.
    func heldMs(_ opening: Opening) -> Int64? { gated ? max(0, opening.wallMs - arrivalMs) : nil }
}
