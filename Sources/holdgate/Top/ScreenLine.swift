/// One line of a screen: pieces of text, each with its look.
struct ScreenLine: Hashable, Sendable {
    enum Style: Hashable, Sendable {
        case plain
        case strong
        case faint
        case good
        case warning
        case bad

        /// For "select graphic rendition".
        fileprivate var code: String? {
            switch self {
            case .plain: nil
            case .strong: "1"
            case .faint: "2"
            case .good: "32"
            case .warning: "33"
            case .bad: "31"
            }
        }
    }

    struct Piece: Hashable, Sendable {
        let text: String
        let style: Style

        /// Whatever the text holds, the terminal gets no control characters.
        init(_ text: String, _ style: Style = .plain) {
            self.text = Cells.printable(text)
            self.style = style
        }
    }

    private(set) var pieces: [Piece] = []

    init(_ pieces: [Piece] = []) { self.pieces = pieces }
    init(_ text: String, _ style: Style = .plain) { pieces = [Piece(text, style)] }

    var text: String { pieces.map(\.text).joined() }
    var width: Int { pieces.reduce(0) { $0 + Cells.width($1.text) } }

    static func + (a: ScreenLine, b: ScreenLine) -> ScreenLine { ScreenLine(a.pieces + b.pieces) }

    /// As many of the parts, in order, as fit; the first one is cut if it alone is too long.
    static func fitting(_ parts: [ScreenLine], gap: Int = 3, width: Int) -> ScreenLine {
        guard var line = parts.first?.cut(to: width) else { return ScreenLine() }
        for part in parts.dropFirst() {
            guard line.width + gap + part.width <= width else { break }
            line = line + ScreenLine(String(repeating: " ", count: gap)) + part
        }
        return line
    }

    /// With an ellipsis where something is missing.
    func cut(to width: Int) -> ScreenLine {
        guard self.width > width else { return self }
        var left = width
        var kept: [Piece] = []
        for piece in pieces where left > 0 {
            let cells = Cells.width(piece.text)
            // Of a piece that fits to the last cell, with more behind it, the last cell is the ellipsis.
            let text = cells < left ? piece.text : Cells.cut(piece.text + " ", to: left)
            kept.append(Piece(text, piece.style))
            left -= cells < left ? cells : left
        }
        return ScreenLine(kept)
    }

    /// For a terminal, with colours or without.
    func rendered(isColoured: Bool) -> String {
        guard isColoured else { return text }
        return pieces.map { piece in
            piece.style.code.map { "\u{1b}[\($0)m\(piece.text)\u{1b}[0m" } ?? piece.text
        }.joined()
    }
}

/// How much room text takes on a terminal.
enum Cells {
    /// Control characters, and what turns the direction of text, are replaced.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            result.unicodeScalars.append(isControl(scalar) ? "\u{fffd}" : scalar)
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: true
        default: false
        }
    }

    static func width(_ text: String) -> Int {
        text.utf8.count == text.unicodeScalars.count
            ? text.utf8.count : text.reduce(0) { $0 + width($1) }
    }

    /// At most `width` cells, the last one an ellipsis if something is missing.
    static func cut(_ text: String, to width: Int) -> String {
        guard self.width(text) > width else { return text }
        guard width > 0 else { return "" }
        var result = ""
        var left = width - 1
        for character in text {
            let cells = self.width(character)
            guard cells <= left else { break }
            result.append(character)
            left -= cells
        }
        return result + "…"
    }

    static func padded(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        let gap = String(repeating: " ", count: max(0, width - self.width(text)))
        return isRight ? gap + text : text + gap
    }

    private static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// East Asian scripts and pictures.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x231a...0x231b, 0x23e9...0x23f3, 0x25fd...0x25fe, 0x2614...0x2615, 0x2648...0x2653,
        0x26a1...0x26a1, 0x2705...0x2705, 0x274c...0x274c, 0x2b50...0x2b50, 0x2e80...0x303e, 0x3041...0xa4cf,
        0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6,
        0x1f300...0x1f64f, 0x1f680...0x1f6ff, 0x1f900...0x1faff, 0x20000...0x3fffd,
    ]
}
