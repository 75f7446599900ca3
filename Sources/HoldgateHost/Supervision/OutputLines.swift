import Wire

/// What a plugin writes, cut into lines for the log: bounded in length, and in lines a second.
struct OutputLines: Hashable, Sendable {
    /// Bytes of one line; what follows is dropped up to the line's end.
    static let maxLineBytes = 1024
    static let maxLinesPerSecond = 200

    private var line: [UInt8] = []
    private var isCut = false
    private var secondStartMs: Int64?
    private var passed = 0
    private var leftOut = 0

    /// Lines that are complete now.
    mutating func take(_ bytes: [UInt8], nowMs: Int64) -> [String] {
        var lines: [String] = []
        for piece in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            append(piece)
            end(nowMs: nowMs, into: &lines)
        }
        append(bytes.suffix(from: (bytes.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1))
        return lines
    }

    /// What is left when nothing more comes.
    mutating func finish(nowMs: Int64) -> [String] {
        var lines: [String] = []
        if !line.isEmpty { end(nowMs: nowMs, into: &lines) }
        tellLeftOut(into: &lines)
        return lines
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        let room = Self.maxLineBytes - line.count
        line += bytes.prefix(room)
        if bytes.count > room { isCut = true }
    }

    private mutating func end(nowMs: Int64, into lines: inout [String]) {
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        var text = String(decoding: line, as: UTF8.self)
        if isCut { text += "…" }
        line.removeAll(keepingCapacity: true)
        isCut = false
        if secondStartMs.map({ nowMs - $0 >= 1000 }) ?? true {
            secondStartMs = nowMs
            passed = 0
            tellLeftOut(into: &lines)
        }
        guard passed < Self.maxLinesPerSecond else {
            leftOut += 1
            return
        }
        passed += 1
        lines.append(text)
    }

    private mutating func tellLeftOut(into lines: inout [String]) {
        guard leftOut > 0 else { return }
        lines.append("(\(leftOut) lines were left out: more than \(Self.maxLinesPerSecond) a second)")
        leftOut = 0
    }
}
