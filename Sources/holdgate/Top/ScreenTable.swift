/// Rows in columns, of which the less important ones go where the screen is narrow.
struct ScreenTable: Hashable, Sendable {
    struct Column: Hashable, Sendable {
        let title: String
        var isRight = false
        /// The highest goes first; the first column, which is 0, is cut at last.
        let rank: Int
    }

    let columns: [Column]
    let rows: [[ScreenLine.Piece]]

    /// Lines for one head and all rows.
    var height: Int { rows.isEmpty ? 0 : rows.count + 1 }

    /// At most `maxLines` lines of at most `width` cells; says how many rows are missing.
    func lines(width: Int, maxLines: Int) -> [ScreenLine] {
        guard !rows.isEmpty, maxLines > 1 else { return [] }
        var shown = Array(columns.indices)
        var widths = columns.indices.map { column in
            rows.map { Cells.width($0[column].text) }.reduce(Cells.width(columns[column].title), max)
        }
        func total() -> Int { shown.reduce(0) { $0 + widths[$1] } + 2 * (shown.count - 1) }
        while total() > width, shown.count > 1,
            let last = shown.max(by: { columns[$0].rank < columns[$1].rank })
        {
            shown.removeAll { $0 == last }
        }
        if total() > width { widths[0] = max(1, widths[0] - (total() - width)) }
        let room = rows.count <= maxLines - 1 ? rows.count : maxLines - 2
        let head = columns.map { ScreenLine.Piece($0.title, .strong) }
        var lines = ([head] + rows.prefix(max(0, room))).map { line($0, shown, widths).cut(to: width) }
        if room < rows.count {
            lines.append(ScreenLine("… \(rows.count - max(0, room)) more", .faint).cut(to: width))
        }
        return lines
    }

    private func line(_ cells: [ScreenLine.Piece], _ shown: [Int], _ widths: [Int]) -> ScreenLine {
        var pieces: [ScreenLine.Piece] = []
        for column in shown {
            if !pieces.isEmpty { pieces.append(ScreenLine.Piece("  ")) }
            let text = Cells.cut(cells[column].text, to: widths[column])
            let isLast = column == shown.last && !columns[column].isRight
            pieces.append(
                ScreenLine.Piece(
                    isLast ? text : Cells.padded(text, widths[column], isRight: columns[column].isRight),
                    cells[column].style))
        }
        return ScreenLine(pieces)
    }
}
