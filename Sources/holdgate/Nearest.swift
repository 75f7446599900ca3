/// The closest of some names, for "did you mean".
enum Nearest {
    static func of(_ word: String, in names: [String]) -> String? {
        let scored = names.map { (name: $0, distance: distance(Array(word), Array($0))) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(2, word.count / 3) ? best.name : nil
    }

    /// How many letters must be put in, taken out or replaced.
    private static func distance(_ a: [Character], _ b: [Character]) -> Int {
        var row = Array(0...b.count)
        for (i, letter) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in b.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(diagonal + (letter == other ? 0 : 1), above + 1, row[j] + 1)
                diagonal = above
            }
        }
        return row[b.count]
    }
}
