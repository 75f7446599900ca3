/// What tests and reports may see of where things lie.
extension Log {
    /// The files of the live segments, oldest first.
    public var segmentNames: [String] { live.map(\.slot.name) }

    /// Where the next commit begins in the newest segment's file.
    public var newestEnd: Int { Int(position) }

    /// Where each live segment's commits end, oldest first.
    public var segmentEnds: [Int] {
        live.map { $0.record.generation }.compactMap { table.end(generation: $0) }
    }
}

extension LogTable {
    fileprivate func end(generation: UInt64) -> Int? {
        resume(generation: generation, offset: 0, commit: 0).map { Int($0.end.offset) }
    }
}
