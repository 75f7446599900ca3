import Ledger
import Lifecycle
import Wire

/// One job for the disk. Tickets grow by one; jobs are done in their order.
public struct Ticket: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let raw: UInt64
    public init(_ raw: UInt64) { self.raw = raw }
    public static func < (a: Self, b: Self) -> Bool { a.raw < b.raw }
    public var next: Ticket { Ticket(raw + 1) }
    public var description: String { "#\(raw)" }
}

/// Where a reply goes: the reactor knows the envelope behind the number.
public struct Requester: Hashable, Sendable {
    public let raw: UInt64
    public init(_ raw: UInt64) { self.raw = raw }
}

/// A connection on `plugin`, for as long as it lasts.
public struct PeerID: Hashable, Comparable, Sendable {
    public let raw: UInt64
    public init(_ raw: UInt64) { self.raw = raw }
    public static func < (a: Self, b: Self) -> Bool { a.raw < b.raw }
}
