/// The random name of one life of the gate: 32 lowercase hexadecimal digits.
public struct LaunchID: Hashable, Sendable, CustomStringConvertible {
    public let raw: String

    /// Nil unless `raw` is 32 lowercase hexadecimal digits.
    public init?(_ raw: String) {
        guard raw.utf8.count == 32, raw.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        self.raw = raw
    }

    /// The name made of 128 random bits.
    public init(high: UInt64, low: UInt64) {
        func hex(_ value: UInt64) -> String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        raw = hex(high) + hex(low)
    }

    public var description: String { raw }
}

/// A transition's number within its launch, from 1 (the launch's beginning).
public struct TransitionSeq: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let raw: UInt64
    public init(_ raw: UInt64) { self.raw = raw }
    public static func < (a: Self, b: Self) -> Bool { a.raw < b.raw }
    public var next: TransitionSeq { TransitionSeq(raw + 1) }
    public var description: String { String(raw) }
}

/// An event's place in the journal, from 1; never used twice. 0 is "before the first".
public struct JournalSeq: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let raw: UInt64
    public init(_ raw: UInt64) { self.raw = raw }
    public static let zero = JournalSeq(0)
    public static func < (a: Self, b: Self) -> Bool { a.raw < b.raw }
    public var next: JournalSeq { JournalSeq(raw + 1) }
    public func advanced(by count: UInt64) -> JournalSeq { JournalSeq(raw + count) }
    public var description: String { String(raw) }
}

/// `count` consecutive events from `first` on; never empty. On the wire: `[first, count]`.
public struct SeqRange: Hashable, Sendable {
    public let first: JournalSeq
    public let count: UInt64

    public init(first: JournalSeq, count: UInt64) {
        precondition(count > 0 && first.raw > 0, "a range holds at least one event")
        self.first = first
        self.count = count
    }

    /// Nil where `last` comes before `first`.
    public init?(first: JournalSeq, through last: JournalSeq) {
        guard first.raw > 0, last >= first else { return nil }
        self.init(first: first, count: last.raw - first.raw + 1)
    }

    public var last: JournalSeq { JournalSeq(first.raw + count - 1) }
    public func contains(_ seq: JournalSeq) -> Bool { first <= seq && seq <= last }
}

/// One reading of both clocks. Deadlines use `monotonicMs`; records and ages use `wallMs`.
public struct Now: Hashable, Sendable {
    /// Milliseconds of a clock that never goes back (its zero is arbitrary).
    public let monotonicMs: Int64
    /// Milliseconds since 1970-01-01T00:00:00Z; may jump either way.
    public let wallMs: Int64
    public init(monotonicMs: Int64, wallMs: Int64) {
        self.monotonicMs = monotonicMs
        self.wallMs = wallMs
    }
}
