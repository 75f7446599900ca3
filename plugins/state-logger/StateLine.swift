import HoldgateClient

/// The lines of the log.
enum StateLine {
    /// A change, and before it, where some were missed, a line that says so.
    static func lines(for change: StateChange, nowMs: Int64) -> [UInt8] {
        var writer = JSONWriter()
        if change.missed {
            writer.beginObject()
            writer.member("missed", true)
            writer.member("recovered", change.origin == .history)
            writer.member("time", Timestamp.text(ms: nowMs))
            writer.endObject()
            writer.newline()
        }
        writer.beginObject()
        writer.member("time", Timestamp.text(ms: change.wallMs))
        writer.member("launch", change.place.launch.raw)
        writer.member("seq", change.place.seq.raw)
        writer.member("state", change.state.rawValue)
        if let previous = change.previous { writer.member("previous", previous.rawValue) }
        writer.member("command", change.command)
        if let source = change.source { writer.member("source", source) }
        if let reason = change.reason { writer.member("reason", reason) }
        if let pending = change.pending { writer.member("pending", pending) }
        if let undelivered = change.undelivered { writer.member("undelivered", undelivered) }
        writer.member("from", change.origin.rawValue)
        writer.endObject()
        writer.newline()
        return writer.bytes
    }

    /// The last change that the end of a log tells of. `bytes` may begin in the middle of a line, and a last
    /// line without its line feed does not count.
    static func lastPlace(in bytes: ArraySlice<UInt8>) -> StateChange.Place? {
        var end = bytes.lastIndex(of: UInt8(ascii: "\n"))
        while let feed = end {
            let before = bytes[..<feed].lastIndex(of: UInt8(ascii: "\n"))
            let line = bytes[(before.map { $0 + 1 } ?? bytes.startIndex)..<feed]
            if let value = try? JSONValue.parse(Array(line)),
                let launch = value["launch"]?.asString.flatMap(LaunchID.init),
                let seq = value["seq"]?.asUInt64
            {
                return StateChange.Place(launch: launch, seq: TransitionSeq(seq))
            }
            end = before
        }
        return nil
    }
}
