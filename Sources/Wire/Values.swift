// Frames ↔ values. What arrives is bytes from anybody: every reader here throws a `WireError` on bad input and
// never traps. What leaves is written by `JSONWriter`. Read `ControlRequest` first.
import Lifecycle

/// A JSON value that the host writes, or passes on without looking into it (`raw`).
public indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    /// Members in the order in which they are written.
    case object([Member])
    /// JSON text that is known to be valid, written as it is.
    case raw(String)

    public struct Member: Hashable, Sendable {
        public let name: String
        public let value: JSONValue
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }
}

/// The `code` of an error on the wire. More may be added: treat an unknown one as not retryable.
public struct ErrorCode: Hashable, Sendable, CustomStringConvertible {
    public let raw: String
    public init(_ raw: String) { self.raw = raw }
    public var description: String { raw }

    public static let invalidMessage = ErrorCode("invalidMessage")
    public static let unsupportedVersion = ErrorCode("unsupportedVersion")
    public static let unknownCommand = ErrorCode("unknownCommand")
    public static let invalidArgument = ErrorCode("invalidArgument")
    public static let unknownGate = ErrorCode("unknownGate")
    public static let conflict = ErrorCode("conflict")
    public static let outOfOrder = ErrorCode("outOfOrder")
    public static let superseded = ErrorCode("superseded")
    public static let notOperating = ErrorCode("notOperating")
    public static let unknownService = ErrorCode("unknownService")
    public static let serviceUnavailable = ErrorCode("serviceUnavailable")
    public static let timeout = ErrorCode("timeout")
    public static let tooLarge = ErrorCode("tooLarge")
    public static let overloaded = ErrorCode("overloaded")
    public static let storageFull = ErrorCode("storageFull")
    public static let forbidden = ErrorCode("forbidden")
    public static let shuttingDown = ErrorCode("shuttingDown")
    public static let internalError = ErrorCode("internal")
}

/// An error as it goes over the wire; also what the readers of this module throw.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    public let code: ErrorCode
    /// For people: what was wrong and what to do.
    public let message: String
    /// Whether the same request may succeed when sent again.
    public let retryable: Bool
    /// The place of the bad event over all frames, from 0; ingest only.
    public let index: Int?
    /// The request had reached its provider: whether it was carried out is not known. On the wire:
    /// `"outcome":"unknown"`.
    public let isOutcomeUnknown: Bool

    public init(
        _ code: ErrorCode, _ message: String, retryable: Bool = false, index: Int? = nil,
        isOutcomeUnknown: Bool = false
    ) {
        self.code = code
        self.message = message
        self.retryable = retryable
        self.index = index
        self.isOutcomeUnknown = isOutcomeUnknown
    }

    public var description: String { "\(code): \(message)" }
}

/// Bounds on what a peer may send. Each is a key of the configuration.
public struct WireLimits: Hashable, Sendable {
    public var maxFrameBytes = 4 << 20
    public var maxMessageBytes = 16 << 20
    public var maxFrames = 4096
    public var maxEventsPerMessage = 65_536
    public var maxEventBytes = 256 << 10
    public var maxNesting = 32
    public var maxEventTypeBytes = 240
    public var maxConfigurationBytes = 1 << 20
    public init() {}
}
