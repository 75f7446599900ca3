import Glibc
import Platform

/// The terminal while a screen is on it: keys come one by one, and leaving gives it back as it was.
final class Terminal {
    private let output: @Sendable (String) -> Void
    /// As it was; nil where standard input is no terminal, and there are no keys.
    private var before: termios?
    private var isLeft = false

    init(output: @escaping @Sendable (String) -> Void) {
        self.output = output
        var now = termios()
        if tcgetattr(STDIN_FILENO, &now) == 0 {
            before = now
            now.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
            now.c_iflag &= ~tcflag_t(IXON)
            tcsetattr(STDIN_FILENO, TCSANOW, &now)
        }
        // Another screen, without a cursor, on which nothing wraps.
        output("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J")
    }

    deinit { leave() }

    func leave() {
        guard !isLeft else { return }
        isLeft = true
        output("\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l")
        if var before { tcsetattr(STDIN_FILENO, TCSANOW, &before) }
    }

    /// -1: there are no keys to wait for.
    var keys: Int32 { before == nil ? -1 : STDIN_FILENO }

    /// The keys that were pressed; nil: nobody is there any more.
    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    static var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// In one write, so that no half of it is seen.
    func draw(_ screen: TopScreen, isColoured: Bool) {
        let lines = screen.lines
        var text = ""
        for (row, line) in lines.enumerated() {
            text += "\u{1b}[\(row + 1);1H\(line.rendered(isColoured: isColoured))"
            // Behind the last column it would take that one.
            if line.width < screen.width { text += "\u{1b}[K" }
        }
        if lines.count < screen.height { text += "\u{1b}[\(lines.count + 1);1H\u{1b}[J" }
        output(text)
    }
}
