import Engine

/// Lets each message pass so many times a second, and counts the rest.
struct LogRateLimit: Hashable, Sendable {
    struct Line: Hashable, Sendable {
        let level: LogLevel
        let message: String
    }

    struct Suppressed: Hashable, Sendable {
        let line: Line
        let count: Int
    }

    private struct Window: Hashable, Sendable {
        let startMs: Int64
        var passed = 0
        var suppressed = 0
    }

    static let windowMs: Int64 = 1000
    /// Messages are constants, and few. Should they not be, those past this share one count.
    static let maxLines = 256
    static let others = Line(level: .warning, message: "other messages")

    let perSecond: Int
    private var windows: [Line: Window] = [:]
    /// Lines that `takeSuppressed` has something to say of: most of the time none.
    private var suppressing = 0

    init(perSecond: Int) {
        precondition(perSecond > 0)
        self.perSecond = perSecond
    }

    /// Whether the line may be written.
    mutating func admit(_ line: Line, nowMs: Int64) -> Bool {
        var line = line
        if windows[line] == nil, windows.count >= Self.maxLines {
            windows = windows.filter { $0.value.suppressed > 0 || isOpen($0.value, nowMs) }
            if windows.count >= Self.maxLines { line = Self.others }
        }
        var window = windows[line] ?? Window(startMs: nowMs)
        if window.suppressed == 0, !isOpen(window, nowMs) { window = Window(startMs: nowMs) }
        let passes = window.passed < perSecond
        if passes {
            window.passed += 1
        } else {
            if window.suppressed == 0 { suppressing += 1 }
            window.suppressed += 1
        }
        windows[line] = window
        return passes
    }

    /// What was held back in windows that are over, or in `all`; call it before `admit`. In the lines' order.
    mutating func takeSuppressed(nowMs: Int64, all: Bool = false) -> [Suppressed] {
        guard suppressing > 0 else { return [] }
        var taken: [Suppressed] = []
        for (line, window) in windows where window.suppressed > 0 && (all || !isOpen(window, nowMs)) {
            taken.append(Suppressed(line: line, count: window.suppressed))
            windows[line] = nil
        }
        suppressing -= taken.count
        return taken.sorted {
            ($0.line.message, $0.line.level.rawValue) < ($1.line.message, $1.line.level.rawValue)
        }
    }

    private func isOpen(_ window: Window, _ nowMs: Int64) -> Bool { nowMs - window.startMs < Self.windowMs }
}
