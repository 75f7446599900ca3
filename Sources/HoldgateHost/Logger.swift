import Engine
import Glibc
import Platform
import Wire

/// Writes lines of the log, each with one `write`, so that lines of several threads don't mix.
///
/// ```swift
/// let logger = Logger(format: .json)
/// logger.log(.warning, "a peer sent what is no request", [.init("code", .string("invalidMessage"))])
/// ```
public struct Logger: Sendable {
    public let format: LogFormat
    public let minimumLevel: LogLevel
    private let limit: Locked<LogRateLimit>
    private let now: @Sendable () -> (monotonicMs: Int64, wallMs: Int64)
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameters:
    ///   - perSecond: how often one message is written in a second; the rest is counted, and the count is
    ///     written later. What a peer can cause can't fill the disk then.
    ///   - now: the clocks.
    ///   - write: takes one line with its line feed; called on the thread that logs.
    public init(
        format: LogFormat = .text, minimumLevel: LogLevel = .info, perSecond: Int = 10,
        now: @escaping @Sendable () -> (monotonicMs: Int64, wallMs: Int64) = { Clock.now() },
        write: @escaping @Sendable ([UInt8]) -> Void = { Logger.writeToStandardError($0) }
    ) {
        self.format = format
        self.minimumLevel = minimumLevel
        limit = Locked(LogRateLimit(perSecond: perSecond))
        self.now = now
        self.write = write
    }

    /// A logger as the operator wants it, to stderr.
    public init(_ configuration: Configuration) {
        self.init(format: configuration.logFormat, minimumLevel: configuration.logLevel)
    }

    /// Writes a line. `message` is a constant: what varies goes into `fields`.
    public func log(_ level: LogLevel, _ message: String, _ fields: [JSONValue.Member] = []) {
        guard level.severity >= minimumLevel.severity else { return }
        let now = now()
        let line = LogRateLimit.Line(level: level, message: message)
        let (suppressed, passes) = limit.withLock { limit in
            let suppressed = limit.takeSuppressed(nowMs: now.monotonicMs)
            return (suppressed, limit.admit(line, nowMs: now.monotonicMs))
        }
        tell(of: suppressed, wallMs: now.wallMs)
        if passes { put(level, message, fields, wallMs: now.wallMs) }
    }

    /// Writes a line of a plugin's output as it came, its name ahead, whatever the level; whoever relays bounds how
    /// many. In JSON the name is a member, too.
    public func relay(_ line: String, from plugin: String) {
        let fields: [JSONValue.Member] =
            switch format {
            case .text: []
            case .json: [.init("plugin", .string(plugin))]
            }
        put(.info, "[\(plugin)] \(line)", fields, wallMs: now().wallMs)
    }

    /// Writes the counts of suppressed lines: those whose second is over, or at the end all.
    public func flush(all: Bool = false) {
        let now = now()
        tell(of: limit.withLock { $0.takeSuppressed(nowMs: now.monotonicMs, all: all) }, wallMs: now.wallMs)
    }

    private func tell(of suppressed: [LogRateLimit.Suppressed], wallMs: Int64) {
        for each in suppressed {
            put(
                each.line.level, "repeated lines were suppressed",
                [.init("line", .string(each.line.message)), .init("suppressed", .int(Int64(each.count)))],
                wallMs: wallMs)
        }
    }

    private func put(_ level: LogLevel, _ message: String, _ fields: [JSONValue.Member], wallMs: Int64) {
        write(LogLine(wallMs: wallMs, level: level, message: message, fields: fields).bytes(format))
    }

    /// A log that can't be written stops nothing: the line is lost.
    public static func writeToStandardError(_ line: [UInt8]) {
        line.withUnsafeBytes { bytes in
            while Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) < 0, errno == EINTR {}
        }
    }
}

extension LogLevel {
    var severity: Int {
        switch self {
        case .info: 0
        case .warning: 1
        case .error: 2
        }
    }
}
